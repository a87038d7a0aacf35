"""Decoder steps without attention, and in Luong's order without input feeding.

They are called like those of ``attention/variants/steps.py``:

    state, output, weights = step(x, state, keys, memory, lengths)

In these two no step reads the context of the step before. So ``run`` computes all steps
at once: first the cells over all of time, then the attention for all queries together.

    outputs, weights = step.run(x, state, keys, memory, lengths)        x (B, L, E)
"""

from minigrad import concat, linear, nn, tanh

from ..variants.coverage import CoverageAttention
from ..variants.steps import LuongStep


class PlainStep(nn.Module):
    """No attention: h_t = cell(x_t, h_{t-1}), and the output is h_t.

    The source enters through the first state alone; weights are None. Sutskever et al.
    2014.
    """

    def __init__(self, input_size, hidden_size, cell=nn.GRUCell, rng=None):
        self.output_size, self.attention = hidden_size, None
        self.cell = cell(input_size, hidden_size, rng=rng)

    def start(self, recurrent):
        return recurrent

    def forward(self, x, state, keys=None, values=None, valid_lens=None):
        state = self.cell(x, state)
        return state, state[0], None

    def run(self, x, state, keys=None, values=None, valid_lens=None):
        return self.cell.run(x, state)[0], None


class UnfedLuongStep(LuongStep):
    """Luong's order without input feeding: only the output depends on h~.

        h_t = cell(x_t, h_{t-1}),    c_t = attend(h_t),    h~_t = tanh(W_c [c_t; h_t])

    The arguments are those of ``LuongStep``, but the cell reads x_t alone, and the
    state is the cell's. Luong et al. 2015, without section 3.3.
    """

    def __init__(self, input_size, hidden_size, value_size, attention, cell, rng=None):
        def unfed(_, hidden_size, rng):  # LuongStep would make it read h~ as well
            return cell(input_size, hidden_size, rng=rng)

        super().__init__(
            input_size, hidden_size, value_size, attention, cell=unfed, rng=rng
        )

    def start(self, recurrent):
        return recurrent

    def forward(self, x, state, keys, values, valid_lens=None, **options):
        state = self.cell(x, state)
        queries = state[0][:, None]  # (B, 1, H)
        output, weights = self._attend(queries, keys, values, valid_lens, options)
        return state, output[:, 0], weights[:, 0]

    def run(self, x, state, keys, values, valid_lens=None, **options):
        queries, _ = self.cell.run(x, state)  # (B, L, H)
        return self._attend(queries, keys, values, valid_lens, options)

    def _attend(self, h, keys, values, valid_lens, options):
        context = self.attention(h, keys, values, valid_lens, **options)
        output = tanh(linear(concat([context, h], -1), self.W_c, self.b_c))
        return output, self.attention.attention_weights


class CoveredAttention(CoverageAttention):
    """``CoverageAttention`` of one query a call, for the steps of a decoder.

        context (B, 1, Ev) = layer(query (B, 1, Dq), keys, values, valid_lens, coverage)

    ``attention_weights`` (B, 1, S) keep their graph: the coverage of the next step is
    their sum. ``Decoder`` detaches them afterwards.
    """

    def forward(self, query, keys, values, valid_lens=None, coverage=None):
        context, weights = self.step(query[:, 0], keys, values, coverage, valid_lens)
        self.attention_weights = weights[:, None]
        return context[:, None]
