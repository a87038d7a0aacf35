"""Coverage: additive attention whose score depends on the sum of all earlier weights.

    c^0 = 0,    c^t = sum of a^u over u < t
    e^t_j = w_v . tanh(W_q q_t + W_k k_j + w_c c^t_j + b)
    a^t = softmax over the allowed j of e^t_j
    loss = sum_j min(a^t_j, c^t_j)

q_t is a query and k_j a key; a^t are the weights of step t, and c^t is the coverage. A
decoder that repeats words attends to the same source words again. With the coverage in
the score, the model can learn to avoid them. The loss of a step is from 0 to 1. It is
large if the step attends to words to which earlier steps attended. c^t does not include
a^t: otherwise min(a, c) would be a, and the loss would be 1 at every step.

Each step depends on all earlier steps, so this is a loop of operations. Let z^t_j be
the argument of tanh, and dx = dL/dx. The gradients are

    dz^t_j = de^t_j w_v (1 - tanh^2)
    da^t_j = (from the context) + d(loss)/da^t_j + dc^{t+1}_j
    dc^t_j = dc^{t+1}_j + d(loss)/dc^t_j + w_c . dz^t_j

A step costs S A multiplications for w_c c, beside those of the additive score.

Tu et al. 2016 (the idea); See, Liu and Manning 2017, equations 10 to 13 (this form; a
trained model gets w_c and the loss only in a short last phase).
"""

import numpy as np

from minigrad import Tensor, minimum, nn, stack, where
from minigrad.arguments import between
from minigrad.shapes import shapes

from .. import definitions
from ..layers import AdditiveAttention, ProjectedKeys
from ..template import attend, clear_masked
from .row import Variant


class CoverageAttention(AdditiveAttention):
    """Additive attention in steps, whose score includes the sum of the weights so far.

    W_q, W_k, w_v, b   as in AdditiveAttention. To load its state, which has no w_c,
                       use load_state_dict(state, strict=False)
    w_c                (num_hiddens,), initially 0, which gives AdditiveAttention

    If a query depends on the context of the step before, call ``step`` in a loop.
    """

    def __init__(
        self, query_size, key_size, num_hiddens, bias=False, dropout=0.0, rng=None
    ):
        super().__init__(query_size, key_size, num_hiddens, dropout, rng, bias)
        self.w_c = nn.Parameter(np.zeros(num_hiddens, np.float32))

    @shapes
    def forward(self, queries, keys, values, lengths=None):
        """Attend with one query after the other; return contexts, weights, coverages.

        queries (..., L, self.query_size), keys (..., S, self.key_size) or
        ProjectedKeys, values (..., S, Ev), lengths? (B,) or (B, L) int
            ->  contexts (..., L, Ev), weights (..., L, S), coverages (..., L, S)

        The weights are those before dropout, with their graph. Row t of coverages is
        c^t, the sum of the rows of weights before row t.
        """
        keys, L = self._projected(queries, keys, lengths), queries.shape[-2]
        if not L:  # no steps
            contexts, weights = attend(
                queries, keys.projected, values, self.score_projected
            )
            return contexts, weights, weights  # the coverages have the same shape
        coverage, weights, steps = None, None, []
        for t in range(L):
            per_query = lengths is not None and lengths.ndim == 2
            own = lengths[:, t] if per_query else lengths
            context, weights = self.step(
                queries[..., t, :], keys, values, coverage, weights, own
            )
            if coverage is None:
                coverage = Tensor(np.zeros(weights.shape, weights.dtype))
            steps.append((context, weights, coverage))
            coverage = coverage + weights  # c^{t+1} includes a^t
        contexts, weights, coverages = (stack(each, -2) for each in zip(*steps))
        self.attention_weights = weights.detach()
        return contexts, weights, coverages

    @shapes
    def step(self, query, keys, values, coverage=None, weights=None, lengths=None):
        """Attend with one query; the caller sums the weights of the steps.

        query (..., self.query_size), keys (..., S, self.key_size) or ProjectedKeys,
        values (..., S, Ev), coverage? (..., S), weights? (..., S), lengths? (B,) int
            ->  context (..., Ev), weights (..., S)

        coverage   the sum of the weights of all earlier steps; None at the first step
        weights    those of the last step, for ``past`` of a subclass
        """
        keys = self._projected(query[..., None, :], keys, lengths)
        projected, score = self.keys_and_score(keys)  # (..., S, A)
        if coverage is not None:  # W_k k_j + w_c c_j: the score is additive in both
            projected = projected + self.past(coverage, weights)
        context, weights = attend(
            query[..., None, :],
            projected,
            values,
            score,
            lengths=lengths,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
        )
        return context[..., 0, :], weights[..., 0, :]

    def past(self, coverage, weights):
        """Return w_c c_j (..., S, A), what the score receives from earlier steps.

        coverage   (..., S), the c_j: the sum of the weights of all earlier steps
        weights    (..., S), those of the last step, which a subclass may use
        """
        return coverage[..., None] * self.w_c

    def _projected(self, queries, keys, lengths):
        if isinstance(keys, ProjectedKeys):
            return keys
        keys, *_ = clear_masked(
            "CoverageAttention", queries, keys, keys, lengths=lengths
        )
        return self.precompute(keys)


@shapes
def coverage_loss(weights, coverages, target_lens=None):
    """Return the mean over the steps of sum_j min(a_j, c_j), a measure of repetition.

    weights and coverages (B, L, S), target_lens? (B,) int  ->  loss ()

        loss = 1/B sum_b 1/n_b sum_{t < n_b} sum_j min(a^t_bj, c^t_bj)

    target_lens   n_b, the number of steps of each example; None: L

    An example without steps adds 0. See et al. add this loss with the factor 1.

    The gradient goes to the smaller of a and c; if they are equal, half to each, as in
    torch. At masked keys both are 0, and the softmax multiplies the gradient by a = 0.
    """
    B, L, _ = weights.shape
    if target_lens is None:
        target_lens = np.full(B, L)
    between("coverage_loss", "target_lens", target_lens, 0, L, "the number of steps")
    is_step = np.arange(L) < target_lens[:, None]  # (B, L)
    repeated = minimum(weights, coverages).sum(-1)  # sum over the keys: (B, L)
    n = np.maximum(target_lens, 1)[:, None] * B
    return (where(is_step, repeated, 0.0) * (1 / n).astype(weights.dtype)).sum()


ROWS = [
    # additive, and w_c c_j from the second query on
    Variant(
        "coverage", definitions.coverage, CoverageAttention, "E, Dk, A",
        parameters="W_q (A, E), W_k (A, Dk), w_v (A), w_c (A)",
        multiplications="A*(L*E + S*Dk) + L*S*A + (L - 1)*S*A + L*S*Ev",
        about="""score: w_c n_j is added in the tanh of additive, n_j the sum of the
        earlier weights of key j
        can avoid keys that were read before, or return to them
        cannot compute all queries at once: each needs the weights of those before
        lesson 8: sequences with repetitions; See, Liu and Manning 2017""",
    ),
]  # fmt: skip
