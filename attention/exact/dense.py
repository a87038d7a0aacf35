"""Attention by way of the whole matrix of scores: what it is, before it is made small.

    s_ij = cap(scale q_i . k_j)       p_ij = exp(s_ij) / sum_l exp(s_il)
    o_i  = sum_j z_ij p_ij v_j        lse_i = ln sum_l exp(s_il)

in two operations, so that anything may be done to the scores between them. Memory and
time are O(L S). Pairs that may not attend take no part in any sum, forward or backward,
whatever q, k, v or a gradient hold there: 0 * NaN adds nothing here.

Vaswani et al. 2017, equation 1.
"""

import math

import numpy as np

from minigrad import differentiable

from ..kernels import softmax as kernels
from ..kernels.product import idle, weighted_sum


@differentiable
def attention_scores(q, k, scale, softcap=None):
    """s_ij = cap(scale q_i . k_j), where cap(x) = c tanh(x / c) if there is a c.

    q (..., H, L, E), k (..., Hk, S, E)  ->  s (..., H, L, S)

    H is a multiple of Hk: query head h reads key head h // (H / Hk). All queries of a
    group are rows of one product, so no key is repeated, and with g = dL/ds and
    ds_ij = g_ij (1 - tanh^2),

        dq_i = scale sum_j ds_ij k_j,    dk_j = scale sum_i ds_ij q_i

    where the last sum runs over the group as well. A pair whose g is 0 adds nothing.
    """
    q, k = np.asarray(q), np.asarray(k)
    K = _flat(k)  # (N, S, E)
    Q = _grouped(q, K)  # (N, G L, E)
    with np.errstate(all="ignore"):  # NaN and infinity give what they give
        s = (Q * scale) @ K.swapaxes(1, 2)  # (N, G L, S), summed over E
        if softcap is not None:
            t = np.tanh(s / softcap)
            s = softcap * t

    def backward(g):
        with np.errstate(all="ignore"):
            ds = g.reshape(s.shape)
            if softcap is not None:
                ds = np.where(ds != 0, ds * (1 - t * t), 0)
            dq = scale * weighted_sum(ds, K)  # summed over j
            dk = scale * weighted_sum(ds.swapaxes(1, 2), Q)  # over i and the group
        return dq.reshape(q.shape), dk.reshape(k.shape)

    return s.reshape(*q.shape[:-1], k.shape[-2]), backward


@differentiable
def attention_average(s, v, mask=None, z=None):
    """o_i = sum_j z_ij p_ij v_j, p the softmax of s over what the mask allows.

    s (..., H, L, S), v (..., Hk, S, Ev)
        ->  o (..., H, L, Ev), p (..., H, L, S), lse (..., H, L)

    mask   bool, broadcasts to s, True = may attend
    z      what p is multiplied by, as dropout does, of the shape of s

    A query with no key has p = 0, o = 0 and lse = -inf.

    With dL/do = g, dL/dp = gp and dL/dlse = gl, as dp_ij/ds_il = p_ij (d_jl - p_il) and
    dlse_i/ds_ij = p_ij,

        dp_ij = z_ij g_i . v_j + gp_ij,    dz_ij = p_ij g_i . v_j
        ds_ij = p_ij (dp_ij - sum_l p_il dp_il + gl_i),    dv_j = sum_i z_ij p_ij g_i
    """
    s, v = np.asarray(s), np.asarray(v)
    with np.errstate(all="ignore"):
        p = kernels.forward(s, None, mask, 1.0)
        lse = _log_of_sum(s, p)  # (..., H, L)
        if mask is not None and np.isnan(lse).any():
            p = np.where(mask, p, 0)  # a row that is NaN is so where it attends
        V = _flat(v)  # (N, S, Ev)
        weights = p if z is None else p * z
        W = _grouped(weights, V)  # (N, G L, S)
        # a weight that is too small to be told from 0 is no mask: then NaN is found
        average = np.matmul if mask is None and z is None else weighted_sum
        o = average(W, V)  # (N, G L, Ev), summed over j

    def asked(g, gp, gl):
        """p and W without the rows that take no part, as no gradient comes for them."""
        rows = idle(o.reshape(g.shape), lse, g, gp, gl)
        if rows is None:
            return p, W
        kept = np.where(rows[..., None], 0, p)
        return kept, np.where(_grouped(rows[..., None], V), 0, W)

    def backward(g, needs):
        g, gp, gl = g
        G, dz = g.reshape(o.shape), None
        with np.errstate(all="ignore"):
            p_g, W_g = asked(g, gp, gl)
            dp = (G @ V.swapaxes(1, 2)).reshape(s.shape)  # summed over Ev
            if z is not None:
                dz = np.where(p_g != 0, p_g * dp, 0) if needs[3] else None
                dp = np.where(z != 0, dp * z, 0)
            ds = kernels.backward(p_g, dp + gp if gp.any() else dp, 1.0)
            if gl.any():
                ds += np.where(p_g != 0, p_g * gl[..., None], 0)
            dv = average(W_g.swapaxes(1, 2), G)  # summed over i and the group
        return ds, dv.reshape(v.shape), None, dz

    return (o.reshape(*s.shape[:-1], v.shape[-1]), p, lse), backward


def _log_of_sum(s, p):
    """ln sum_j exp(s_j) = s_j - ln p_j for any j; the largest p_j is the most exact."""
    if not s.shape[-1]:
        return np.full(s.shape[:-1], -np.inf, s.dtype)
    j = p.argmax(-1)[..., None]
    s_j, p_j = (np.take_along_axis(x, j, -1)[..., 0] for x in (s, p))
    return np.where(p_j == 0, -np.inf, s_j - np.log(p_j))


def _flat(x):
    """(..., n, E)  ->  (N, n, E)"""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _grouped(x, keys):
    """(..., H, L, E)  ->  (N, G L, E), where keys (N, S, E) have heads for G of x's."""
    rows = math.prod(x.shape[:-1]) // max(len(keys), 1)
    return x.reshape(len(keys), rows, x.shape[-1])
