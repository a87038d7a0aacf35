"""Tiled attention, backward: FlashAttention-2 (Dao 2023, algorithm 2) as a kernel.

Nothing of size L x S was kept. Each tile is computed again, from q, k, m and l:

    p  = exp(s - m) / l             dV += p dO              dp = V dO^T
    ds = p (dp - D)                 dK += scale ds Q        dQ += scale ds^T K
    D  = rowsum(dO O) - dlse        doffset[k - q] += ds    dadded[q, k] = ds

Dropout, drawn again as well, multiplies dp, and the p of dV.
``attention/exact/flash.py`` is the same in NumPy, with the derivation.

Queries and keys are dealt into so many hands each. In phase f a work item is one hand
of queries of the heads that share their keys, against the hand of keys f places on. So
no two items that run side by side add to the same rows, every sum is taken in the same
order however many threads there are, and nothing is computed twice.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .dropout import Draws, drop_out, read_draws
from .elementary import exp
from .plan import SIZE, Plan
from .pool import spread
from .product import accumulate, multiply
from .tile import Terms, add_terms, mask, pack, read_ranges, soften
from .tiled_forward import MULTIPLY_NS

ITEMS = 8  # in a phase, at least, where there are blocks enough


def backward(q, k, v, terms, plan, draws, o, m, share, do, dlse, offsets, masks):
    """dq, dk, dv; doffset (N, L + S - 1 + 64), as in Terms; dadded (N, L | 1, S).

    o, m, share are those of ``forward``; None when NumPy's twin is to run. The last two
    gradients are there if ``offsets`` and ``masks`` ask for them.
    """
    loop = backward_loop.version(q.dtype)
    if loop is None:
        return None
    (N, _, E), (H, S, Ev) = q.shape, v.shape
    blocks = min(plan.first.shape[1], -(-S // SIZE))
    hands = max(1, min(-(-ITEMS // max(H, 1)), blocks))
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    doffset = np.zeros((hands if offsets else 0, N, terms.offset.shape[1]), q.dtype)
    dadded = np.zeros((N if masks else 0, *terms.added.shape[1:]), q.dtype)
    cost = plan.tiles().reshape(H, N // max(H, 1)).sum(1)
    order = np.argsort(-cost, kind="stable")  # the longest first
    time = MULTIPLY_NS * SIZE * SIZE * (3 * E + 2 * Ev) * cost.sum() / hands
    do, dlse = np.ascontiguousarray(do), np.ascontiguousarray(dlse)
    for phase in range(hands):
        spread(
            loop, H * hands, time, phase, hands, order, q, k, v, terms, plan, draws, o,
            m, share, do, dlse, dq, dk, dv, doffset, dadded,
        )  # fmt: skip
    return dq, dk, dv, doffset.sum(0) if offsets else None, dadded if masks else None


@kernel
def backward_loop(
    start: int,
    stop: int,
    phase: int,
    hands: int,
    order: reads(1, int),
    q: reads(3),
    k: reads(3),
    v: reads(3),
    terms: Terms,
    plan: Plan,
    draws: Draws,
    o: reads(3),
    peak: reads(2),
    share: reads(2),
    do: reads(3),
    dlse: reads(2),
    dq: writes(3),
    dk: writes(3),
    dv: writes(3),
    doffset: writes(3),
    dadded: writes(3),
):
    N, L, E = q.shape
    H, S, Ev = v.shape
    G = N // max(H, 1)
    one = q.dtype.type(1)
    columns = np.empty((E, SIZE), q.dtype)
    gradients = np.empty((Ev, SIZE), q.dtype)
    tile = np.empty((SIZE, SIZE), q.dtype)
    dtile = np.empty((SIZE, SIZE), q.dtype)
    slope = np.empty((SIZE, SIZE), q.dtype)
    top = np.empty(SIZE, q.dtype)
    part = np.empty(SIZE, q.dtype)
    D = np.empty(SIZE, q.dtype)
    lo = np.zeros(SIZE, np.int32)
    hi = np.zeros(SIZE, np.int32)
    a = np.empty(SIZE, np.uint32)
    blocks = plan.first.shape[1]
    for item in range(start, stop):
        h, hand = order[item // hands], item % hands
        for turn in range(hand, G * blocks, hands):
            g, i = divmod(turn, blocks)
            n = h * G + g
            row = plan.row_of[n]
            q0, q1 = i * SIZE, min(i * SIZE + SIZE, L)
            count = q1 - q0
            inside, beyond = read_ranges(plan, row, q0, q1, lo, hi)
            q_i, do_i, dq_i = q[n, q0:q1], do[n, q0:q1], dq[n, q0:q1]
            pack(columns, q_i, terms.scale)
            pack(gradients, do_i, one)
            read_draws(a, draws, n, q0, q1)
            read_rows(top, part, peak[n, q0:q1], share[n, q0:q1])
            row_sums(D, do_i, o[n, q0:q1], dlse[n, q0:q1])
            for e in range(plan.first[row, i], plan.last[row, i]):
                j = plan.blocks[e]
                if (j - hand - phase) % hands != 0:
                    continue
                k0 = j * SIZE
                k1 = min(k0 + SIZE, S)
                k_j, v_j = k[h, k0:k1], v[h, k0:k1]
                p, ds = tile[: k1 - k0], dtile[: k1 - k0]
                multiply(p, k_j, columns, False)
                if terms.cap > 0:
                    soften(p, terms.cap, slope)
                add_terms(p, terms, n, q0, q1, k0, S)
                masked = mask(p, k0, inside, beyond, lo, hi, plan.tile[e], plan.bits)
                multiply(ds, v_j, gradients, False)
                if draws.drop > 0:
                    drop_out(ds, draws, a, k0)
                softmax_backward(p, ds, top, part, D)
                if draws.drop > 0:
                    drop_out(p, draws, a, k0)
                kept = masked or draws.drop > 0  # some p may be 0
                accumulate(dv[h, k0:k1], p[:, :count], do_i, kept)
                if doffset.shape[0] > 0:
                    add_diagonals(doffset[hand, n, q0 - k1 + S :], ds, count)
                if dadded.shape[0] > 0:
                    add_mask(dadded[n, :, k0:k1], ds, q0, count)
                scale_tile(ds, terms.scale, slope, terms.cap)
                accumulate(dk[h, k0:k1], ds[:, :count], q_i, masked)
                accumulate(dq_i, ds.T[:count], k_j, masked)


@Helper
def read_rows(top, part, peak, share):
    """m and 1 / l of 64 queries; those past the end get p = 0."""
    for q in range(SIZE):
        inside = q < peak.shape[0]
        top[q] = peak[q] if inside else 0
        part[q] = share[q] if inside else 0


@Helper
def row_sums(D, do, o, dlse):
    """D = rowsum(dO O) - dlse."""
    for q in range(SIZE):
        D[q] = 0
    for q in range(o.shape[0]):
        total = D.dtype.type(0)
        for e in range(o.shape[1]):
            total += do[q, e] * o[q, e]
        D[q] = total - dlse[q]


@Helper
def softmax_backward(s, dp, top, part, D):
    """In place: s becomes p = exp(s - m) / l, and dp becomes ds = p (dp - D)."""
    zero, minus_infinity = s.dtype.type(0), s.dtype.type(-np.inf)
    for k in range(s.shape[0]):
        for q in range(SIZE):
            # A masked pair has p = 0 and no gradient, even if m, l or dp is NaN; and
            # so has a query that no gradient comes for, whose 1 / l is then 0.
            p = exp(s[k, q] - top[q]) * part[q]
            p = zero if s[k, q] == minus_infinity or part[q] == zero else p
            d = p * (dp[k, q] - D[q])
            s[k, q] = p
            dp[k, q] = zero if p == zero else d


@Helper
def scale_tile(ds, scale, slope, cap):
    """ds *= scale, and by the slope 1 - t^2 of a softcap where there is one."""
    zero = ds.dtype.type(0)
    for k in range(ds.shape[0]):
        for q in range(SIZE):
            ds[k, q] *= scale
    if cap > 0:
        for k in range(ds.shape[0]):
            for q in range(SIZE):
                # the slope of a masked pair may be NaN
                ds[k, q] = ds[k, q] * slope[k, q] if ds[k, q] != zero else zero


@Helper
def add_diagonals(doffset, ds, count):
    """doffset[q - k + n - 1] += ds[k, q]: all pairs at one distance share a bias."""
    n = ds.shape[0]
    for k in range(n):
        for q in range(count):
            doffset[n - 1 - k + q] += ds[k, q]


@Helper
def add_mask(dadded, ds, q0, count):
    """dadded[q, k] = ds[k, q]; summed over q where one row served all queries."""
    for k in range(ds.shape[0]):
        for q in range(count):
            if dadded.shape[0] == 1:
                dadded[0, k] += ds[k, q]
            else:
                dadded[q0 + q, k] = ds[k, q]
