"""Tiled attention, backward: FlashAttention-2 (Dao 2023, algorithm 2) as a kernel.

The twin is ``backward_twin`` in ``attention/exact/flash.py``; the derivation is there.
Nothing of size L x S was kept. Each tile is computed again, from q, k, and the maximum
m and the sum l of each row. O are the outputs, dO their gradients, and * is a product
of single elements:

    p  = exp(s - m) / l             dV += p dO              dp = V dO^T
    ds = p * (dp - D)               dK += scale ds Q        dQ += scale ds^T K
    D  = rowsum(dO * O) - dlse      doffset[k - q] += ds    dadded[q, k] = ds

Dropout, drawn again as well, multiplies dp, and the p of dV. If one row of ``added``
serves all queries, dadded is summed over them.

The work is done in P phases, one after the other, and in P parts. The G heads that
share keys have I blocks of queries each; block i of head g has the number g I + i.
Block number b is in part b mod P, and block j of the keys is in part j mod P. In phase
f, a work item is, for one key head, part p of the queries with part (p + f) mod P of
the keys. So no two items of a phase add to the same rows, every sum is taken in the
same order with any number of threads, and no tile is computed twice.
"""

from typing import NamedTuple

import numpy as np

from .compiling import Helper, as_field, kernel, reads, writes
from .dropout import drop_out, read_draws
from .elementary import exp
from .product import aligned_empty, copied, multiply, multiply_number
from .tile import Inputs, add_terms, mask, pack, read_ranges
from .tile_plan import SIZE

ITEMS = 8  # in a phase, at least, where there are blocks enough


class Saved(NamedTuple):
    """Results of the forward, and dlse."""

    o: reads(3)  # (N, L, Ev)
    dlse: reads(2)  # (N, L)
    row_max: reads(2)  # (N, L): m
    inv_sum: reads(2)  # (N, L): 1 / l


class Gradients(NamedTuple):
    """What the backward adds to; offset and added are empty if they are not wanted."""

    q: writes(3)  # (N, L, E)
    k: writes(3)  # (N / G, S, E)
    v: writes(3)  # (N / G, S, Ev)
    offset: writes(3)  # (P, N, L + S - 1 + 64), as in Terms
    added: writes(3)  # (N, L | 1, S)


def backward(
    q, k, v, terms, plan, draws, o, row_max, inv_sum, do, dlse,
    wants_offset, wants_added,
):  # fmt: skip
    """dq, dk, dv; doffset (N, L + S - 1 + 64), as in Terms; dadded (N, L | 1, S).

    o, row_max and inv_sum are those of ``forward``; do (N, L, Ev) and dlse (N, L) are
    the gradients. doffset and dadded are None if not wanted. Return None when the twin
    should run.
    """
    (N, _, E), (Nk, S, Ev) = q.shape, v.shape
    tiles = plan.tiles().reshape(Nk, N // max(Nk, 1)).sum(1)
    work = SIZE * SIZE * (3 * E + 2 * Ev) * tiles.sum()
    loop = backward_loop.on_threads(q.dtype, work)
    if loop is None:
        return None
    inputs = Inputs.of(q, k, v, terms, plan, draws)
    saved = Saved(*(as_field(x, q.dtype) for x in (o, dlse, row_max, inv_sum)))
    do = np.ascontiguousarray(do)
    blocks = min(plan.first.shape[1], -(-S // SIZE))  # of queries or of keys
    parts = max(1, min(-(-ITEMS // max(Nk, 1)), blocks))
    d = Gradients(
        np.zeros_like(inputs.q),
        np.zeros_like(inputs.k),
        np.zeros_like(inputs.v),
        np.zeros((parts if wants_offset else 0, N, terms.offset.shape[1]), q.dtype),
        np.zeros((N if wants_added else 0, *terms.added.shape[1:]), q.dtype),
    )
    order = np.argsort(-tiles, kind="stable")  # the longest first
    for phase in range(parts):
        loop(Nk * parts, phase, parts, order, inputs, saved, do, d)
    doffset = d.offset.sum(0) if wants_offset else None
    return d.q, d.k, d.v, doffset, d.added if wants_added else None


@kernel
def backward_loop(
    start: int,
    stop: int,
    phase: int,
    parts: int,
    order: reads(1, int),
    inputs: Inputs,
    saved: Saved,
    do: reads(3),
    d: Gradients,
):
    """Add the tiles of a phase's work items to the gradients."""
    q, k, v = inputs.q, inputs.k, inputs.v
    terms, plan, draws = inputs.terms, inputs.plan, inputs.draws
    N, L, E = q.shape
    Nk, S, Ev = v.shape
    G = N // max(Nk, 1)
    one = q.dtype.type(1)
    columns = aligned_empty(E, SIZE, q)
    do_columns = aligned_empty(Ev, SIZE, q)
    queries = aligned_empty(SIZE, E, q)
    do_rows = aligned_empty(SIZE, Ev, q)
    keys = aligned_empty(SIZE, E, q)
    tile = aligned_empty(SIZE, SIZE, q)
    dtile = aligned_empty(SIZE, SIZE, q)
    row_max = np.empty(SIZE, q.dtype)
    inv_sum = np.empty(SIZE, q.dtype)
    D = np.empty(SIZE, q.dtype)
    lo = np.zeros(SIZE, np.int32)
    hi = np.zeros(SIZE, np.int32)
    a = np.empty(SIZE, np.uint32)  # of the queries, for dropout
    blocks = plan.first.shape[1]  # of queries
    for item in range(start, stop):
        h, part = order[item // parts], item % parts
        for block in range(part, G * blocks, parts):
            g, i = divmod(block, blocks)
            n = h * G + g
            row = plan.row_of[n]
            q0, q1 = i * SIZE, min(i * SIZE + SIZE, L)
            count = q1 - q0
            shared_lo, shared_hi = read_ranges(plan, row, q0, q1, lo, hi)
            q_i, do_i = copied(queries, q[n, q0:q1]), copied(do_rows, do[n, q0:q1])
            dq_i = d.q[n, q0:q1]
            pack(columns, q_i, terms.scale)
            pack(do_columns, do_i, one)
            read_draws(a, draws, n, q0, q1)
            read_rows(row_max, inv_sum, saved, n, q0, q1)
            row_sums(D, do_i, saved.o[n, q0:q1], saved.dlse[n, q0:q1])
            for entry in range(plan.first[row, i], plan.last[row, i]):
                j = plan.blocks[entry]
                if (j - part - phase) % parts != 0:
                    continue
                k0 = j * SIZE
                k1 = min(k0 + SIZE, S)
                k_j, v_j = copied(keys, k[h, k0:k1]), v[h, k0:k1]
                p, ds = tile[: k1 - k0], dtile[: k1 - k0]
                multiply(p, k_j, columns, False)
                add_terms(p, terms, n, q0, q1, k0, S)
                table = plan.bits_of[entry]
                mask(p, k0, shared_lo, shared_hi, lo, hi, table, plan.bits)
                multiply(ds, v_j, do_columns, False)
                if draws.drop > 0:
                    drop_out(ds, draws, a, k0)
                softmax_backward(p, ds, row_max, inv_sum, D)
                if draws.drop > 0:
                    drop_out(p, draws, a, k0)
                multiply(d.v[h, k0:k1], p[:, :count], do_i, True)
                if d.offset.shape[0] > 0:
                    add_diagonals(d.offset[part, n, q0 - k1 + S :], ds, count)
                if d.added.shape[0] > 0:
                    add_mask_gradient(d.added[n, :, k0:k1], ds, q0, count)
                multiply_number(ds, terms.scale)
                multiply(d.k[h, k0:k1], ds[:, :count], q_i, True)
                multiply(dq_i, ds.T[:count], k_j, True)


@Helper
def read_rows(row_max, inv_sum, saved, n, q0, q1):
    """Read both of 64 queries: 0 past the last one, so that p = 0 there."""
    for q in range(SIZE):
        exists = q < q1 - q0
        row_max[q] = saved.row_max[n, q0 + q] if exists else 0
        inv_sum[q] = saved.inv_sum[n, q0 + q] if exists else 0


@Helper
def row_sums(D, do, o, dlse):
    """D = rowsum(dO * O) - dlse."""
    for q in range(SIZE):
        D[q] = 0
    for q in range(o.shape[0]):
        total = D.dtype.type(0)
        for e in range(o.shape[1]):
            total += do[q, e] * o[q, e]
        D[q] = total - dlse[q]


@Helper
def softmax_backward(s, dp, row_max, inv_sum, D):
    """Replace s by the weights p, and dp by ds = p * (dp - D)."""
    zero, minus_infinity = s.dtype.type(0), s.dtype.type(-np.inf)
    for k in range(s.shape[0]):
        for q in range(SIZE):
            # A masked pair has p = 0 and no gradient, even if m, l or dp is NaN. The
            # same holds for the pairs of a query with 1 / l = 0.
            p = exp(s[k, q] - row_max[q]) * inv_sum[q]
            p = zero if s[k, q] == minus_infinity or inv_sum[q] == zero else p
            d = p * (dp[k, q] - D[q])
            s[k, q] = p
            dp[k, q] = zero if p == zero else d


@Helper
def add_diagonals(doffset, ds, count):
    """doffset[q - k + n - 1] += ds[k, q]: all pairs of one offset share a bias."""
    n = ds.shape[0]
    for k in range(n):
        for q in range(count):
            doffset[n - 1 - k + q] += ds[k, q]


@Helper
def add_mask_gradient(dadded, ds, q0, count):
    """dadded[q0 + q, k] = ds[k, q]; or dadded[0, k] += ds[k, q], if it has one row."""
    for k in range(ds.shape[0]):
        for q in range(count):
            if dadded.shape[0] == 1:
                dadded[0, k] += ds[k, q]
            else:
                dadded[q0 + q, k] = ds[k, q]
