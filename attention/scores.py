"""Score functions: one number for each query and key, large where the key suits.

    queries (..., L, Dq), keys (..., S, Dk)  ->  scores (..., L, S)

    function       e_ij                             multiplications
    dot            q_i . k_j                        L S D
    scaled_dot     q_i . k_j / sqrt(D)              L S D
    general        q_i^T W_a k_j                    L Dq Dk + L S Dk
    additive       w_v . tanh(W_q q_i + W_k k_j)    (L Dq + S Dk) A + L S A, and tanh
    concat         v_a . tanh(W_a [q_i; k_j])       the same as additive

The score distinguishes one kind of attention from another. A dot product is fast. A
score with parameters is learned, and compares queries and keys of different widths.
All functions take Tensors or arrays and are differentiable in every argument.

Bahdanau et al. 2015, appendix A.1.2 (additive); Luong et al. 2015, equation 8 (dot,
general, concat); Vaswani et al. 2017, section 3.2.1 (scaled_dot).
"""

import math

import numpy as np

from minigrad import differentiable, linear, matmul, swapaxes, tanh, unsqueeze
from minigrad.shapes import shapes

from .kernels import additive as kernels


@shapes
def dot(queries, keys):
    """e_ij = q_i . k_j    (Luong et al. 2015, eq. 8, "dot")

    queries (..., L, D), keys (..., S, D)  ->  scores (..., L, S)

    With G = dL/de:  dq_i = sum_j g_ij k_j and dk_j = sum_i g_ij q_i, or as matrices

        dQ = G K,    dK = G^T Q
    """
    return matmul(queries, swapaxes(keys, -1, -2))  # sum over D


@shapes
def scaled_dot(queries, keys, scale=None):
    """e_ij = scale q_i . k_j, where scale = 1 / sqrt(D)    (Vaswani et al. 2017, eq. 1)

    queries (..., L, D), keys (..., S, D)  ->  scores (..., L, S)

    If the entries of q and k are independent with mean 0 and variance 1, then q . k has
    variance D, and the softmax of such large scores has almost no gradient. The scaled
    product has variance 1. The queries are scaled and not the scores: L D
    multiplications instead of L S.

        dQ = scale G K,    dK = scale G^T Q
    """
    if scale is None:
        scale = 1 / math.sqrt(max(queries.shape[-1], 1))
    return matmul(queries * scale, swapaxes(keys, -1, -2))


@shapes
def general(queries, keys, W_a):
    """e_ij = q_i^T W_a k_j    (Luong et al. 2015, eq. 8, "general")

    queries (..., L, Dq), keys (..., S, Dk), W_a (Dq, Dk)  ->  scores (..., L, S)

    W_a maps the queries to the space of the keys.

        dQ = G K W_a^T,    dK = G^T Q W_a,    dW_a = sum over the batch of Q^T G K
    """
    return matmul(matmul(queries, W_a), swapaxes(keys, -1, -2))


@shapes
def additive(queries, keys, W_q, W_k, w_v):
    """e_ij = w_v . tanh(W_q q_i + W_k k_j)    (Bahdanau et al. 2015, appendix A.1.2)

    queries (..., L, Dq), keys (..., S, Dk), W_q (A, Dq), W_k (A, Dk), w_v (A,)
        ->  scores (..., L, S)

    Each query and each key is projected once, and not once for every pair.
    ``additive_core`` has the gradients of the rest.
    """
    return additive_core(linear(queries, W_q), linear(keys, W_k), w_v)


@shapes
def concat(queries, keys, W_a, v_a):
    """e_ij = v_a . tanh(W_a [q_i; k_j])    (Luong et al. 2015, eq. 8, "concat")

    queries (..., L, Dq), keys (..., S, Dk), W_a (A, Dq + Dk), v_a (A,)
        ->  scores (..., L, S)

    W_a [q; k] = W_q q + W_k k, where W_q is the first Dq columns of W_a and W_k the
    others. So concat is ``additive``, and is computed as such: the formula as it stands
    would project every query S times and every key L times.
    """
    Dq = queries.shape[-1]
    return additive(queries, keys, W_a[:, :Dq], W_a[:, Dq:], v_a)


def additive_composed(q, k, w_v):
    """e_ij = sum_a w_a tanh(q_ia + k_ja), as a composition of three operations.

    It makes an array (..., L, S, A), which is A times as large as the scores.
    ``additive_core`` computes the same without that array.
    """
    t = tanh(unsqueeze(q, -2) + unsqueeze(k, -3))  # (..., L, 1, A) + (..., 1, S, A)
    return matmul(t, w_v)  # sum over A: (..., L, S)


@shapes
@differentiable
def additive_core(q, k, w_v):
    """e_ij = sum_a w_a tanh(q_ia + k_ja), where q and k are projected already.

    q (..., L, A), k (..., S, A), w_v (A,)  ->  e (..., L, S)

    The same as ``additive_composed``, as one operation: each tanh is used where it is
    computed, and computed again in the backward, which is several times faster than to
    write and read an array (..., L, S, A). With t = tanh(q_i + k_j),
    dt/dq = dt/dk = 1 - t^2 and g = dL/de,

        dw_a = sum_ij g_ij t_a
        dq_ia = w_a sum_j g_ij (1 - t_a^2),    dk_ja = w_a sum_i g_ij (1 - t_a^2)
    """
    dtype = np.result_type(q, k, w_v)
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    Q, K = (_as_batch(x, leading).astype(dtype, copy=False) for x in (q, k))
    w = w_v.astype(dtype, copy=False)
    rows = kernels.prepared(Q, K, w)
    e = kernels.forward(Q, K, w, rows)  # (B, L, S)

    def backward(g):
        dQ, dK, dw = kernels.backward(Q, K, w, g.reshape(e.shape), rows)
        dq = dQ.reshape(*leading, *dQ.shape[1:])  # (..., L, A)
        dk = dK.reshape(*leading, *dK.shape[1:])  # (..., S, A)
        return dq, dk, dw

    return e.reshape(*leading, *e.shape[1:]), backward


def _as_batch(x, leading):
    """Broadcast the leading axes and make them one: (..., n, A) -> (B, n, A)."""
    n, A = x.shape[-2:]
    return np.broadcast_to(x, (*leading, n, A)).reshape(math.prod(leading), n, A)
