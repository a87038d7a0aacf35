"""The additive score e_ij = w . tanh(q_i + k_j) of projected queries and keys.

The array of all tanh(q_i + k_j), (B, L, S, A), makes this score slow: it is A times the
size of the result, is written and read several times, and is kept for the backward.
Here it never exists. Each tanh is used where it is computed, and computed again in the
backward. In float32, additive_product.py runs instead where its conditions hold: it
needs fewer exponentials.
"""

import numpy as np

from . import additive_product
from .choice import EXP
from .compiling import kernel, reads, writes
from .elementary import tanh
from .pool import spread

ITEMS = 8  # of the backward, at least, where each can have 16 queries
TILE = 2**16  # numbers in a tile of the twin: they stay in the cache


def forward(q, k, w):
    """Compute the scores of all pairs.

    q (B, L, A), k (B, S, A), w (A,)  ->  e (B, L, S)
    """
    (B, L, A), S = q.shape, k.shape[1]
    q, k, w = map(np.ascontiguousarray, (q, k, w))
    e = additive_product.forward(q, k, w)
    if e is not None:
        return e
    work = EXP * B * L * S * A
    loop = forward_loop.version(q.dtype, work)
    if loop is None:
        return forward_twin(q, k, w)
    e = np.empty((B, L, S), q.dtype)
    spread(loop, B * L, work, q, k, w, e)
    return e


def backward(q, k, w, g):
    """Compute the gradients of the three inputs.

    g (B, L, S)  ->  dq (B, L, A), dk (B, S, A), dw (A,)

    With t = tanh(q_i + k_j), of which the derivative is 1 - t^2,

        dw_a   = sum_bij g_ij t_a
        dq_i,a = w_a sum_j g_ij (1 - t_a^2)
        dk_j,a = w_a sum_i g_ij (1 - t_a^2)

    Keys are taken in groups of two or four. For each query, a group whose g are all 0
    is skipped.
    """
    (B, L, A), S = q.shape, k.shape[1]
    q, k, w, g = map(np.ascontiguousarray, (q, k, w, g))
    work, loop = EXP * g.size * A, None
    if np.isfinite(g).all():
        loop = additive_product.loop_for(additive_product.backward_loop, q, k, w, work)
    loop = loop or backward_loop.version(q.dtype, work)
    if loop is None:
        return backward_twin(q, k, w, g)
    # Queries of one example add to the same dk. So each part of them has its own, and
    # the parts are summed at the end, in an order that does not depend on threads.
    parts = max(1, min(-(-ITEMS // max(B, 1)), L // 16))
    dq, dk = np.empty_like(q), np.empty((parts, B, S, A), q.dtype)
    dw = np.empty((parts, B, A), q.dtype)
    spread(loop, parts * B, work, q, k, w, g, dq, dk, dw)
    dk = dk[0] if parts == 1 else dk.sum(0)
    return dq, dk, dw.reshape(parts * B, A).sum(0)


@kernel
def forward_loop(
    start: int, stop: int, q: reads(3), k: reads(3), w: reads(1), e: writes(3)
):
    """e_ij = w . tanh(q_i + k_j); a work item is one query of one example."""
    B, L, A = q.shape
    S = k.shape[1]
    zero = q.dtype.type(0)
    for item in range(start, stop):
        b, i = item // L, item % L
        q_i = q[b, i]
        for j in range(S):
            k_j = k[b, j]
            e_ij = zero
            for a in range(A):
                e_ij += w[a] * tanh(q_i[a] + k_j[a])
            e[b, i, j] = e_ij


@kernel
def backward_loop(
    start: int,
    stop: int,
    q: reads(3),
    k: reads(3),
    w: reads(1),
    g: reads(3),
    dq: writes(3),
    dk: writes(4),
    dw: writes(3),
):
    """Compute dq, and dk and dw of each part of the queries, a work item."""
    B, L, A = q.shape
    parts, S = dk.shape[0], k.shape[1]
    zero, one = q.dtype.type(0), q.dtype.type(1)
    for item in range(start, stop):
        part, b = item // B, item % B
        first, end = part * L // parts, (part + 1) * L // parts
        dw_b = dw[part, b]
        dq[b, first:end], dk[part, b], dw_b[:] = zero, zero, zero
        # Two keys m and n at a time, so that dq and dw are fetched and stored half as
        # often. The last of an odd number goes with its neighbour, whose g counts as 0.
        for n in range(1, S + 1, 2):
            odd = n == S
            n = S - 1 if odd else n
            m = max(n - 1, 0)
            k_m, k_n, dk_m, dk_n = k[b, m], k[b, n], dk[part, b, m], dk[part, b, n]
            for i in range(first, end):
                g_m = zero if odd else g[b, i, m]
                g_n = g[b, i, n]
                if g_m != 0 or g_n != 0:
                    q_i, dq_i = q[b, i], dq[b, i]
                    for a in range(A):
                        t_m = tanh(q_i[a] + k_m[a]) if g_m != 0 else zero
                        t_n = tanh(q_i[a] + k_n[a]) if g_n != 0 else zero
                        dz_m, dz_n = g_m * (one - t_m * t_m), g_n * (one - t_n * t_n)
                        dq_i[a] += dz_m + dz_n
                        dk_m[a] += dz_m
                        dk_n[a] += dz_n
                        dw_b[a] += g_m * t_m + g_n * t_n
        # w_a is the same factor in every term of a sum
        for i in range(first, end):
            dq_i = dq[b, i]
            for a in range(A):
                dq_i[a] *= w[a]
        for j in range(S):
            dk_j = dk[part, b, j]
            for a in range(A):
                dk_j[a] *= w[a]


def forward_twin(q, k, w):
    """Compute ``forward`` in NumPy, a tile of the (B, L, S, A) array at a time."""
    (B, L, A), S = q.shape, k.shape[1]
    e = np.empty((B, L, S), q.dtype)
    for b, i, j in _tiles(B, L, S, A):
        t = q[b, i, None, :] + k[b, None, j, :]  # axes b, i, j, A
        np.tanh(t, out=t)
        e[b, i, j] = t @ w
    return e


def backward_twin(q, k, w, g):
    """Compute ``backward`` in NumPy, a tile of the (B, L, S, A) array at a time."""
    (B, L, A), S = q.shape, k.shape[1]
    dq, dk, dw = np.zeros_like(q), np.zeros_like(k), np.zeros_like(w)
    for b, i, j in _tiles(B, L, S, A):
        t = q[b, i, None, :] + k[b, None, j, :]  # axes b, i, j, A
        np.tanh(t, out=t)
        g_tile = g[b, i, j]
        t[g_tile == 0] = 0  # it may be NaN
        dw += np.tensordot(g_tile, t, 3)  # summed over b, i, j: every pair uses w
        dz = (1 - t * t) * g_tile[..., None]
        dq[b, i] += dz.sum(2)  # summed over j: the query met every key
        dk[b, j] += dz.sum(1)  # summed over i: the key met every query
    return dq * w, dk * w, dw


def _tiles(B, L, S, A):
    """Yield slices b, i, j of tiles of at most TILE numbers (or of a single pair)."""
    j = max(1, min(S, TILE // max(A, 1)))
    i = max(1, min(L, TILE // max(A * j, 1))) if j == S else 1
    b = max(1, min(B, TILE // max(A * j * i, 1))) if i == L else 1
    for b0 in range(0, B, b):
        for i0 in range(0, L, i):
            for j0 in range(0, S, j):
                yield slice(b0, b0 + b), slice(i0, i0 + i), slice(j0, j0 + j)
