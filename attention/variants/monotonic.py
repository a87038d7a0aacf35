"""Monotonic attention: each step reads on from the last place, and stops at one key.

    p_ij = sigmoid(e_ij)                         the probability to stop at key j
    q_ij = (1 - p_i(j-1)) q_i(j-1) + a_(i-1)j    that step i arrives at key j
    a_ij = p_ij q_ij                             that it stops there

a_0 = (1, 0, ..., 0): reading begins at the first key. This replaces the softmax: a_ij
depends on the weights of the step before, and the weights of a step sum to less than 1,
because it may pass the last key. In use, ``hard``, a step stops at the first key from
the last place on with p > 1/2. It never goes back, so it takes linear time and works
while the source still arrives. Training uses the a_ij, an expectation over all stops.

MoChA, monotonic chunkwise attention, averages the values of the w keys that end at the
stop, by a softmax of a second score u:

    b_ij = sum_m a_i(j+m) P_(j+m)j,   m from 0 to w - 1
    P_kj = exp(u_j) / sum of exp(u_l) over l from k - w + 1 to k

**Gradient.** With g = dL/da, from the last step and the last key backwards: q_ij enters
a_ij with the factor p_ij, and q_i(j+1) with 1 - p_ij. So, with n_ij = dL/dq_i(j+1) (0
at the last key),

    da_ij = g_ij + dq_(i+1)j                 from the output, and from the next step
    dq_ij = da_ij p_ij + n_ij (1 - p_ij)
    dp_ij = q_ij (da_ij - n_ij)

Noise on e in training lets p become 0 or 1, so that soft and hard weights agree. The
bias r of e should begin below 0, so that a step does not stop at once.

Raffel et al. 2017; Chiu and Raffel 2018 (MoChA).
"""

import functools

import numpy as np

from minigrad import differentiable, nn, sigmoid, where
from minigrad.arguments import number, whole
from minigrad.random import generator
from minigrad.shapes import shapes

from .. import definitions
from ..layers import AdditiveAttention, xavier_matrix, xavier_vector
from ..scores import additive
from ..softmax import masked_softmax
from ..template import clear_masked
from .row import Variant


@shapes
@differentiable
def monotonic_weights(p, before=None):
    """a_ij = p_ij q_ij, the probability that step i stops at key j.

    p (..., L, S), before? (..., S)  ->  a (..., L, S)

    before   the weights of the step before the first; None: reading begins at key 0

    q_ij needs the key to its left and the step before. So all pairs on a diagonal,
    with the same i + j, are computed at once.
    """
    L, S = p.shape[-2:]
    start = np.eye(1, S, dtype=p.dtype)[0] if before is None else before
    leading = np.broadcast_shapes(p.shape[:-2], start.shape[:-1])
    p = np.broadcast_to(p, (*leading, L, S))
    q = np.zeros((*leading, L, S), p.dtype)
    a = np.zeros((*leading, L + 1, S), p.dtype)  # row i: the step before step i
    passes = np.zeros((*leading, L, S + 1), p.dtype)  # column j: from the key before j
    a[..., 0, :] = start
    for d in range(L + S - 1):
        i, j = _diagonal(d, L, S)
        q[..., i, j] = passes[..., i, j] + a[..., i, j]
        a[..., i + 1, j] = p[..., i, j] * q[..., i, j]
        passes[..., i, j + 1] = (1 - p[..., i, j]) * q[..., i, j]

    def backward(g):
        dp = np.zeros_like(q)
        dq = np.zeros((*leading, L + 1, S + 1), q.dtype)  # 0 past the last step and key
        for d in reversed(range(L + S - 1)):
            i, j = _diagonal(d, L, S)
            da = g[..., i, j] + dq[..., i + 1, j]  # from the output, and the next step
            n = dq[..., i, j + 1]
            dp[..., i, j] = q[..., i, j] * (da - n)
            dq[..., i, j] = da * p[..., i, j] + n * (1 - p[..., i, j])
        return dp, None if before is None else dq[..., 0, :S]

    return a[..., 1:, :], backward


def _diagonal(d, L, S):
    """Return the steps i and the keys j with i + j = d."""
    i = np.arange(max(0, d - S + 1), min(L, d + 1))
    return i, d - i


@shapes
def hard_stops(p, before=None):
    """Return one-hot weights: step i stops at the first key with p > 1/2.

    p (..., L, S), before? (..., S)  ->  a (..., L, S)

    before   one-hot, the weights of the step before the first; None: key 0

    A row is 0 if no key stops the step, and so are all rows after it.
    """
    stops = (p.data > 0.5).astype(p.dtype)
    return monotonic_weights(stops, None if before is None else before.detach())


@shapes
def chunk_weights(a, u, width):
    """b_ij = sum over the stops k from j to j + w - 1 of a_ik P_kj.

    a (..., L, S), u (..., L, S)  ->  b (..., L, S)

    u       the scores inside a chunk
    width   w, the number of keys of a chunk
    """
    S, w = a.shape[-1], np.arange(whole("chunk_weights", "width", width, least=1))
    ends, places = np.arange(S)[:, None], np.arange(S)[:, None] + w
    keys = ends - w  # (S, W): the keys of the chunk that ends at k
    P = masked_softmax(u[..., np.maximum(keys, 0)], mask=keys >= 0)  # (..., L, S, W)
    shares = a[..., None] * P
    inside = places < S  # the stops j + m whose chunk includes key j
    of_key = shares[..., np.minimum(places, S - 1), w]  # (..., L, S, W)
    return where(inside, of_key, 0.0).sum(-1)


class MonotonicAttention(AdditiveAttention):
    """Additive scores as probabilities to stop.

    W_q, W_k, w_v   as in AdditiveAttention: e_ij = w_v . tanh(W_q q_i + W_k k_j) + r
    r               (), the bias of e, initially -1

    noise   the standard deviation of the noise on e, in training
    """

    def __init__(self, query_size, key_size, num_hiddens, noise=1.0, rng=None):
        super().__init__(query_size, key_size, num_hiddens, rng=rng)
        self.noise = number(type(self).__name__, "noise", noise, least=0)
        self.r = nn.Parameter(np.full((), -1, np.float32))

    @shapes
    def forward(self, queries, keys, values, lengths=None, before=None, hard=False):
        """Read on with one query after the other; return contexts and stops.

        queries (..., L, self.query_size), keys (..., S, self.key_size),
        values (..., S, Ev), lengths? (B,) or (B, L) int, before? (..., S)
            ->  contexts (..., L, Ev), a (..., L, S)

        before   the stops of the step before the first; None: reading begins at key 0
        hard     True: a step stops at one key. It has no gradient for the stops
        """
        name = type(self).__name__
        keys, values, allowed, _ = clear_masked(
            name, queries, keys, values, lengths=lengths
        )
        e = self.score(queries, keys) + self.r  # (..., L, S)
        if self.training and self.noise and not hard:
            noise = (self.rng or generator()).standard_normal(e.shape)
            e = e + (self.noise * noise).astype(e.dtype)
        p = sigmoid(e)
        if allowed is not None:  # no step stops at padding
            p = where(allowed, p, 0.0)
        a = hard_stops(p, before) if hard else monotonic_weights(p, before)
        weights = self.weights_of(a, queries, keys)
        self.attention_weights = weights.detach()
        return weights @ values, a

    def weights_of(self, a, queries, keys):
        """Return the weights of the values, (..., L, S), from the stops a (..., L, S).

        queries and keys are those of ``forward``; a subclass may compare them again.
        """
        return a


class MoChA(MonotonicAttention):
    """Monotonic stops, and at each a softmax over the chunk of keys that ends there.

    W_q, W_k, w_v, r   as in MonotonicAttention
    V_q, V_k, w_u      of the scores in a chunk, u_ij = w_u . tanh(V_q q_i + V_k k_j)

    chunk   w, the number of keys of a chunk
    """

    def __init__(self, query_size, key_size, num_hiddens, chunk=3, noise=1.0, rng=None):
        super().__init__(query_size, key_size, num_hiddens, noise, rng)
        self.chunk = whole("MoChA", "chunk", chunk, least=1)
        self.V_q = xavier_matrix(num_hiddens, query_size, rng)
        self.V_k = xavier_matrix(num_hiddens, key_size, rng)
        self.w_u = xavier_vector(num_hiddens, rng)

    def weights_of(self, a, queries, keys):
        u = additive(queries, keys, self.V_q, self.V_k, self.w_u)
        return chunk_weights(a, u, self.chunk)


def _keys_of_chunks(L, S, width):
    return {"W": min(width, S)}


ROWS = [
    Variant(
        "monotonic", definitions.monotonic,
        functools.partial(MonotonicAttention, noise=0.0), "E, Dk, A",
        parameters="W_q (A, E), W_k (A, Dk), w_v (A), r ()",
        multiplications="A*(L*E + S*Dk) + L*S*A + 2*L*S + L*S*Ev",
        about="""normaliser: a_ij = P(step i stops at j), reading on from the last stop
        can read in linear time, before the whole source has arrived
        cannot go back; move on to an equal key if the query is the same
        lesson 16: copying three letters; Raffel et al. 2017""",
    ),
    # the chunks of a query have S W - W (W - 1) / 2 keys together, for W keys each
    Variant(
        "mocha", definitions.mocha, functools.partial(MoChA, noise=0.0),
        "E, Dk, A, width",
        parameters=(
            "W_q (A, E), W_k (A, Dk), w_v (A), r (), V_q (A, E), V_k (A, Dk), w_u (A)"
        ),
        multiplications="2*A*(L*E + S*Dk) + 2*L*S*A + 2*L*S + L*S*Ev"
        " + L*(S*W - W*(W - 1)//2)",
        options=dict(width=4),
        small=dict(width=3),
        more=_keys_of_chunks,
        about="""normaliser: a softmax over the W keys that end at each monotonic stop
        can average a few keys, and still read in one direction
        cannot go back further than W keys
        lesson 16: nothing trained, beside monotonic attention; Chiu and Raffel 2018""",
    ),
]  # fmt: skip
