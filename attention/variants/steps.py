"""One step of a decoder with attention, in Bahdanau's order and in Luong's.

    Bahdanau et al. 2015        c_t = attend(s_{t-1})
                                s_t = cell([x_t; c_t], s_{t-1})
    The previous state is the query, and the context is an input of the new state.

    Luong et al. 2015           h_t = cell([x_t; h~_{t-1}], h_{t-1})
                                c_t = attend(h_t)
                                h~_t = tanh(W_c [c_t; h_t])
    The new state is the query. The output h~ is an input of the next step: this is
    "input feeding".

Both are called in the same way, so that a model works with either:

    keys = step.attention.precompute(memory)
    state = step.start(h)
    for x in xs:
        state, output, weights = step(x, state, keys, memory, lengths)

A step costs the cell, S scores, and S value_size multiplications for the average.
Luong's step also costs hidden_size (value_size + hidden_size) for W_c.
"""

import numpy as np

from minigrad import Tensor, concat, linear, nn, tanh
from minigrad.arguments import whole
from minigrad.shapes import shapes

from ..layers import xavier_matrix


class BahdanauStep(nn.Module):
    """One decoder step: the previous state is the query.

        c_t = attend(s_{t-1}),    s_t = cell([x_t; c_t], s_{t-1}),    output [s_t; c_t]

    input_size    the width of x_t
    hidden_size   the width of s_t, the query
    value_size    the width of c_t
    attention     a layer, called with (queries, keys, values, lengths)
    cell          nn.GRUCell, or nn.LSTMCell, whose state is (h, c) with the query h

    The input of the cell has width input_size + value_size.
    Bahdanau et al. 2015, section 3.1 and appendix A.1.2.
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        value_size,
        attention,
        cell=nn.GRUCell,
        rng=None,
    ):
        self.input_size, H, self.value_size = _sizes(
            "BahdanauStep", input_size, hidden_size, value_size
        )
        self.output_size = H + value_size
        self.attention = _validated_layer("BahdanauStep", attention)
        self.cell = cell(input_size + value_size, hidden_size, rng=rng)

    def start(self, recurrent):
        """Return the first state: h (B, hidden_size), or (h, c) of an LSTM."""
        return recurrent

    @shapes
    def forward(self, x, state, keys, values, lengths=None, **options):
        """Take one step; ``options`` go to the attention, such as start=t for local-m.

        x (B, self.input_size), keys (B, S, Dk) or ProjectedKeys,
        values (B, S, self.value_size), lengths? (B,) int
            ->  the next state, output (B, self.output_size), weights (B, S)
        """
        context, weights = context_and_weights(
            self, _hidden(self, state), keys, values, lengths, options
        )
        state = self.cell(concat([x, context], -1), state)
        return state, concat([_hidden(self, state), context], -1), weights


class LuongStep(nn.Module):
    """One decoder step: the new state is the query, and the output is fed back.

        h_t = cell([x_t; h~_{t-1}], h_{t-1}),    c_t = attend(h_t)
        output h~_t = tanh(W_c [c_t; h_t]),    h~_0 = 0

    The state is a pair: the state of the cell, and h~. The arguments are those of
    ``BahdanauStep``.

    W_c    (hidden_size, value_size + hidden_size), Xavier-uniform: c first, then h

    The input of the cell has width input_size + hidden_size.
    Luong et al. 2015, equations 5 and 6, and section 3.3.
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        value_size,
        attention,
        cell=nn.GRUCell,
        rng=None,
    ):
        self.input_size, self.output_size, self.value_size = _sizes(
            "LuongStep", input_size, hidden_size, value_size
        )
        self.attention = _validated_layer("LuongStep", attention)
        self.cell = cell(input_size + hidden_size, hidden_size, rng=rng)
        self.W_c = xavier_matrix(hidden_size, value_size + hidden_size, rng)

    def start(self, recurrent):
        """Return the first state: the cell's state h or (h, c), and h~ = 0."""
        h = _hidden(self, recurrent)
        return recurrent, Tensor(np.zeros(h.shape, h.dtype))

    @shapes
    def forward(self, x, state, keys, values, lengths=None, **options):
        """Take one step; ``options`` go to the attention, such as start=t for local-m.

        x (B, self.input_size), keys (B, S, Dk) or ProjectedKeys,
        values (B, S, self.value_size), lengths? (B,) int
            ->  the next state, output (B, self.output_size), weights (B, S)
        """
        recurrent, attentional = _validated_pair(state)
        recurrent = self.cell(concat([x, attentional], -1), recurrent)
        h = _hidden(self, recurrent)
        context, weights = context_and_weights(
            self, h, keys, values, lengths, options
        )
        c_and_h = concat([context, h], -1)
        attentional = tanh(linear.unchecked(c_and_h, self.W_c))
        return (recurrent, attentional), attentional, weights


def _sizes(name, *sizes):
    names = "input_size", "hidden_size", "value_size"
    return [whole(name, each, n, least=1) for each, n in zip(names, sizes)]


def _validated_pair(state):
    """Return the state of a ``LuongStep`` if it is a pair."""
    if not (isinstance(state, tuple) and len(state) == 2):
        raise TypeError(
            f"LuongStep: state is a {type(state).__name__}; expected the pair that "
            "start(h) or the step before returns."
        )
    return state


def _hidden(step, state):
    """Return the state of a GRU, or h of an LSTM's state (h, c)."""
    if state is None:
        raise TypeError(
            f"{type(step).__name__}: state is None; expected h (B, hidden_size), or "
            "(h, c) of an LSTM; zeros if there is no encoder."
        )
    return state[0] if isinstance(state, (tuple, list)) else state


def context_and_weights(step, query, keys, values, lengths, options):
    """Attend with query (B, H); return context (B, Ev) and weights (B, S).

    With the option "coverage", such as for CoverageAttention, this is a call of the
    layer's method ``step``.
    """
    attention = step.attention
    if "coverage" in options:
        return attention.step(query, keys, values, lengths=lengths, **options)
    context = attention(query[:, None, :], keys, values, lengths, **options)
    if not isinstance(context, Tensor):
        raise TypeError(
            f"{type(step).__name__}: {type(attention).__name__} returns a "
            f"{type(context).__name__}; expected a context alone. For "
            "CoverageAttention, pass coverage, the sum of the weights of earlier steps."
        )
    return context[:, 0], attention.attention_weights[:, 0]


def _validated_layer(name, attention):
    if not isinstance(attention, nn.Module):
        raise TypeError(
            f"{name}: attention is {attention!r}; expected a layer, such as "
            "DotProductAttention()."
        )
    return attention
