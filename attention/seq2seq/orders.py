"""Decoder steps beside Bahdanau's and Luong's: without attention, and without feeding.

They are called as those of ``attention/variants/steps.py`` are,

    state, output, weights = step(x, state, keys, memory, lengths)

What these two have in common is that no step reads what the one before has found. So
``run`` takes all steps at once: the cells over all of time, then all queries together.

    outputs, weights = step.run(x, state, keys, memory, lengths)        x (B, L, E)
"""

from minigrad import concat, linear, nn, tanh

from ..variants.coverage import CoverageAttention
from ..variants.steps import LuongStep


class PlainStep(nn.Module):
    """No attention: h_t = cell(x_t, h_{t-1}), and the output is h_t.

    The source comes in through the first state alone; weights are None. Sutskever et
    al. 2014.
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
    """Luong's order without input feeding: h~ goes to the output and nowhere else.

        h_t = cell(x_t, h_{t-1}),    c_t = attend(h_t),    h~_t = tanh(W_c [c_t; h_t])

    Arguments as of ``LuongStep``, but that the cell reads x_t alone, and that the state
    is the cell's. Luong et al. 2015, without section 3.3.
    """

    def __init__(self, input_size, hidden_size, value_size, attention, cell, rng=None):
        def unfed(_, hidden_size, rng):  # LuongStep would have it read h~ as well
            return cell(input_size, hidden_size, rng=rng)

        super().__init__(
            input_size, hidden_size, value_size, attention, cell=unfed, rng=rng
        )

    def start(self, recurrent):
        return recurrent

    def forward(self, x, state, keys, values, valid_lens=None, **options):
        state = self.cell(x, state)
        queries = state[0][:, None]  # (B, 1, H)
        output, weights = self._looked(queries, keys, values, valid_lens, options)
        return state, output[:, 0], weights[:, 0]

    def run(self, x, state, keys, values, valid_lens=None, **options):
        queries, _ = self.cell.run(x, state)  # (B, L, H)
        return self._looked(queries, keys, values, valid_lens, options)

    def _looked(self, h, keys, values, valid_lens, options):
        context = self.attention(h, keys, values, valid_lens, **options)
        output = tanh(linear(concat([context, h], -1), self.W_c, self.b_c))
        return output, self.attention.attention_weights


class CoveredAttention(CoverageAttention):
    """``CoverageAttention`` one query a call, as the steps of a decoder call a layer.

        context (B, 1, Ev) = layer(query (B, 1, Dq), keys, values, valid_lens, coverage)

    ``attention_weights`` (B, 1, S) belong to the graph: the coverage of the next step
    is made of them. ``Decoder.step`` takes them out of it again.
    """

    def forward(self, query, keys, values, valid_lens=None, coverage=None):
        context, weights = self.step(query[:, 0], keys, values, coverage, valid_lens)
        self.attention_weights = weights[:, None]
        return context[:, None]
