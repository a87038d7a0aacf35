"""Coverage: attention that remembers what it has already looked at.

    c^0 = 0,    c^t = sum of a^u over u < t            what was looked at before step t
    e^t_j = w_v . tanh(W_q q_t + W_k k_j + w_c c^t_j + b)
    a^t = softmax over the allowed j of e^t_j
    loss = sum_j min(a^t_j, c^t_j)                     what is looked at once more

A decoder that repeats itself looks at the same words again. With c in the score it can
know that it has been there, and the loss, from 0 to 1 a step, is what repeating costs.
c^t must not contain a^t itself: min(a, c) would be a, and the loss 1 at every step.

Each step depends on all steps before, so this is a loop, which the tape differentiates.
With C^t = dL/dc^t, and dz^t_j = de^t_j w_v (1 - tanh^2), the way back is

    da^t_j = (from the context) + d(loss)/da^t_j + C^{t+1}_j
    C^t_j = C^{t+1}_j + d(loss)/dc^t_j + w_c . dz^t_j

Cost a step as of the additive score, and S A for w_c c. Idea: Tu et al. 2016; this
form: See, Liu and Manning 2017, equations 10 to 13, where a trained model gets w_c and
the loss for a short last phase only.
"""

import numpy as np

from minigrad import Tensor, minimum, nn, stack, where

from ..attend import attend
from ..checks import between, plain, wholes
from ..layers import AdditiveAttention, ProjectedKeys


class CoverageAttention(AdditiveAttention):
    """Additive attention, step after step, that knows what it has attended to.

        contexts, weights, coverages = layer(queries, keys, values, valid_lens=None)

    queries (..., L, Dq), in order of time, keys (..., S, Dk), values (..., S, Ev),
    valid_lens (B,) or (B, L)  ->  contexts (..., L, Ev), weights (..., L, S), of the
    graph and before dropout, and coverages (..., L, S): those that the steps started
    from, for ``coverage_loss``. Unlike the other layers it returns all three.

    Where a query depends on the context before, go step by step (``step``).

    W_q, W_k, w_v, b   as of AdditiveAttention, whose state may be loaded (strict=False)
    w_c                (num_hiddens,), from 0: at first it is AdditiveAttention
    """

    def __init__(
        self, query_size, key_size, num_hiddens, bias=False, dropout=0.0, rng=None
    ):
        super().__init__(query_size, key_size, num_hiddens, dropout, rng, bias)
        self.w_c = nn.Parameter(np.zeros(num_hiddens, np.float32))

    def forward(self, queries, keys, values, valid_lens=None):
        keys, queries = self._projected(keys), _tensor(queries)
        if queries.ndim < 2:
            raise ValueError(
                f"CoverageAttention: queries have shape {queries.shape}; expected "
                "(…, L, Dq), in order of time."
            )
        values, L = _tensor(values), queries.shape[-2]
        lengths = _checked_lengths(valid_lens, L)
        if not L:  # no steps
            nothing = attend(queries, keys.projected, values, self.score_projected)
            return *nothing, nothing[1]
        coverage, steps = None, []
        for t in range(L):
            lens = lengths if lengths is None or lengths.ndim < 2 else lengths[:, t]
            context, weights = self.step(
                queries[..., t, :], keys, values, coverage, lens
            )
            if coverage is None:
                coverage = Tensor(np.zeros(weights.shape, weights.dtype))
            steps.append((context, weights, coverage))
            coverage = coverage + weights  # c^{t+1}: from now on a^t is a part of it
        contexts, weights, coverages = (stack(each, -2) for each in zip(*steps))
        self.attention_weights = weights.detach()
        return contexts, weights, coverages

    def step(self, query, keys, values, coverage=None, valid_lens=None):
        """One step, for a decoder to call in a loop, which keeps the sum itself.

        query (..., Dq), keys (..., S, Dk) or what ``precompute`` made of them, values
        (..., S, Ev), coverage (..., S): the sum of all weights before, None if there
        are none; valid_lens (B,)
            ->  context (..., Ev), weights (..., S)

        Then add coverage and weights, for the next step.
        """
        keys, query = self._projected(keys), _tensor(query)
        projected, score = self.keys_and_score(keys)
        if query.ndim != projected.ndim - 1:
            raise ValueError(
                f"CoverageAttention.step: query has shape {query.shape} and the keys "
                f"{projected.shape}; expected (..., Dq) and (..., S, A), one query for "
                "each set of keys."
            )

        def covered(q, k):
            if coverage is not None:
                c = _fitting(_tensor(coverage), q, k)
                k = k + c[..., None] * self.w_c  # (..., S, A): as if other keys
            return score(q, k)

        context, weights = attend(
            query[..., None, :],
            projected,
            values,
            covered,
            valid_lens=valid_lens,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
        )
        return context[..., 0, :], weights[..., 0, :]

    def _projected(self, keys):
        return keys if isinstance(keys, ProjectedKeys) else self.precompute(keys)


def coverage_loss(weights, coverages, target_lens=None, mask=None):
    """How much is attended to that has been attended to: the mean of sum_j min(a, c).

        loss = 1/B sum_b 1/n_b sum over the n_b steps t that count of
               sum_j min(a^t_bj, c^t_bj)

    weights, coverages   (B, L, S), as CoverageAttention returns them
    target_lens          (B,): only so many steps of each example count
    mask                 (B, L) bool: only steps with True count

    A Tensor, of one number from 0 to 1: to be added to the loss, with a factor that See
    et al. set to 1. An example without steps adds 0.

    The gradient goes to the smaller of a and c; of equals, half to each, as in torch.
    Any other split would be as right. They are equal where both are 0, at masked keys,
    where a passes nothing on, and else by accident.

    Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
    """
    weights, coverages = _tensor(weights), _tensor(coverages)
    if weights.ndim != 3 or weights.shape != coverages.shape:
        raise ValueError(
            f"coverage_loss: weights have shape {weights.shape} and coverages "
            f"{coverages.shape}; expected (B, L, S) for both."
        )
    counts = _counted(weights.shape[:2], target_lens, mask)  # (B, L)
    loss = minimum(weights, coverages).sum(-1)  # (B, L): summed over the keys
    n = counts.sum(-1, keepdims=True) * len(counts)  # steps of an example, times B
    share = (1 / np.maximum(n, 1)).astype(weights.dtype)
    return (where(counts, loss, 0.0) * share).sum()


def _tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def _checked_lengths(valid_lens, L):
    """As an array; what else can be wrong with it, ``attend`` will say."""
    if valid_lens is None:
        return None
    lengths = plain(valid_lens)
    if lengths.ndim == 2 and lengths.shape[1] != L:
        raise ValueError(
            f"CoverageAttention: valid_lens have shape {lengths.shape}; expected (B,), "
            f"or (B, L) for {L} queries."
        )
    return lengths


def _fitting(coverage, q, k):
    shape = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), k.shape[-2])
    if coverage.shape != shape or coverage.dtype.kind != "f":
        raise ValueError(
            f"CoverageAttention: coverage is {coverage.dtype} of shape "
            f"{coverage.shape}; expected floating-point numbers of shape {shape}, a "
            "sum of weights."
        )
    return coverage


def _counted(shape, target_lens, mask):
    """Which steps count: bool (B, L)."""
    counts = np.ones(shape, bool)
    if target_lens is not None:
        lens = wholes(
            "coverage_loss", "target_lens", target_lens, {1: "(B,), one an example"}
        )
        between(
            "coverage_loss", "target_lens", lens, 0, shape[1], "the number of steps"
        )
        if lens.shape != shape[:1]:
            raise ValueError(
                f"coverage_loss: target_lens have shape {lens.shape}; expected "
                f"{shape[:1]}, one for each example."
            )
        counts &= np.arange(shape[1]) < lens[:, None]
    if mask is not None:
        mask = plain(mask)
        if mask.dtype != bool or mask.shape != shape:
            raise ValueError(
                f"coverage_loss: mask is {mask.dtype} of shape {mask.shape}; expected "
                f"bool of shape {shape}, where True = the step counts."
            )
        counts &= mask
    return counts
