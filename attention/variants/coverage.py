"""Coverage: additive attention whose score knows the sum of all earlier weights.

    c^0 = 0,    c^t = sum of a^u over u < t
    e^t_j = w_v . tanh(W_q q_t + W_k k_j + w_c c^t_j + b)
    a^t = softmax over the allowed j of e^t_j
    loss = sum_j min(a^t_j, c^t_j)

A decoder that repeats itself attends to the same words again. With the coverage c in
the score it can avoid them, and the loss, from 0 to 1 a step, punishes repetition. c^t
must not contain a^t: min(a, c) would be a, and the loss 1 at every step.

Each step depends on all earlier ones, so this is a loop, and the graph differentiates
it. With C^t = dL/dc^t and dz^t_j = de^t_j w_v (1 - tanh^2), the gradients are

    da^t_j = (from the context) + d(loss)/da^t_j + C^{t+1}_j
    C^t_j = C^{t+1}_j + d(loss)/dc^t_j + w_c . dz^t_j

A step costs as much as the additive score, and S A multiplications for w_c c.

Tu et al. 2016 (the idea); See, Liu and Manning 2017, equations 10 to 13 (this form; a
trained model gets w_c and the loss only in a short last phase).
"""

import numpy as np

from minigrad import Tensor, minimum, nn, stack, where
from minigrad.checks import between
from minigrad.shapes import shapes

from ..attend import attend
from ..layers import AdditiveAttention, ProjectedKeys


class CoverageAttention(AdditiveAttention):
    """Additive attention, step after step, with the sum of the weights so far.

    W_q, W_k, w_v, b   as in AdditiveAttention, whose state may be loaded (strict=False)
    w_c                (num_hiddens,), initially 0: the same as AdditiveAttention

    Call ``step`` in a loop if a query depends on the context before.
    """

    def __init__(
        self, query_size, key_size, num_hiddens, bias=False, dropout=0.0, rng=None
    ):
        super().__init__(query_size, key_size, num_hiddens, dropout, rng, bias)
        self.w_c = nn.Parameter(np.zeros(num_hiddens, np.float32))

    @shapes
    def forward(self, queries, keys, values, valid_lens=None):
        """Attend with one query after the other, and return all three sequences.

        queries (..., L, self.query_size), keys (..., S, self.key_size) or
        ProjectedKeys, values (..., S, Ev), valid_lens? (B,) or (B, L) int
            ->  contexts (..., L, Ev), weights (..., L, S), coverages (..., L, S)

        The weights are those before dropout, with their graph. Row t of coverages is
        c^t, the sum of the rows of weights before t, as ``coverage_loss`` needs it.
        """
        keys, L = self._projected(keys), queries.shape[-2]
        if not L:  # no steps
            empty = attend(queries, keys.projected, values, self.score_projected)
            return *empty, empty[1]
        coverage, steps = None, []
        for t in range(L):
            per_query = valid_lens is not None and valid_lens.ndim == 2
            lengths = valid_lens[:, t] if per_query else valid_lens
            context, weights = self._attend(
                queries[..., t, :], keys, values, coverage, lengths
            )
            if coverage is None:
                coverage = Tensor(np.zeros(weights.shape, weights.dtype))
            steps.append((context, weights, coverage))
            coverage = coverage + weights  # c^{t+1} contains a^t
        contexts, weights, coverages = (stack(each, -2) for each in zip(*steps))
        self.attention_weights = weights.detach()
        return contexts, weights, coverages

    @shapes
    def step(self, query, keys, values, coverage=None, valid_lens=None):
        """Attend with one query, for a decoder that adds up the weights itself.

        query (..., self.query_size), keys (..., S, self.key_size) or ProjectedKeys,
        values (..., S, Ev), coverage? (..., S), valid_lens? (B,) int
            ->  context (..., Ev), weights (..., S)

        coverage   the sum of the weights of all steps before; None at the first step
        """
        return self._attend(query, self._projected(keys), values, coverage, valid_lens)

    def _attend(self, query, keys, values, coverage, lengths):
        projected, score = self.keys_and_score(keys)  # (..., S, A)
        if coverage is not None:  # W_k k_j + w_c c_j: the score is additive in both
            projected = projected + coverage[..., None] * self.w_c
        context, weights = attend(
            query[..., None, :],
            projected,
            values,
            score,
            valid_lens=lengths,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
        )
        return context[..., 0, :], weights[..., 0, :]

    def _projected(self, keys):
        return keys if isinstance(keys, ProjectedKeys) else self.precompute(keys)


@shapes
def coverage_loss(weights, coverages, target_lens=None, mask=None):
    """Return the mean over steps of sum_j min(a_j, c_j): what is attended to again.

    weights and coverages (B, L, S), target_lens? (B,) int, mask? (B, L) bool
        ->  loss ()

        loss = 1/B sum_b 1/n_b sum over the n_b counted steps t of
               sum_j min(a^t_bj, c^t_bj)

    target_lens   only the first steps of each example count, this many
    mask          only steps with True count

    An example without steps adds 0. See et al. add this loss with the factor 1.

    The gradient goes to the smaller of a and c; if they are equal, half to each, as in
    torch. Any other split is a subgradient as well. They are equal where both are 0, at
    masked keys, where a passes no gradient on.
    """
    B, L, _ = weights.shape
    counted = np.ones((B, L), bool)
    if target_lens is not None:
        between(
            "coverage_loss", "target_lens", target_lens, 0, L, "the number of steps"
        )
        counted &= np.arange(L) < target_lens[:, None]
    if mask is not None:
        counted &= mask
    repeated = minimum(weights, coverages).sum(-1)  # sum over the keys: (B, L)
    n = np.maximum(counted.sum(-1, keepdims=True), 1) * B
    return (where(counted, repeated, 0.0) * (1 / n).astype(weights.dtype)).sum()
