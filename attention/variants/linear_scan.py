"""The scan beneath linear attention: a running sum in place of a matrix of weights.

    S_i = sum_j b_j v_j^T   (E, Ev)      z_i = sum_j b_j   (E,)
    o_i = S_i^T a_i / (a_i . z_i + eps)

with the features a = phi(q), b = phi(k), over the keys j <= i, or over all of them. One
key at a time, the causal sums would be n steps of E Ev multiplications, which nothing
but a loop can do. In chunks they are matrix products: the state of all chunks before,
and a small masked product inside a chunk. Written in NumPy here, for all heads at once;
it runs as a compiled kernel (kernels/linear.py, kernels/linear_backward.py).

Katharopoulos et al. 2020, equations 4 to 12, and section 3.3.1 for the gradients. In
chunks: Hua et al. 2022.
"""

import math

import numpy as np

from minigrad import differentiable

from ..kernels import linear as forward_kernel
from ..kernels import linear_backward as backward_kernel
from ..kernels.linear import CHUNK
from ..kernels.product import weighted_sum


@differentiable
def linear_scan(q, k, v, keep=None, *, is_causal, eps, elu=True):
    """o_i = sum_j (a_i . b_j) v_j / (sum_j a_i . b_j + eps): linear attention.

    q (..., L, E), k (..., S, E), v (..., S, Ev)  ->  o (..., L, Ev)

    keep        bool (..., S), False for keys that count for nothing; None: all count
    is_causal   over the keys j <= i only; L is S
    eps         added to the denominator; where it is 0 even so, o_i = 0
    elu         a = elu(q) + 1, b = elu(k) + 1; otherwise q and k are features already

    Backward: with g = dL/do and the denominator c_i + eps, let

        n_i = g_i / (c_i + eps)        d_i = -(g_i . o_i) / (c_i + eps)

    what the loss says about numerator and denominator. Both are sums over the features,

        da_i = S_i n_i + d_i z_i                        sums over j, as in the forward
        db_j = R_j v_j + r_j,    dv_j = R_j^T b_j       with sums over the queries:
        R_j = sum_i a_i n_i^T,   r_j = sum_i d_i a_i    causal, over i >= j

    so R and r grow from the end of the sequence. Of the forward, only o and 1 / (c +
    eps) are kept; S grows a second time. Of phi(x) = elu(x) + 1, which is x + 1 or e^x,
    the slope is min(phi(x), 1). A query whose g is all 0 takes part in nothing.
    """
    q, k, v = np.asarray(q), np.asarray(k), np.asarray(v)
    heads, S = k.shape[:-2], k.shape[-2]
    if keep is not None:
        keep = np.broadcast_to(keep, (*heads, S)).reshape(math.prod(heads), S)
        keep = np.ascontiguousarray(keep)
    Q, K, V = (_flat(x) for x in (q, k, v))  # (N, L, E), (N, S, E), (N, S, Ev)
    how = keep, bool(is_causal), bool(elu)
    shapes = q.shape, k.shape, v.shape
    with np.errstate(all="ignore"):  # NaN and infinity give what they give
        found = forward_kernel.forward(Q, K, V, *how, eps)
        out, share = found or forward_twin(Q, K, V, *how, eps)

    def backward(g, needs):
        wanted = needs[0], needs[1] or needs[2]
        saved = Q, K, V, *how, out, share, _flat(g), *wanted
        with np.errstate(all="ignore"):
            found = backward_kernel.backward(*saved) or backward_twin(*saved)
        dq, dk, dv = (d if d is None else d.reshape(s) for d, s in zip(found, shapes))
        return dq, dk, dv, None

    return out.reshape(*heads, *out.shape[1:]), backward


def forward_twin(q, k, v, keep, causal, elu, eps, chunk=CHUNK):
    """o (N, L, Ev) and 1 / (c + eps) (N, L).  q (N, L, E), k (N, S, E), v (N, S, Ev)"""
    (N, L, E), Ev = q.shape, v.shape[2]
    o, c = np.empty((N, L, Ev), q.dtype), np.empty((N, L), q.dtype)
    state, z = np.zeros((N, E, Ev), q.dtype), np.zeros((N, E), q.dtype)
    if not causal:
        for j in _chunks(k.shape[1], chunk):
            b, v_j = _keys(k, v, keep, j, elu)
            state += _turned(b) @ v_j  # summed over j
            z += b.sum(1)
    for i in _chunks(L, chunk):
        a = _features(q[:, i], elu)  # (N, C, E)
        o[:, i] = a @ state
        c[:, i] = (a @ z[..., None])[..., 0]
        if causal:
            b, v_j = _keys(k, v, keep, i, elu)
            p = _past(a @ _turned(b))  # (N, C, C)
            o[:, i] += weighted_sum(p, v_j)
            c[:, i] += p.sum(-1)
            state += _turned(b) @ v_j
            z += b.sum(1)
    total = c + c.dtype.type(eps)
    share = np.where(total == 0, 0, 1 / total)
    o = np.where(total[..., None] == 0, 0, o / total[..., None])
    return o, share


def backward_twin(q, k, v, keep, causal, elu, o, share, g, queries, keys, chunk=CHUNK):
    """dq, dk, dv; None for those that are not wanted."""
    idle = ~(g != 0).any(-1, keepdims=True)  # (N, L, 1)
    n = np.where(idle, 0, g * share[..., None])  # (N, L, Ev)
    d = np.where(idle, 0, -(g * o).sum(-1, keepdims=True) * share[..., None])
    given = q, k, v, keep, causal, elu, n, d, idle, chunk
    dq = _query_scan(*given) if queries else None
    return dq, *(_key_scan(*given) if keys else (None, None))


def _query_scan(q, k, v, keep, causal, elu, n, d, idle, chunk):
    """dq: the sums S and z of the forward, once more."""
    N, L, E = q.shape
    dq = np.empty_like(q)
    state, z = np.zeros((N, v.shape[2], E), q.dtype), np.zeros((N, 1, E), q.dtype)
    if not causal:
        for j in _chunks(k.shape[1], chunk):
            b, v_j = _keys(k, v, keep, j, elu)
            state += _turned(v_j) @ b  # S^T
            z += b.sum(1, keepdims=True)
    for i in _chunks(L, chunk):
        da = n[:, i] @ state + d[:, i] * z
        if causal:
            b, v_j = _keys(k, v, keep, i, elu)
            t = _past(n[:, i] @ _turned(v_j) + d[:, i])  # (N, C, C): n_i . v_j + d_i
            da += weighted_sum(t, b)
            state += _turned(v_j) @ b
            z += b.sum(1, keepdims=True)
        da = da * _slope(_features(q[:, i], elu), elu)
        dq[:, i] = np.where(idle[:, i], 0, da)
    return dq


def _key_scan(q, k, v, keep, causal, elu, n, d, idle, chunk):
    """dk and dv: the sums R and r, from the end."""
    (N, L, E), (S, Ev) = q.shape, v.shape[1:]
    dk, dv = np.empty_like(k), np.empty_like(v)
    R, r = np.zeros((N, E, Ev), q.dtype), np.zeros((N, 1, E), q.dtype)
    if not causal:
        for i in _chunks(L, chunk):
            a = np.where(idle[:, i], 0, _features(q[:, i], elu))
            R += _turned(a) @ n[:, i]  # summed over i
            r += _turned(d[:, i]) @ a
    for j in reversed(_chunks(S, chunk)):
        b, v_j = _keys(k, v, keep, j, elu)
        dv_j = b @ R
        db = v_j @ _turned(R) + r
        if causal:
            a = np.where(idle[:, j], 0, _features(q[:, j], elu))
            p = _past(a @ _turned(b))
            t = _past(n[:, j] @ _turned(v_j) + d[:, j])
            dv_j += weighted_sum(_turned(p), n[:, j])  # summed over i
            db += weighted_sum(_turned(t), a)
            R += _turned(a) @ n[:, j]
            r += _turned(d[:, j]) @ a
        db = db * _slope(b, elu)
        kept = True if keep is None else keep[:, j, None]
        dk[:, j], dv[:, j] = np.where(kept, db, 0), np.where(kept, dv_j, 0)
    return dk, dv


def _features(x, elu):
    """phi(x) = elu(x) + 1, or what is a feature already."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) if elu else x


def _slope(phi, elu):
    """phi'(x), of phi(x): 1 where phi = x + 1, and e^x = phi below."""
    return np.minimum(phi, 1) if elu else 1


def _keys(k, v, keep, j, elu):
    """b = phi(k) and v of one chunk; rows that are masked are 0, whatever they hold."""
    b, v_j = _features(k[:, j], elu), v[:, j]
    if keep is not None:
        kept = keep[:, j, None]
        b, v_j = np.where(kept, b, 0), np.where(kept, v_j, 0)
    return b, v_j


def _past(p):
    """p_ij where j <= i, else 0, even for NaN."""
    return np.where(np.tri(p.shape[-1], dtype=bool), p, 0)


def _turned(x):
    return x.swapaxes(1, 2)


def _chunks(n, size):
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _flat(x):
    """(..., n, E)  ->  (N, n, E), with numbers side by side."""
    return np.ascontiguousarray(x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:]))
