"""The score functions: how well does a key suit a query?

    queries (..., L, Dq), keys (..., S, Dk)  ->  scores (..., L, S)

Leading axes are broadcast. All functions take Tensors or arrays, and are differentiable
in every argument. Costs are in multiplications, for one example.

    dot, scaled_dot    q . k, q . k / sqrt(D)             L S D
    general            q^T W_a k                          L Dq Dk + L S Dk
    additive, concat   w_v . tanh(W_q q + W_k k)          (L Dq + S Dk) A + L S A, tanh

A score is what tells one kind of attention from another: products are fast, and a
learned one fits queries and keys of two widths. Bahdanau et al. 2015, appendix A.1.2
(additive); Luong et al. 2015, equation 8 (dot, general, concat); Vaswani et al. 2017.
"""

import math

import numpy as np

from minigrad import Tensor, differentiable, linear, matmul, swapaxes

from .checks import leading_axes, tensor
from .kernels import additive as kernels


def dot(queries, keys):
    """e_ij = q_i . k_j    (Luong et al. 2015, eq. 8, "dot")

    queries (..., L, D), keys (..., S, D)  ->  (..., L, S)

    Cost L S D. With g = dL/de: dq_i = sum_j g_ij k_j and dk_j = sum_i g_ij q_i, that is
    dQ = G K and dK = G^T Q.
    Raises ValueError when queries and keys differ in width.
    """
    queries, keys = _rows("dot", queries, keys)
    _same_width("dot", queries, keys)
    return matmul(queries, swapaxes(keys, -1, -2))  # summed over D


def scaled_dot(queries, keys, scale=None):
    """e_ij = scale q_i . k_j, where scale = 1 / sqrt(D)    (Vaswani et al. 2017, eq. 1)

    queries (..., L, D), keys (..., S, D)  ->  (..., L, S)

    If the entries of q and k are independent with mean 0 and variance 1, q . k has the
    variance D, and softmax of large scores passes hardly any gradient on; scaled, the
    variance is 1. Cost L S D + L D, as the queries are scaled and not the scores.
    dQ = scale G K, dK = scale G^T Q.
    Raises ValueError when queries and keys differ in width.
    """
    queries, keys = _rows("scaled_dot", queries, keys)
    _same_width("scaled_dot", queries, keys)
    if scale is None:
        scale = 1 / math.sqrt(max(queries.shape[-1], 1))
    return matmul(queries * scale, swapaxes(keys, -1, -2))


def general(queries, keys, W_a):
    """e_ij = q_i^T W_a k_j    (Luong et al. 2015, eq. 8, "general")

    queries (..., L, Dq), keys (..., S, Dk), W_a (Dq, Dk)  ->  (..., L, S)

    Cost L Dq Dk + L S Dk: the queries are carried over into the space of the keys.
    dQ = G K W_a^T, dK = G^T Q W_a and, summed over the batch, dW_a = Q^T G K.
    Raises ValueError when W_a is not (Dq, Dk).
    """
    queries, keys = _rows("general", queries, keys)
    Dq, Dk = queries.shape[-1], keys.shape[-1]
    W_a = _matrix("general", "W_a", W_a, (Dq, Dk), "(Dq, Dk)", queries, keys)
    return matmul(matmul(queries, W_a), swapaxes(keys, -1, -2))


def additive(queries, keys, W_q, W_k, w_v):
    """e_ij = w_v . tanh(W_q q_i + W_k k_j)    (Bahdanau et al. 2015, appendix A.1.2)

    queries (..., L, Dq), keys (..., S, Dk), W_q (A, Dq), W_k (A, Dk), w_v (A,)
        ->  (..., L, S)

    Cost L Dq A + S Dk A + L S A, the last with a tanh each: each query and each key is
    projected once, not once for every pair. Widths may differ. The gradients of the
    projected queries and keys (``additive_core``) go on through the two projections.
    Raises ValueError when the shapes of the parameters do not fit.
    """
    queries, keys = _rows("additive", queries, keys)
    Dq, Dk = queries.shape[-1], keys.shape[-1]
    w_v = _vector("additive", "w_v", w_v)
    A = w_v.shape[0]
    W_q = _matrix("additive", "W_q", W_q, (A, Dq), "(A, Dq)", queries, keys)
    W_k = _matrix("additive", "W_k", W_k, (A, Dk), "(A, Dk)", queries, keys)
    return additive_core(linear(queries, W_q), linear(keys, W_k), w_v)


def concat(queries, keys, W_a, v_a):
    """e_ij = v_a . tanh(W_a [q_i; k_j])    (Luong et al. 2015, eq. 8, "concat")

    queries (..., L, Dq), keys (..., S, Dk), W_a (A, Dq + Dk), v_a (A,)  ->  (..., L, S)

    W_a [q; k] = W_q q + W_k k, where W_q is the first Dq columns of W_a and W_k the
    others. So this is ``additive``, and is computed as such: written as it stands, it
    would project every query S times and every key L times.
    Raises ValueError when the shapes of the parameters do not fit.
    """
    queries, keys = _rows("concat", queries, keys)
    Dq, Dk = queries.shape[-1], keys.shape[-1]
    v_a = _vector("concat", "v_a", v_a)
    shape = (v_a.shape[0], Dq + Dk)
    W_a = _matrix("concat", "W_a", W_a, shape, "(A, Dq + Dk)", queries, keys)
    return additive(queries, keys, W_a[:, :Dq], W_a[:, Dq:], v_a)


@differentiable
def additive_core(q, k, w_v):
    """e_ij = sum_a w_a tanh(q_ia + k_ja): ``additive``, of what is projected already.

    q (..., L, A), k (..., S, A), w_v (A,)  ->  e (..., L, S)

    With t = tanh(q_i + k_j), dt/dq = dt/dk = 1 - t^2 and g = dL/de,

        dw_a = sum_ij g_ij t_a
        dq_ia = w_a sum_j g_ij (1 - t_a^2),    dk_ja = w_a sum_i g_ij (1 - t_a^2)

    No array (..., L, S, A) is ever made; t is computed again in the backward. Pairs
    with g_ij = 0, which is what masked keys have, are left out there, so that what
    stands in the padding cannot come through as 0 * NaN.
    Raises ValueError when the widths differ, or leading axes do not broadcast.
    """
    q, k, w_v = np.asarray(q), np.asarray(k), np.asarray(w_v)
    if (
        min(q.ndim, k.ndim) < 2
        or w_v.shape != q.shape[-1:]
        or w_v.shape != k.shape[-1:]
    ):
        raise ValueError(
            f"additive_core: q has shape {q.shape}, k {k.shape} and w_v {w_v.shape}; "
            "expected (…, L, A), (…, S, A) and (A,), with one A."
        )
    found = f"additive_core: q has shape {q.shape} and k {k.shape}"
    leading = leading_axes(found, q.shape[:-2], k.shape[:-2])
    dtype = np.result_type(q, k, w_v)
    if dtype.kind != "f":
        raise TypeError(
            f"additive_core: q, k and w_v make {dtype}; expected floating-point "
            "numbers. Write 1.0 for 1, or use .astype(np.float32)."
        )
    Q, K = (_batch(x, leading).astype(dtype, copy=False) for x in (q, k))  # (B, ·, A)
    w = w_v.astype(dtype, copy=False)
    rows = kernels.prepared(Q, K, w)
    e = kernels.forward(Q, K, w, rows)  # (B, L, S)

    def backward(g):
        dq, dk, dw = kernels.backward(Q, K, w, g.reshape(e.shape), rows)
        return _unbatched(dq, leading), _unbatched(dk, leading), dw

    return e.reshape(*leading, *e.shape[1:]), backward


def _batch(x, leading):
    """(..., n, A)  ->  (B, n, A), one batch axis for all leading ones."""
    x = x if x.shape[:-2] == leading else np.broadcast_to(x, (*leading, *x.shape[-2:]))
    return x.reshape(math.prod(leading), *x.shape[-2:])


def _unbatched(x, leading):
    """(B, n, A)  ->  (..., n, A)"""
    return x if x.shape[:-2] == leading else x.reshape(*leading, *x.shape[-2:])


def _rows(name, queries, keys):
    """Both as Tensors of rows, with leading axes that fit."""
    queries, keys = tensor(name, "queries", queries), tensor(name, "keys", keys)
    found = f"{name}: queries have shape {queries.shape} and keys {keys.shape}"
    if queries.ndim < 2 or keys.ndim < 2:
        raise ValueError(
            f"{found}; expected (…, L, Dq) and (…, S, Dk). A single vector x is "
            "x[None, :], one row."
        )
    leading_axes(found, queries.shape[:-2], keys.shape[:-2])
    return queries, keys


def _same_width(name, queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"{name}: needs queries and keys of one width; queries {queries.shape}, "
            f"keys {keys.shape}: use general or additive."
        )


def _vector(name, parameter, value):
    value = value if isinstance(value, Tensor) else Tensor(value)
    if value.ndim != 1:
        raise ValueError(
            f"{name}: {parameter} has shape {value.shape}; expected (A,), a vector."
        )
    return value


def _matrix(name, parameter, value, expected, letters, queries, keys):
    value = value if isinstance(value, Tensor) else Tensor(value)
    if value.shape != expected:
        raise ValueError(
            f"{name}: {parameter} has shape {value.shape}; expected {letters} = "
            f"{expected} for queries {queries.shape} and keys {keys.shape}."
        )
    return value
