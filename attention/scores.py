"""Score functions: one number for each pair of a query and a key.

The number s_ij is large when key j matches query i. Attention turns it into a weight.

    function       s_ij                             multiplications
    dot            q_i . k_j                        L S D
    scaled_dot     q_i . k_j / sqrt(D)              L S D
    general        q_i^T W_a k_j                    L Dq Dk + L S Dk
    additive       w_v . tanh(W_q q_i + W_k k_j)    (L Dq + S Dk + L S) A; tanh: L S A
    concat         the same as additive, in the notation of Luong et al.

    L    the number of queries         S    the number of keys; each key has one value
    Dq   the width of a query          Dk   the width of a key;  D if both are equal
    A    the width of W_q q_i and W_k k_j

A width is the number of entries of a vector. ``...`` in a shape means any leading axes,
such as (B,) for a batch of B examples.

Bahdanau et al. 2015, appendix A.1.2 (additive); Luong et al. 2015, section 3.1 (dot,
general, concat); Vaswani et al. 2017, section 3.2.1 (scaled_dot).
"""

import math

import numpy as np

from minigrad import differentiable, linear, matmul, swapaxes
from minigrad.shapes import shapes

from .kernels import additive_product

TILE = 2**16  # numbers in a tile of all tanh: they stay in the cache


@shapes
def dot(queries, keys):
    """s_ij = q_i . k_j    (Luong et al. 2015, section 3.1, "dot")

    queries (..., L, D), keys (..., S, D)  ->  scores (..., L, S)

    With G = dL/ds:  dq_i = sum_j g_ij k_j and dk_j = sum_i g_ij q_i, or as matrices

        dQ = G K,    dK = G^T Q
    """
    return matmul(queries, swapaxes(keys, -1, -2))  # sum over D


@shapes
def scaled_dot(queries, keys, scale=None):
    """s_ij = scale q_i . k_j, default scale 1 / sqrt(D)    (Vaswani et al. 2017, eq. 1)

    queries (..., L, D), keys (..., S, D)  ->  scores (..., L, S)

    If the entries of q and k are independent with mean 0 and variance 1, then q . k has
    variance D, and the scaled product has variance 1. The norm of the softmax's
    Jacobian for 16 keys has the median 0.33 without the scale and 0.29 with it at
    D = 4, 0.11 and 0.30 at D = 64, 0.006 and 0.30 at D = 256 (lesson 05).

        dQ = scale G K,    dK = scale G^T Q
    """
    if scale is None:
        scale = 1 / math.sqrt(max(queries.shape[-1], 1))  # D = 0 is allowed
    return matmul(queries * scale, swapaxes(keys, -1, -2))


@shapes
def general(queries, keys, W_a):
    """s_ij = q_i^T W_a k_j    (Luong et al. 2015, section 3.1, "general")

    queries (..., L, Dq), keys (..., S, Dk), W_a (Dq, Dk)  ->  scores (..., L, S)

    The matrix of the scores is (Q W_a) K^T. As in ``dot`` and ``ops/matmul.py``,

        d(Q W_a) = G K,    dK = G^T (Q W_a)
        dQ = G K W_a^T,    dW_a = Q^T G K, summed over the batch
    """
    return matmul(matmul(queries, W_a), swapaxes(keys, -1, -2))


@shapes
def additive(queries, keys, W_q, W_k, w_v):
    """s_ij = w_v . tanh(W_q q_i + W_k k_j)    (Bahdanau et al. 2015, appendix A.1.2)

    queries (..., L, Dq), keys (..., S, Dk), W_q (A, Dq), W_k (A, Dk), w_v (A,)
        ->  scores (..., L, S)

    Each query and each key is projected once, and not once for every pair. The
    gradients are in ``linear`` and ``tanh_scores``.
    """
    return tanh_scores(linear(queries, W_q), linear(keys, W_k), w_v)


@shapes
@differentiable
def tanh_scores(a, b, w_v):
    """s_ij = w_v . tanh(a_i + b_j), where a_i = W_q q_i and b_j = W_k k_j.

    a (..., L, A), b (..., S, A), w_v (A,)  ->  scores (..., L, S)

    The operation adds each tanh to its sum at once and does not store it; the backward
    pass computes it again. To write and read the array of all tanh, (..., L, S, A),
    would take several times longer. kernels/additive_product.py has compiled loops for
    many pairs in float32.

    With t_ij = tanh(a_i + b_j), a vector, whose derivative is 1 - t_ij^2, and g = dL/ds
    (products of two vectors are element by element):

        dw_v = sum_ij g_ij t_ij
        da_i = w_v sum_j g_ij (1 - t_ij^2)
        db_j = w_v sum_i g_ij (1 - t_ij^2)
    """
    # the compiled loops, and their NumPy versions, have one leading axis
    a, b, w_v, leading = _as_batches(a, b, w_v)  # (B, L, A), (B, S, A), (A,)
    s = additive_product.forward(a, b, w_v)  # (B, L, S), or None
    s = forward_twin(a, b, w_v) if s is None else s

    def backward(g):
        g = np.ascontiguousarray(g).reshape(s.shape)  # (B, L, S)
        gradients = additive_product.backward(a, b, w_v, g)
        gradients = backward_twin(a, b, w_v, g) if gradients is None else gradients
        da, db, dw_v = gradients
        da = da.reshape(*leading, *a.shape[1:])  # (..., L, A)
        db = db.reshape(*leading, *b.shape[1:])  # (..., S, A)
        return da, db, dw_v

    return s.reshape(*leading, *s.shape[1:]), backward


# ---- A first reading can stop here ----


@shapes
def concat(queries, keys, W_a, v_a):
    """s_ij = v_a . tanh(W_a [q_i; k_j])    (Luong et al. 2015, section 3.1, "concat")

    queries (..., L, Dq), keys (..., S, Dk), W_a (A, Dq + Dk), v_a (A,)
        ->  scores (..., L, S)

    [q; k] is the concatenation of q and k. Luong calls this matrix W_a, and also the
    matrix of ``general``, which has another shape.

    This is ``additive``: v_a is w_v, the first Dq columns of W_a are W_q and the others
    are W_k, because W_a [q; k] = W_q q + W_k k. A direct computation of the formula
    would project every query S times and every key L times.
    """
    Dq = queries.shape[-1]
    return additive(queries, keys, W_a[:, :Dq], W_a[:, Dq:], v_a)


def forward_twin(q, k, w):
    """Compute the scores in NumPy, a tile of the (B, L, S, A) array at a time.

    q (B, L, A), k (B, S, A), w (A,)  ->  s (B, L, S)
    """
    (B, L, A), S = q.shape, k.shape[1]
    s = np.empty((B, L, S), q.dtype)
    for b, i, j in _tiles(B, L, S, A):
        t = q[b, i, None, :] + k[b, None, j, :]  # axes b, i, j, A
        np.tanh(t, out=t)
        s[b, i, j] = t @ w
    return s


def backward_twin(q, k, w, g):
    """Compute the gradients of the three inputs in NumPy, from g (B, L, S)."""
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


COMPARED = ("additive", "dot", "general", "scaled")  # by section 38.6 of the textbook


def _as_batches(a, b, w_v):
    """Return a and b with one axis B for all leading axes; w_v; and those axes."""
    dtype = np.result_type(a, b, w_v)
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    B, A = math.prod(leading), len(w_v)
    a, b = (
        np.broadcast_to(x, (*leading, *x.shape[-2:])).reshape(B, x.shape[-2], A)
        for x in (a, b)
    )
    a, b, w_v = (np.ascontiguousarray(x, dtype) for x in (a, b, w_v))
    return a, b, w_v, leading
