"""One step of a decoder with attention, in Luong's order and in Bahdanau's.

    Bahdanau et al. 2015        c_t = attend(s_{t-1})
                                s_t = cell([x_t; c_t], s_{t-1})
    the previous state asks, and what it finds enters the new one

    Luong et al. 2015           h_t = cell([x_t; h~_{t-1}], h_{t-1})
                                c_t = attend(h_t)
                                h~_t = tanh(W_c [c_t; h_t])
    the new state asks, and h~, which the output is made from, is fed to the next step:
    "input feeding"

Both are called in the same way, so that a model takes either:

    keys = step.attention.precompute(memory)
    state = step.start(h)
    for x in xs:
        state, output, weights = step(x, state, keys, memory, valid_lens)

x (B, input_size), memory (B, S, value_size), valid_lens (B,)  ->  output
(B, output_size), weights (B, S), those of the attention, apart from the graph.

A step costs the attention's S scores and their average, S value_size, beside the cell;
Luong's also hidden_size (value_size + hidden_size) for W_c.
"""

import numpy as np

from minigrad import Tensor, concat, linear, nn, tanh

from ..layers import xavier_uniform


class BahdanauStep(nn.Module):
    """The state asks, and what it finds goes into the next state.

        c_t = attend(s_{t-1}),    s_t = cell([x_t; c_t], s_{t-1}),    output [s_t; c_t]

    input_size    of x_t
    hidden_size   of s_t, with which the attention is asked
    value_size    of c_t
    attention     a layer, called (queries, keys, values, valid_lens)
    cell          nn.GRUCell or nn.LSTMCell; of an LSTM's state (h, c), h asks

    Cost a step: the attention's, and a cell that is value_size wider.
    Source: Bahdanau et al. 2015, section 3.1 and appendix A.1.2.
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
        self.input_size, self.value_size = input_size, value_size
        self.output_size = hidden_size + value_size
        self.attention = _checked_layer(self, attention)
        self.cell = cell(input_size + value_size, hidden_size, rng=rng)

    def start(self, recurrent):
        """The state before the first step: h (B, hidden_size), or (h, c) of an LSTM."""
        return recurrent

    def forward(self, x, state, keys, values, valid_lens=None, **options):
        """``options`` go on to the attention: start=t, for local-m."""
        x = _checked_input(self, x)
        s = _asking(self, state)
        context, weights = _look(self, s, keys, values, valid_lens, options)
        state = self.cell(concat([x, context], -1), state)
        return state, concat([_asking(self, state), context], -1), weights


class LuongStep(nn.Module):
    """The new state asks, and both together make what is said and fed back.

        h_t = cell([x_t; h~_{t-1}], h_{t-1}),    c_t = attend(h_t)
        output h~_t = tanh(W_c [c_t; h_t] + b_c),    h~_0 = 0

    The state is a pair: that of the cell, and h~. Arguments as of ``BahdanauStep``.

    W_c    (hidden_size, value_size + hidden_size), Xavier-uniform: c first, then h
    b_c    (hidden_size,), from 0; None without ``bias``, as in the paper

    Cost a step: the attention's, a cell that is hidden_size wider, and W_c.
    Source: Luong et al. 2015, equations 5 and 6, and section 3.3.
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        value_size,
        attention,
        cell=nn.GRUCell,
        bias=False,
        rng=None,
    ):
        self.input_size, self.value_size = input_size, value_size
        self.output_size = hidden_size
        self.attention = _checked_layer(self, attention)
        self.cell = cell(input_size + hidden_size, hidden_size, rng=rng)
        self.W_c = xavier_uniform(hidden_size, value_size + hidden_size, rng)
        self.b_c = nn.Parameter(np.zeros(hidden_size, np.float32)) if bias else None

    def start(self, recurrent):
        """The state before the first step: the cell's, h or (h, c), and h~ = 0."""
        h = _asking(self, recurrent)
        return recurrent, Tensor(np.zeros(h.shape, h.dtype))

    def forward(self, x, state, keys, values, valid_lens=None, **options):
        """``options`` go on to the attention: start=t, for local-m."""
        x = _checked_input(self, x)
        if not (isinstance(state, tuple) and len(state) == 2):
            raise TypeError(
                f"LuongStep: the state is a {type(state).__name__}; expected the pair "
                "that start(h), or the step before, has returned."
            )
        recurrent, attentional = state
        recurrent = self.cell(concat([x, attentional], -1), recurrent)
        h = _asking(self, recurrent)
        context, weights = _look(self, h, keys, values, valid_lens, options)
        attentional = tanh(linear(concat([context, h], -1), self.W_c, self.b_c))
        return (recurrent, attentional), attentional, weights


def _asking(step, state):
    """The part of a cell's state that others see: h of an LSTM's (h, c)."""
    if state is None:
        raise TypeError(
            f"{type(step).__name__}: the state is None; expected h (B, hidden_size), "
            "or (h, c) of an LSTM; zeros, if there is no encoder."
        )
    return state[0] if isinstance(state, (tuple, list)) else state


def _look(step, query, keys, values, valid_lens, options):
    """context (B, Ev), weights (B, S) for query (B, H)."""
    name, attention = type(step).__name__, step.attention
    context = attention(query[:, None, :], keys, values, valid_lens, **options)
    if not isinstance(context, Tensor):
        raise TypeError(
            f"{name}: {type(attention).__name__} returned a {type(context).__name__}; "
            "expected a context alone. CoverageAttention has a sum to be carried from "
            "step to step: call its method step in a loop of your own."
        )
    if context.shape[-1] != step.value_size:
        raise ValueError(
            f"{name}: values of width {context.shape[-1]}; expected (B, S, value_size) "
            f"with value_size = {step.value_size}."
        )
    return context[:, 0], attention.attention_weights[:, 0]


def _checked_layer(step, attention):
    if not isinstance(attention, nn.Module):
        raise TypeError(
            f"{type(step).__name__}: attention is {attention!r}; expected a layer, "
            "such as DotProductAttention()."
        )
    return attention


def _checked_input(step, x):
    name, x = type(step).__name__, x if isinstance(x, Tensor) else Tensor(x)
    if x.dtype.kind != "f":
        raise TypeError(f"{name}: x is {x.dtype}; expected floating-point numbers.")
    if x.ndim != 2 or x.shape[1] != step.input_size:
        raise ValueError(
            f"{name}: x has shape {x.shape}; expected (B, input_size) with input_size "
            f"= {step.input_size}."
        )
    return x
