"""The additive score s_ij = w . tanh(q_i + k_j) of projected queries and keys.

The array of all tanh(q_i + k_j), (B, L, S, A), makes this score slow: it is A times the
size of the result, is written and read several times, and is kept for the backward.
Here it never exists: a tile of it is used where it is computed, and computed again in
the backward. In float32 and for many pairs, additive_product.py has compiled loops.
"""

import numpy as np

from . import additive_product

TILE = 2**16  # numbers in a tile: they stay in the cache


def forward(q, k, w):
    """Compute the scores of all pairs.

    q (B, L, A), k (B, S, A), w (A,)  ->  s (B, L, S)
    """
    q, k, w = map(np.ascontiguousarray, (q, k, w))
    s = additive_product.forward(q, k, w)
    return forward_twin(q, k, w) if s is None else s


def backward(q, k, w, g):
    """Compute the gradients of the three inputs.

    g (B, L, S)  ->  dq (B, L, A), dk (B, S, A), dw (A,)

    With t = tanh(q_i + k_j), of which the derivative is 1 - t^2,

        dw_a   = sum_bij g_ij t_a
        dq_i,a = w_a sum_j g_ij (1 - t_a^2)
        dk_j,a = w_a sum_i g_ij (1 - t_a^2)
    """
    arrays = [*map(np.ascontiguousarray, (q, k, w, g))]
    gradients = additive_product.backward(*arrays)
    return backward_twin(*arrays) if gradients is None else gradients


def forward_twin(q, k, w):
    """Compute ``forward`` in NumPy, a tile of the (B, L, S, A) array at a time."""
    (B, L, A), S = q.shape, k.shape[1]
    s = np.empty((B, L, S), q.dtype)
    for b, i, j in _tiles(B, L, S, A):
        t = q[b, i, None, :] + k[b, None, j, :]  # axes b, i, j, A
        np.tanh(t, out=t)
        s[b, i, j] = t @ w
    return s


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
