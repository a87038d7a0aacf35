"""Tiled attention, forward: FlashAttention-2 (Dao 2023, algorithm 1) as a kernel.

The twin is ``forward_twin`` in ``attention/exact/flash.py``, and the one to read. A
work item is one block of 64 queries of one head. For each tile that the plan lists for
it, with the scores s (keys down, queries along),

    m' = max(m, max_k s)             p = exp(s - m')
    l  = exp(m - m') l + sum_k p     O = exp(m - m') O + p^T V

and at the end o = O / l and lse = m + ln l. Each thread holds one tile. Dropout acts on
the p that meet V, and not on those that are summed.
"""

import numpy as np

from .compiling import Helper, kernel
from .dropout import drop_out, read_draws
from .elementary import exp
from .product import aligned_empty, copied, multiply
from .tile import Inputs, Results, add_terms, mask, pack, read_ranges
from .tile_plan import SIZE


def forward(q, k, v, terms, plan, draws):
    """Return the ``Results`` of the ``Inputs``; None when the twin should run."""
    (N, L, E), Ev = q.shape, v.shape[2]
    work = SIZE * SIZE * (E + Ev) * plan.tiles().sum()
    loop = forward_loop.on_threads(q.dtype, work)
    if loop is None:
        return None
    inputs = Inputs.of(q, k, v, terms, plan, draws)
    rows = (np.empty((N, L), q.dtype) for _ in range(3))
    results = Results(np.empty((N, L, Ev), q.dtype), *rows)
    loop(len(plan.order), inputs, results)
    return results


@kernel
def forward_loop(start: int, stop: int, inputs: Inputs, results: Results):
    """Compute the results; a work item is a block of queries of one head."""
    q, k, v = inputs.q, inputs.k, inputs.v
    terms, plan, draws = inputs.terms, inputs.plan, inputs.draws
    N, L, E = q.shape
    Nk, S = k.shape[0], k.shape[1]
    G = N // max(Nk, 1)
    columns = aligned_empty(E, SIZE, q)
    values = aligned_empty(SIZE, v.shape[2], q)
    tile = aligned_empty(SIZE, SIZE, q)
    # An array each: rows of one two-dimensional array would not vectorise.
    m = np.empty(SIZE, q.dtype)
    ell = np.empty(SIZE, q.dtype)
    new_max = np.empty(SIZE, q.dtype)
    alpha = np.empty(SIZE, q.dtype)
    total = np.empty(SIZE, q.dtype)
    lo = np.zeros(SIZE, np.int32)
    hi = np.zeros(SIZE, np.int32)
    a = np.empty(SIZE, np.uint32)  # of the queries, for dropout
    for item in range(start, stop):
        n, i = divmod(plan.order[item], plan.first.shape[1])
        row, h = plan.row_of[n], n // G
        q0, q1 = i * SIZE, min(i * SIZE + SIZE, L)
        shared_lo, shared_hi = read_ranges(plan, row, q0, q1, lo, hi)
        pack(columns, q[n, q0:q1], terms.scale)
        read_draws(a, draws, n, q0, q1)
        o_i = results.o[n, q0:q1]
        o_i[:] = 0
        m[:] = -np.inf
        ell[:] = 0
        for entry in range(plan.first[row, i], plan.last[row, i]):
            k0 = plan.blocks[entry] * SIZE
            k1 = min(k0 + SIZE, S)
            p = tile[: k1 - k0]
            multiply(p, k[h, k0:k1], columns, False)
            add_terms(p, terms, n, q0, q1, k0, S)
            table = plan.bits_of[entry]
            mask(p, k0, shared_lo, shared_hi, lo, hi, table, plan.bits)
            raise_maximum(p, m, new_max, alpha)
            exponentiate(p, new_max, total)
            rescale(o_i, ell, alpha, total)
            if draws.drop > 0:
                drop_out(p, draws, a, k0)
            multiply(o_i, p.T[: q1 - q0], copied(values, v[h, k0:k1]), True)
        finish(results, n, q0, q1, m, ell)


@Helper
def raise_maximum(s, m, new_max, alpha):
    """m becomes m' = max(m, max_k s);  alpha = exp(m - new_max), with the old m.

    new_max is m', but 0 where m' = -inf.
    """
    zero, minus_infinity = s.dtype.type(0), s.dtype.type(-np.inf)
    for q in range(SIZE):
        new_max[q] = m[q]
    for k in range(s.shape[0]):
        for q in range(SIZE):
            new_max[q] = s[k, q] if s[k, q] > new_max[q] else new_max[q]
    for q in range(SIZE):
        highest = new_max[q]
        # (-inf) - (-inf) would be NaN where a query has met no key yet
        new_max[q] = zero if highest == minus_infinity else highest
        alpha[q] = exp(m[q] - new_max[q])
        m[q] = highest


@Helper
def exponentiate(s, new_max, total):
    """s = exp(s - new_max) in place;  total = sum_k s."""
    for q in range(SIZE):
        total[q] = 0
    for k in range(s.shape[0]):
        for q in range(SIZE):
            p = exp(s[k, q] - new_max[q])
            s[k, q] = p
            total[q] += p


@Helper
def rescale(o_i, ell, alpha, total):
    """l = alpha l + total;  O = alpha O, which changes nothing where alpha = 1."""
    for q in range(SIZE):
        ell[q] = alpha[q] * ell[q] + total[q]
    for r in range(o_i.shape[0]):
        if alpha[r] != 1:
            for e in range(o_i.shape[1]):
                o_i[r, e] *= alpha[r]


@Helper
def finish(results, n, q0, q1, m, ell):
    """Write O / l, lse = m + ln l, m and 1 / l of the queries q0 to q1.

    For a query without keys these are 0, -inf, 0 and 0; its O is 0 already.
    """
    zero, one = m.dtype.type(0), m.dtype.type(1)
    o, lse = results.o[n, q0:q1], results.lse[n, q0:q1]
    row_max, inv_sum = results.row_max[n, q0:q1], results.inv_sum[n, q0:q1]
    for r in range(q1 - q0):
        if ell[r] == 0:
            lse[r], row_max[r], inv_sum[r] = -np.inf, zero, zero
            continue
        for e in range(o.shape[1]):
            o[r, e] /= ell[r]
        lse[r] = m[r] + np.log(ell[r])
        row_max[r], inv_sum[r] = m[r], one / ell[r]
