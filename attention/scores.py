"""Score functions: one number for each pair of a query and a key.

The number s_ij is large when key j matches query i. Attention turns it into a weight.

    function       s_ij                             multiplications
    dot            q_i . k_j                        L S D
    scaled_dot     q_i . k_j / sqrt(D)              L S D
    general        q_i^T W_a k_j                    L Dq Dk + L S Dk
    additive       w_v . tanh(W_q q_i + W_k k_j)    (L Dq + S Dk + L S) A; L S A tanh
    concat         v_a . tanh(W_a [q_i; k_j])       the same as additive

These letters are sizes. A docstring that uses one in another way defines it.

    L    the number of queries         S    the number of keys; each key has one value
    Dq   the width of a query          Dk   the width of a key;  D if both are equal
    Ev   the width of a value          A    the hidden width of additive and concat
    B    the number of examples in a batch
    H    the number of heads, or the width of a recurrent state

A width is the number of entries of a vector. [q; k] is the concatenation of q and k.
W_a is Luong's name for the matrix of a score: in ``general`` it has the shape (Dq, Dk),
in ``concat`` (A, Dq + Dk). In ``tanh_scores`` and ``tanh_scores_definition``, q and k
are queries and keys that are already projected.
``...`` in a shape means any leading axes, such as (B,) or (B, H).

Bahdanau et al. 2015, appendix A.1.2 (additive); Luong et al. 2015, section 3.1 (dot,
general, concat); Vaswani et al. 2017, section 3.2.1 (scaled_dot).
"""

import math

import numpy as np

from minigrad import differentiable, linear, matmul, swapaxes, tanh, unsqueeze
from minigrad.shapes import shapes

from .kernels import additive as additive_kernels


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
    variance D, and the softmax of such large scores has almost no gradient. The scaled
    product has variance 1.

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
def concat(queries, keys, W_a, v_a):
    """s_ij = v_a . tanh(W_a [q_i; k_j])    (Luong et al. 2015, section 3.1, "concat")

    queries (..., L, Dq), keys (..., S, Dk), W_a (A, Dq + Dk), v_a (A,)
        ->  scores (..., L, S)

    This is ``additive`` in Luong's notation: v_a is w_v, the first Dq columns of W_a
    are W_q and the others are W_k, because W_a [q; k] = W_q q + W_k k. A direct
    computation of the formula would project every query S times and every key L times.
    """
    Dq = queries.shape[-1]
    return additive(queries, keys, W_a[:, :Dq], W_a[:, Dq:], v_a)


@shapes
def tanh_scores_definition(q, k, w_v):
    """Compute s_ij = sum_a w_v[a] tanh(q_ia + k_ja) from the operations of minigrad.

    q (..., L, A), k (..., S, A), w_v (A,)  ->  scores (..., L, S)

    The array t is A times as large as the scores. ``tanh_scores`` avoids it.
    """
    t = tanh(unsqueeze(q, -2) + unsqueeze(k, -3))  # (..., L, 1, A) + (..., 1, S, A)
    return matmul(t, w_v)  # sum over A: (..., L, S)


@shapes
@differentiable
def tanh_scores(q, k, w_v):
    """s_ij = sum_a w_v[a] tanh(q_ia + k_ja), for q and k that are already projected.

    q (..., L, A), k (..., S, A), w_v (A,)  ->  scores (..., L, S)

    This is ``tanh_scores_definition`` as one operation. It adds each tanh to its sum at
    once and does not store it; the backward pass computes it again. To write and read
    an array (..., L, S, A) would take several times longer.

    With t_ija = tanh(q_ia + k_ja), whose derivative is 1 - t_ija^2, and g = dL/ds:

        dw_v[a] = sum_ij g_ij t_ija
        dq_ia   = w_v[a] sum_j g_ij (1 - t_ija^2)
        dk_ja   = w_v[a] sum_i g_ij (1 - t_ija^2)
    """
    Q, K, w, leading = _as_batches(q, k, w_v)  # (B, L, A), (B, S, A), (A,)
    s = additive_kernels.forward(Q, K, w)  # (B, L, S)

    def backward(g):
        g = g.reshape(s.shape)  # (B, L, S)
        dQ, dK, dw = additive_kernels.backward(Q, K, w, g)
        dq = dQ.reshape(*leading, *dQ.shape[1:])  # (..., L, A)
        dk = dK.reshape(*leading, *dK.shape[1:])  # (..., S, A)
        return dq, dk, dw

    return s.reshape(*leading, *s.shape[1:]), backward


SCORES = {"dot": dot, "scaled_dot": scaled_dot}  # without parameters, for ``attend``


def _as_batches(q, k, w):
    """Return (q, k, w, leading), where q and k have one axis B for the leading axes."""
    dtype = np.result_type(q, k, w)
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    B, A = math.prod(leading), len(w)
    q, k = (
        np.broadcast_to(x, (*leading, *x.shape[-2:])).reshape(B, x.shape[-2], A)
        for x in (q, k)
    )
    q, k, w = (x.astype(dtype, copy=False) for x in (q, k, w))
    return q, k, w, leading
