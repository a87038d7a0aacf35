"""FlashAttention: exact attention that never has a matrix of scores.

    s_ij = cap(scale q_i . k_j) + b_ij      p_ij = exp(s_ij) / sum_l exp(s_il)
    o_i  = sum_j p_ij v_j                   lse_i = ln sum_l exp(s_il)

Queries and keys are cut into blocks, and the tiles of scores of one block against
another are computed, used and dropped, so that the memory is O(L + S) and not O(L S).
A sum over keys can be taken a block at a time if what has been summed is rescaled
whenever a larger score turns up (the online softmax):

    m' = max(m, max_j s_j)                      over the keys j of this block
    l' = exp(m - m') l + sum_j exp(s_j - m')
    O' = exp(m - m') O + sum_j exp(s_j - m') v_j

begins with m = -inf, l = 0, O = 0 and ends with o = O / l, lse = m + ln l. Tiles that
the mask empties are not visited. What is written here in NumPy, one tile at a time,
runs as a compiled kernel (kernels/tiled_forward.py, tiled_backward.py).

Dao et al. 2022; Dao 2023, algorithms 1 and 2; the online softmax is Milakov and
Gimelshein 2018.
"""

import math

import numpy as np

from minigrad import differentiable

from ..kernels import dropout, tiled_backward, tiled_forward
from ..kernels.compiling import as_field
from ..kernels.tile_plan import SIZE, row_of
from ..kernels.product import idle, weighted_sum
from ..kernels.tile import Terms


@differentiable
def flash_attention(
    q, k, v, offset=None, added=None, *, plan, scale, softcap=None, draws=None
):
    """Attention over the tiles of a plan: o, and lse, the log of each row's sum.

    q (..., H, L, E), k (..., Hk, S, E), v (..., Hk, S, Ev)
        ->  o (..., H, L, Ev), lse (..., H, L)

    offset    (H | 1, L + S - 1): b_ij = offset[j - i + L - 1], as of ``toeplitz``
    added     (..., H | 1, L | 1, S | 1): a float mask, a bias
    plan      of kernels/tile_plan.py, for as many heads as there are
    scale     a number
    softcap   c, for cap(x) = c tanh(x / c)
    draws     of kernels/dropout.py: which of the weights p are dropped from o

    H is a multiple of Hk: query head h reads key head h // (H / Hk). A query with no
    key has o = 0 and lse = -inf.

    Backward: nothing but q, k, v, o and two numbers a query was kept; p is computed
    again. With g = dL/do and gl = dL/dlse, as dp_ij = g_i . v_j and dlse/ds_ij = p_ij,

        ds_ij = p_ij (dp_ij - sum_l p_il dp_il + gl_i) = p_ij (dp_ij - D_i)
        D_i   = g_i . o_i - gl_i          since sum_l p_il (g_i . v_l) = g_i . o_i
        dv_j  = sum_i p_ij g_i            db_ij = ds_ij
        dq_i  = scale sum_j ds_ij c_ij k_j,   dk_j = scale sum_i ds_ij c_ij q_i

    where c_ij = 1 - tanh^2 is the slope of the cap. Dropout z stands between p and v,
    o_i = sum_j z_ij p_ij v_j: then dp_ij = z_ij g_i . v_j and dv_j = sum_i z_ij p_ij
    g_i, with z drawn again. A pair that may not attend takes no part in any of these
    sums, whatever q, k, v or g hold there.
    """
    q, k, v = np.asarray(q), np.asarray(k), np.asarray(v)
    heads, L, (S, Ev) = q.shape[:-2], q.shape[-2], v.shape[-2:]
    Q, K, V = (_flat(x) for x in (q, k, v))  # (N, L, E), (N / G, S, E), (N / G, S, Ev)
    terms = _terms(Q.dtype, heads, L, S, offset, added, scale, softcap)
    with np.errstate(all="ignore"):  # NaN and infinity give what they give
        given = Q, K, V, terms, plan, draws or dropout.none(Q.dtype)
        found = tiled_forward.forward(*given)
        out, lse, m, share = found or forward_twin(*given)

    def backward(g, needs):
        do, dlse = _flat(g[0]), g[1].reshape(lse.shape)
        wanted = needs[3:4] == (True,), needs[4:5] == (True,)
        kept, rows = (Q, out, m, share), idle(out, lse, do, dlse)
        if rows is not None:  # they count for nothing: a share of 0 is no pair at all
            kept = [np.where(rows[..., None], 0, x) for x in (Q, out)]
            kept += [np.where(rows, 0, x) for x in (m, share)]
        saved = kept[0], *given[1:], *kept[1:], do, dlse, *wanted
        with np.errstate(all="ignore"):
            found = tiled_backward.backward(*saved)
            dq, dk, dv, doffset, dadded = found or backward_twin(*saved)
        if doffset is not None:  # as in Terms: backwards, and padded
            doffset = doffset[:, : offset.shape[1]][:, ::-1]
            doffset = doffset.reshape(*(heads or (1,)), offset.shape[1])
        if dadded is not None:
            dadded = dadded.reshape(*heads, *dadded.shape[1:])
        shaped = (d.reshape(x.shape) for d, x in ((dq, q), (dk, k), (dv, v)))
        return *shaped, doffset, dadded

    return (out.reshape(*heads, L, Ev), lse.reshape(*heads, L)), backward


def forward_twin(q, k, v, terms, plan, draws):
    """o (N, L, Ev), lse, m and 1 / l (N, L): Dao 2023, algorithm 1.

    q (N, L, E), k (N / G, S, E), v (N / G, S, Ev)
    """
    (N, L, _), (H, S, Ev) = q.shape, v.shape
    o = np.zeros((N, L, Ev), q.dtype)
    m = np.full((N, L), -np.inf, q.dtype)
    l = np.zeros((N, L), q.dtype)  # noqa: E741
    for n, h, i, j, allowed in _tiles(plan, N, L, H, S):
        s, _ = _scores(q[n, i], k[h, j], terms, n, i, j, S)  # (Tq, Tk)
        s = np.where(allowed, s, -np.inf)
        top = np.maximum(m[n, i], s.max(-1))
        # (-inf) - (-inf) would be NaN where a query has met no key yet
        m_new = np.where(top == -np.inf, 0, top)
        alpha = np.exp(m[n, i] - m_new)
        p = np.exp(s - m_new[:, None])
        l[n, i] = alpha * l[n, i] + p.sum(-1)
        zp, kept = _dropped(p, allowed, draws, n, i, j)
        o[n, i] = alpha[:, None] * o[n, i] + _product(zp, v[h, j], kept)
        m[n, i] = top
    empty = l == 0
    l[empty], m[empty] = 1, 0
    o /= l[..., None]
    lse = np.where(empty, -np.inf, m + np.log(l))
    return o, lse, m, np.where(empty, 0, 1 / l)


def backward_twin(q, k, v, terms, plan, draws, o, m, share, do, dlse, offsets, masks):
    """dq, dk, dv; doffset (N, L + S - 1 + 64), as in Terms; dadded (N, L | 1, S).

    Dao 2023, algorithm 2. ``offsets`` and ``masks``: whether to give the last two.
    """
    (N, L, _), (H, S, _) = q.shape, k.shape
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    doffset = np.zeros((N, terms.offset.shape[1]), q.dtype) if offsets else None
    dadded = np.zeros((N, *terms.added.shape[1:]), q.dtype) if masks else None
    D = _dots(do, o, plan.size) - dlse  # (N, L)
    for n, h, i, j, allowed in _tiles(plan, N, L, H, S):
        s, slope = _scores(q[n, i], k[h, j], terms, n, i, j, S)  # (Tq, Tk)
        p = np.exp(s - m[n, i, None]) * share[n, i, None]
        p = np.where(allowed & (share[n, i, None] != 0), p, 0)
        dp, _ = _dropped(do[n, i] @ v[h, j].T, allowed, draws, n, i, j)
        ds = np.where(p != 0, p * (dp - D[n, i, None]), 0)
        zp, kept = _dropped(p, allowed, draws, n, i, j)
        dv[h, j] += _product(zp.T, do[n, i], kept)  # summed over i
        if offsets:
            np.add.at(doffset[n], _distance(i, j, S), ds)
        if masks and dadded.shape[1] == 1:
            dadded[n, 0, j] += ds.sum(0)  # summed over i: one row for all queries
        elif masks:
            dadded[n, i, j] = ds
        ds = np.where(ds != 0, terms.scale * ds * slope, 0)
        dk[h, j] += _product(ds.T, q[n, i], allowed)  # summed over i
        dq[n, i] += _product(ds, k[h, j], allowed)  # summed over j
    return dq, dk, dv, doffset, dadded


def _tiles(plan, N, L, H, S):
    """Yield n, h, i, j, allowed: each head's tiles, i and j slices of queries and keys.

    allowed   bool (Tq, Tk): which of the pairs may attend
    """
    T, G = plan.size, N // max(H, 1)
    for n in range(N):
        row = plan.row_of[n]
        for block, (first, last) in enumerate(zip(plan.first[row], plan.last[row])):
            i = slice(block * T, min(block * T + T, L))
            lo, hi = plan.lo[row, i, None], plan.hi[row, i, None]
            for e in range(first, last):
                j = slice(plan.blocks[e] * T, min(plan.blocks[e] * T + T, S))
                key = np.arange(j.start, j.stop)
                allowed = (lo <= key) & (key < hi)
                if plan.tile[e] >= 0:
                    bits = plan.bits[plan.tile[e], : len(key)]
                    allowed &= (bits >> np.arange(i.stop - i.start)[:, None]) & 1 == 1
                yield n, n // G, i, j, allowed


def _product(p, v, allowed):
    """p @ v; in a tile with masked pairs, a 0 keeps NaN out."""
    return p @ v if allowed.all() else weighted_sum(p, v)


def _dropped(p, allowed, draws, n, i, j):
    """p times z, and which are neither masked nor dropped."""
    if not draws.drop:
        return p, allowed
    z = dropout.mask(draws, n, i, j)  # (Tq, Tk)
    return np.where(z != 0, p * z, 0), allowed & (z != 0)


def _scores(q, k, terms, n, i, j, S):
    """The scores of a tile before any masking, and the slope of the softcap."""
    s, slope = (q * terms.scale) @ k.T, 1
    if terms.cap > 0:
        t = np.tanh(s / terms.cap)
        s, slope = terms.cap * t, 1 - t * t
    if len(terms.offset):
        s = s + terms.offset[terms.offset_of[n]][_distance(i, j, S)]
    if len(terms.added):
        added = terms.added[terms.added_of[n]]
        s = s + (added[:, j] if len(added) == 1 else added[i, j])
    return s, slope


def _dots(x, y, size):
    """x_i . y_i for all i, rounded as the products of tiles are: (N, L).

    So dp and D are equal, and not nearly so, where a query has one key.
    """
    dots = np.empty(x.shape[:-1], x.dtype)
    for i in range(0, x.shape[1], size):
        products = x[:, i : i + size] @ y[:, i : i + size].swapaxes(1, 2)
        dots[:, i : i + size] = np.diagonal(products, axis1=1, axis2=2)
    return dots


def _distance(i, j, S):
    """The column of each pair in ``Terms.offset``: q - k + S - 1."""
    return np.arange(i.start, i.stop)[:, None] - np.arange(j.start, j.stop) + S - 1


def _terms(dtype, heads, L, S, offset, added, scale, softcap):
    """What is done to the scores besides masking, as the kernels take it."""
    table, offset_of = np.zeros((0, 0), dtype), np.zeros(math.prod(heads), int)
    if offset is not None:
        table = np.zeros((len(offset), max(L + S - 1, 0) + SIZE), dtype)
        table[:, : max(L + S - 1, 0)] = offset[:, ::-1]
        offset_of = row_of(offset.shape[:1], heads or (1,))
    rows, added_of = np.zeros((0, 1, S), dtype), np.zeros(math.prod(heads), int)
    if added is not None:
        added = added.reshape((1,) * (2 - added.ndim) + added.shape)
        rows = np.broadcast_to(added, (*added.shape[:-1], S))
        rows = rows.reshape(math.prod(added.shape[:-2]), added.shape[-2], S)
        added_of = row_of(added.shape[:-2], heads)
    return Terms(
        dtype.type(scale),
        dtype.type(softcap or 0),
        as_field(table, dtype),
        as_field(offset_of, int),
        as_field(rows, dtype),
        as_field(added_of, int),
    )


def _flat(x):
    """(..., n, E)  ->  (N, n, E), with numbers side by side."""
    return np.ascontiguousarray(x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:]))
