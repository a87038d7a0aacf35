"""Decoder steps that do not read the last context, so that all can run at once.

    PlainStep         without attention
    UnfedLuongStep    Luong's step without input feeding

They are called like the steps of ``attention/variants/steps.py``:

    state, output, weights = step(x, state, keys, memory, lengths)

x (B, E), memory (B, S, M), lengths (B,) or None  ->  output (B, H), weights (B, S). The
state is that of ``StackedCells``, and the keys are ``ProjectedKeys``. No step reads the
context of the step before. So ``run`` computes all steps at once: first the cells over
all steps, then the attention of all queries.

    outputs, weights = step.run(x, state, keys, memory, lengths)        x (B, L, E)
"""

from minigrad import concat, linear, nn, tanh

from ..layers import xavier_matrix
from ..variants.steps import context_and_weights


class PlainStep(nn.Module):
    """One decoder step without attention: the output is h_t = cell(x_t, h_{t-1}).

    The decoder knows the source only from its first state; the weights are None.
    Sutskever et al. 2014.

    cell   makes ``StackedCells``
    """

    def __init__(self, input_size, hidden_size, cell, rng=None):
        self.output_size, self.attention = hidden_size, None
        self.cell = cell(input_size, hidden_size, rng=rng)

    def start(self, recurrent):
        """Return the state before the first step: that of the cell."""
        return recurrent

    def forward(self, x, state, keys=None, values=None, lengths=None):
        """Return the next state, the output (B, H), and None for the weights."""
        state = self.cell(x, state)
        return state, state[0], None

    def run(self, x, state, keys=None, values=None, lengths=None):
        """Return the outputs (B, L, H) of x (B, L, E), and None for the weights."""
        return self.cell.run(x, state)[0], None


class UnfedLuongStep(PlainStep):
    """One step of ``LuongStep`` without input feeding: the cell does not read h~.

        h_t = cell(x_t, h_{t-1}),    c_t = attend(h_t),    h~_t = tanh(W_c [c_t; h_t])

    The state is the state of the cell, and the output is h~_t. Luong et al. 2015,
    without section 3.3.
    """

    def __init__(self, input_size, hidden_size, value_size, attention, cell, rng=None):
        super().__init__(input_size, hidden_size, cell, rng)
        self.attention = attention
        self.W_c = xavier_matrix(hidden_size, value_size + hidden_size, rng)

    def forward(self, x, state, keys, values, lengths=None, **options):
        """Return the next state, the output (B, H) and the weights (B, S)."""
        state, h, _ = super().forward(x, state)
        context, weights = context_and_weights(
            self, h, keys, values, lengths, options
        )
        return state, self._output(context, h), weights

    def run(self, x, state, keys, values, lengths=None, **options):
        """Return the outputs (B, L, H) and weights (B, L, S) of x (B, L, E)."""
        h, _ = super().run(x, state)  # (B, L, H)
        context = self.attention(h, keys, values, lengths, **options)
        return self._output(context, h), self.attention.attention_weights

    def _output(self, context, h):
        return tanh(linear(concat([context, h], -1), self.W_c))
