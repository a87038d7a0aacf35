"""Compute attention with the whole matrix of scores, in two operations.

    q (..., H, L, E), k (..., Hk, S, E), v (..., Hk, S, Ev)  ->  o (..., H, L, Ev)

    s_ij = cap(scale q_i . k_j)                            attention_scores
    p_ij = exp(s_ij) / sum_l exp(s_il)                     attention_average
    o_i  = sum_j z_ij p_ij v_j        lse_i = ln sum_l exp(s_il)

where cap(x) = c tanh(x / c) for a softcap c, otherwise x, and z is dropout. The scores
can be changed in any way between the two operations, by biases for example. Memory
and time are O(L S); ``flash.py`` computes the same in O(L + S) memory.

Vaswani et al. 2017, equation 1.
"""

import math

import numpy as np

from minigrad import differentiable

from ..kernels import softmax as kernels


@differentiable
def attention_scores(q, k, scale, softcap=None):
    """s_ij = cap(scale q_i . k_j), where cap(x) = c tanh(x / c) for a softcap c.

    q (..., H, L, E), k (..., Hk, S, E)  ->  s (..., H, L, S)

    E is the width of a query and of a key. H = G Hk. The G query heads with the
    same h // G use the same key head. Their queries are the rows of one product, so no
    key is copied. With g = dL/ds and t = tanh(scale q_i . k_j / c), whose slope is
    1 - t^2,

        ds_ij = g_ij (1 - t_ij^2)
        dq_i  = scale sum_j ds_ij k_j,    dk_j = scale sum_i ds_ij q_i

    The sum over i includes all heads of the group.
    """
    K = flatten_batch(k)  # (N, S, E): N key heads of all examples
    Q = group_heads(q, K)  # (N, G L, E)
    s = (Q * scale) @ K.swapaxes(1, 2)  # (N, G L, S): sum over E
    if softcap is not None:
        t = np.tanh(s / softcap)
        s = softcap * t

    def backward(g):
        ds = g.reshape(s.shape)
        if softcap is not None:
            ds = ds * (1 - t * t)
        dq = scale * (ds @ K)  # sum over j
        dk = scale * (ds.swapaxes(1, 2) @ Q)  # sum over i and the group
        return dq.reshape(q.shape), dk.reshape(k.shape)

    return s.reshape(*q.shape[:-1], k.shape[-2]), backward


@differentiable
def attention_average(s, v, mask=None, z=None):
    """o_i = sum_j z_ij p_ij v_j, where p is the softmax of s over the allowed keys.

    s (..., H, L, S), v (..., Hk, S, Ev)
        ->  o (..., H, L, Ev), p (..., H, L, S), lse (..., H, L)

    mask   bool, broadcasts to s, True = may attend
    z      the factor of each weight in dropout, 0 or 1 / (1 - dropout_p); as s

    A query with no allowed key has p = 0, o = 0 and lse = -inf.

    The derivative of p by s is that of ``minigrad/ops/softmax.py``, and dlse_i/ds_ij is
    p_ij. So with g = dL/do, gp = dL/dp and gl = dL/dlse,

        dp_ij = z_ij g_i . v_j + gp_ij,    dz_ij = p_ij g_i . v_j
        ds_ij = p_ij (dp_ij - sum_l p_il dp_il + gl_i)
        dv_j  = sum_i z_ij p_ij g_i
    """
    p = kernels.forward(s, None, mask, 1.0)  # (..., H, L, S)
    V = flatten_batch(v)  # (N, S, Ev)
    zp = group_heads(p if z is None else z * p, V)  # (N, G L, S)
    o = zp @ V  # (N, G L, Ev): sum over j

    def backward(g):
        g, gp, gl = g
        G = g.reshape(o.shape)
        gv = (G @ V.swapaxes(1, 2)).reshape(s.shape)  # g_i . v_j, sum over Ev
        dp, dz = (gv + gp, None) if z is None else (z * gv + gp, p * gv)
        ds = kernels.backward(p, dp, 1.0) + p * gl[..., None]
        dv = zp.swapaxes(1, 2) @ G  # sum over i and the group
        return ds, dv.reshape(v.shape), None, dz

    return (o.reshape(*s.shape[:-1], v.shape[-1]), p, log_sum_exp(s, p)), backward


def log_sum_exp(s, p):
    """Return lse = ln sum_j exp(s_j) = s_j - ln p_j, at the j of the largest p_j.

    s and p (..., S), the scores and their softmax; lse (...)
    """
    if s.shape[-1] == 0:
        return np.full(s.shape[:-1], -np.inf, s.dtype)
    j = p.argmax(-1)[..., None]
    s_j, p_j = (np.take_along_axis(x, j, -1)[..., 0] for x in (s, p))
    is_empty = p_j == 0  # no key is allowed
    return np.where(is_empty, -np.inf, s_j - np.log(np.where(is_empty, 1, p_j)))


def flatten_batch(x):
    """Merge all leading axes into one: (..., n, E)  ->  (N, n, E)."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def group_heads(x, keys):
    """Merge the rows of the G heads that share a key head into one axis.

    x (..., H, L, E), keys (N, S, E)  ->  (N, G L, E)

    These heads follow each other, so a reshape is enough.
    """
    N, E = len(keys), x.shape[-1]
    rows = math.prod(x.shape[:-1]) // max(N, 1)  # G L
    return x.reshape(N, rows, E)
