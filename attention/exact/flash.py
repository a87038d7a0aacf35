"""FlashAttention: exact attention without the matrix of scores.

    s_ij = scale q_i . k_j + b_ij           p_ij = exp(s_ij) / sum_t exp(s_it)
    o_i  = sum_j p_ij v_j                   lse_i = ln sum_t exp(s_it)

Queries and keys are cut into blocks. The scores of one block of queries and one block
of keys are a tile. Each tile is computed and used, but not stored, so the memory is
O(L + S) and not O(L S). The sum over the keys is computed block by block: when a larger
score appears, the sum so far is rescaled (the online softmax):

    m' = max(m, max_j s_j)                      over the keys j of this block
    l' = exp(m - m') l + sum_j exp(s_j - m')
    O' = exp(m - m') O + sum_j exp(s_j - m') v_j

O is a sum of values, l of weights. m, l and O begin as -inf, 0 and 0, and at the end
o = O / l and lse = m + ln l. Tiles in which no pair is allowed are skipped.
``forward_twin`` and ``backward_twin`` are in NumPy, for N heads of queries and Nk heads
of keys; their compiled forms are kernels/tiled_forward.py and tiled_backward.py.

Dao et al. 2022; Dao 2023, algorithms 1 and 2; the online softmax is Milakov and
Gimelshein 2018.
"""

import math

import numpy as np

from minigrad import differentiable

from ..kernels import dropout, tiled_backward, tiled_forward
from ..kernels.compiling import as_field
from ..kernels.tile import Terms
from ..kernels.tile_plan import SIZE, row_of


@differentiable
def flash_attention(
    q,
    k,
    v,
    offset=None,
    added=None,
    *,
    plan,
    scale,
    draws=None,
    needs=(True,) * 5,
):
    """Compute attention over the tiles of a plan.

    q (..., H, L, E), k (..., Hk, S, E), v (..., Hk, S, Ev)
        ->  o (..., H, L, Ev), lse (..., H, L)

    offset    (H | 1, L + S - 1): a bias by offset, b_ij = offset[h, j - i + L - 1]
    added     (..., H | 1, L | 1, S | 1): a float mask or a bias
    plan      the result of ``tile_plan``: the tiles of each head
    scale     a number
    draws     the result of ``dropout.draws``: which weights p are dropped

    H is a multiple of Hk: query head h reads key head h // (H / Hk). A query with no
    allowed key has o = 0 and lse = -inf.

    For the backward pass, q, k, v, o, m_i and 1 / l_i are kept, and p is computed
    again. Let g = dL/do and gl = dL/dlse:

        dp_ij = g_i . v_j                 dlse_i/ds_ij = p_ij
        ds_ij = p_ij (dp_ij - sum_t p_it dp_it + gl_i) = p_ij (dp_ij - D_i)
        D_i   = g_i . o_i - gl_i          because sum_t p_it (g_i . v_t) = g_i . o_i
        dv_j  = sum_i p_ij g_i            db_ij = ds_ij
        dq_i  = scale sum_j ds_ij k_j,    dk_j = scale sum_i ds_ij q_i

    The sums over i include all query heads that share the key head. Dropout, which is
    drawn again, has a factor z_ij for each weight: o_i = sum_j z_ij p_ij v_j, and then
    dp_ij = z_ij g_i . v_j and dv_j = sum_i z_ij p_ij g_i.
    """
    heads, L, (S, Ev) = q.shape[:-2], q.shape[-2], v.shape[-2:]
    # (N, L, E), (Nk, S, E), (Nk, S, Ev): all heads of all examples
    Q, K, V = (_heads(x) for x in (q, k, v))
    terms = _terms(Q.dtype, heads, L, S, offset, added, scale)
    inputs = Q, K, V, terms, plan, draws or dropout.none(Q.dtype)
    # the compiled function returns None if its twin should run
    o, lse, m, inv_sum = tiled_forward.forward(*inputs) or forward_twin(*inputs)

    def backward(g):
        do, dlse = _heads(g[0]), g[1].reshape(lse.shape)
        wants_offset = offset is not None and needs[3]
        wants_added = added is not None and needs[4]
        saved = *inputs, o, m, inv_sum, do, dlse, wants_offset, wants_added
        gradients = tiled_backward.backward(*saved) or backward_twin(*saved)
        dq, dk, dv, doffset, dadded = gradients
        if doffset is not None:  # in the order of _terms, with its padding
            doffset = doffset[:, : offset.shape[1]][:, ::-1]
            doffset = doffset.reshape(*(heads or (1,)), offset.shape[1])
        if dadded is not None:
            dadded = dadded.reshape(*heads, *dadded.shape[1:])
        dq, dk, dv = dq.reshape(q.shape), dk.reshape(k.shape), dv.reshape(v.shape)
        return dq, dk, dv, doffset, dadded

    return (o.reshape(*heads, L, Ev), lse.reshape(*heads, L)), backward


def _heads(x):
    """Merge all leading axes into one: (..., n, E)  ->  (N, n, E), contiguous."""
    x = np.ascontiguousarray(x)
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def forward_twin(q, k, v, terms, plan, draws):
    """Return o (N, L, Ev), lse, m and 1 / l (N, L): Dao 2023, algorithm 1.

    q (N, L, E), k (Nk, S, E), v (Nk, S, Ev). For a query without keys, the results are
    0, -inf, 0 and 0.
    """
    (N, L, _), (Nk, S, Ev) = q.shape, v.shape
    o = np.zeros((N, L, Ev), q.dtype)
    m = np.full((N, L), -np.inf, q.dtype)
    l = np.zeros((N, L), q.dtype)  # noqa: E741
    for n, h, i, j, allowed in _tiles(plan, N, L, Nk, S):
        s = _scores(q[n, i], k[h, j], terms, n, i, j, S)  # (Tq, Tk)
        s = np.where(allowed, s, -np.inf)
        largest = np.maximum(m[n, i], s.max(-1))
        # if no key was allowed so far, 0 is subtracted: -inf - (-inf) would be NaN
        m_new = np.where(largest == -np.inf, 0, largest)
        alpha = np.exp(m[n, i] - m_new)
        p = np.exp(s - m_new[:, None])
        l[n, i] = alpha * l[n, i] + p.sum(-1)
        z = _dropout(draws, n, i, j)
        o[n, i] = alpha[:, None] * o[n, i] + (z * p) @ v[h, j]
        m[n, i] = largest
    empty = l == 0
    l[empty], m[empty] = 1, 0
    o /= l[..., None]
    lse = np.where(empty, -np.inf, m + np.log(l))
    return o, lse, m, np.where(empty, 0, 1 / l)


def backward_twin(
    q, k, v, terms, plan, draws, o, m, inv_sum, do, dlse, wants_offset, wants_added
):
    """Return dq, dk, dv, doffset and dadded: Dao 2023, algorithm 2.

    q to inv_sum are the arguments and results of ``forward_twin``; do (N, L, Ev),
    dlse (N, L). dq, dk and dv have the shapes of q, k and v.

    wants_offset   whether to return doffset (N, L + S - 1 + SIZE), with the columns of
                   ``_terms``; else None
    wants_added    whether to return dadded (N, L | 1, S); else None
    """
    (N, L, _), (Nk, S, _) = q.shape, k.shape
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    doffset = np.zeros((N, terms.offset.shape[1]), q.dtype) if wants_offset else None
    dadded = np.zeros((N, *terms.added.shape[1:]), q.dtype) if wants_added else None
    D = (do * o).sum(-1) - dlse  # (N, L)
    for n, h, i, j, allowed in _tiles(plan, N, L, Nk, S):
        s = _scores(q[n, i], k[h, j], terms, n, i, j, S)  # (Tq, Tk)
        s = np.where(allowed, s, -np.inf)
        p = np.exp(s - m[n, i, None]) * inv_sum[n, i, None]
        z = _dropout(draws, n, i, j)
        dp = z * (do[n, i] @ v[h, j].T)  # sum over Ev
        ds = p * (dp - D[n, i, None])
        dv[h, j] += (z * p).T @ do[n, i]  # sum over i
        if wants_offset:
            np.add.at(doffset[n], _column(i, j, S), ds)
        if wants_added and dadded.shape[1] == 1:
            dadded[n, 0, j] += ds.sum(0)  # sum over i: one row for all queries
        elif wants_added:
            dadded[n, i, j] = ds
        ds = terms.scale * ds
        dk[h, j] += ds.T @ q[n, i]  # sum over i
        dq[n, i] += ds @ k[h, j]  # sum over j
    return dq, dk, dv, doffset, dadded


def _tiles(plan, N, L, Nk, S):
    """Yield n, h, i, j, allowed: the tiles of all heads.

    n, h      the query head and its key head
    i, j      slices: the queries and the keys of the tile
    allowed   bool (Tq, Tk): which of the pairs are allowed

    The fields of a plan are explained in kernels/tile_plan.py.
    """
    T, G = plan.size, N // max(Nk, 1)
    for n in range(N):
        row = plan.row_of[n]
        for block, (first, last) in enumerate(zip(plan.first[row], plan.last[row])):
            i = slice(block * T, min(block * T + T, L))
            lo, hi = plan.lo[row, i, None], plan.hi[row, i, None]
            for entry in range(first, last):
                start = plan.blocks[entry] * T
                j = slice(start, min(start + T, S))
                key = np.arange(j.start, j.stop)
                allowed = (lo <= key) & (key < hi)
                if plan.bits_of[entry] >= 0:
                    bits = plan.bits[plan.bits_of[entry], : len(key)]
                    allowed &= (bits >> np.arange(i.stop - i.start)[:, None]) & 1 == 1
                yield n, n // G, i, j, allowed


def _dropout(draws, n, i, j):
    """Return z of a tile, 0 or 1 / (1 - dropout_p): (Tq, Tk); 1 without dropout."""
    return dropout.factors(draws, n, i, j) if draws.drop else 1


def _scores(q, k, terms, n, i, j, S):
    """Return the scores of a tile (Tq, Tk)."""
    s = (q * terms.scale) @ k.T
    if len(terms.offset):
        s = s + terms.offset[terms.offset_of[n]][_column(i, j, S)]
    if len(terms.added):
        added = terms.added[terms.added_of[n]]
        s = s + (added[:, j] if len(added) == 1 else added[i, j])
    return s


def _column(i, j, S):
    """Return the column of each pair in the reversed bias by offset: i - j + S - 1."""
    return np.arange(i.start, i.stop)[:, None] - np.arange(j.start, j.stop) + S - 1


def _terms(dtype, heads, L, S, offset, added, scale):
    """Return the ``Terms`` of the kernels.

    The bias by offset is reversed: for one key, those of neighbouring queries then lie
    side by side, as the kernels read them. SIZE columns of zeros follow, because the
    kernels read SIZE of them even where a block has fewer queries. ``offset_of`` and
    ``added_of`` are the rows that each head uses.
    """
    table, offset_of = np.zeros((0, 0), dtype), np.zeros(math.prod(heads), int)
    if offset is not None:
        table = np.zeros((len(offset), max(L + S - 1, 0) + SIZE), dtype)
        table[:, : max(L + S - 1, 0)] = offset[:, ::-1]
        offset_of = row_of(offset.shape[:1], heads or (1,))
    rows, added_of = np.zeros((0, 1, S), dtype), np.zeros(math.prod(heads), int)
    if added is not None:
        added = np.atleast_2d(added)
        rows = np.broadcast_to(added, (*added.shape[:-1], S))
        rows = rows.reshape(math.prod(added.shape[:-2]), added.shape[-2], S)
        added_of = row_of(added.shape[:-2], heads)
    return Terms(
        dtype.type(scale),
        as_field(table, dtype),
        as_field(offset_of, int),
        as_field(rows, dtype),
        as_field(added_of, int),
    )
