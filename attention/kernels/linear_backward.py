"""Linear attention, backward: a pass for the queries, and one back for the keys.

The twin is ``Scan.backward`` in ``attention/variants/linear_scan.py``; the derivation
is there. With n_i = g_i / (c_i + eps) and d_i = -(g_i . o_i) / (c_i + eps), in chunks,

    da = n S^T + d z + tril(n v^T + d) b
    db = v R^T + r + tril(n v^T + d)^T a         R = sum_i a_i n_i^T,  r = sum_i d_i a_i
    dv = b R + tril(a b^T)^T n

da runs from the first chunk to the last, and sums S and z again. db and dv run from the
last chunk to the first; R and r are over the queries of later chunks. Not causal: all
sums are taken first, and the terms with tril are absent. Only one state exists at a
time. A query whose g is all 0 adds to no gradient. The layout of chunks is that of
linear.py.
"""

from typing import NamedTuple

import numpy as np

from .compiling import Helper, as_field, kernel, reads, writes
from .linear import (
    CHUNK, Scan, add_rows, clear, drop_future, load_keys, load_rows, transpose,
)  # fmt: skip
from .pool import spread
from .product import multiply


class Outputs(NamedTuple):
    """What the forward returned, and the gradient of o."""

    o: reads(3)  # (N, L, Ev)
    inv_sum: reads(2)  # (N, L): 1 / (c + eps)
    g: reads(3)  # (N, L, Ev)


def backward(q, k, v, keep, causal, elu, o, inv_sum, g, needs_q, needs_kv):
    """Return dq, dk, dv, each None if it is not needed; None when the twin should run.

    o and inv_sum are those of ``forward``; g (N, L, Ev) is the gradient of o.
    """
    scan = Scan.of(q, k, v, keep, causal, elu)
    N, time = len(q), scan.nanoseconds()
    loops = [loop.version(q.dtype, time) for loop in (query_loop, key_loop)]
    if None in loops:
        return None
    outputs = Outputs(*(as_field(x, q.dtype) for x in (o, inv_sum, g)))
    dq = dk = dv = None
    if needs_q:
        dq = np.empty_like(q)
        spread(loops[0], N, time, scan, outputs, dq)
    if needs_kv:
        dk, dv = np.empty_like(k), np.empty_like(v)
        spread(loops[1], N, 2 * time, scan, outputs, dk, dv)
    return dq, dk, dv


@kernel
def query_loop(start: int, stop: int, scan: Scan, outputs: Outputs, dq: writes(3)):
    """Compute dq, from the first chunk to the last; a work item is one head."""
    q, v, causal, elu = scan.q, scan.v, scan.causal, scan.elu
    L, E = q.shape[1], q.shape[2]
    S, Ev = v.shape[1], v.shape[2]
    n_i = np.empty((CHUNK, Ev), q.dtype)
    columns = np.empty((Ev, CHUNK), q.dtype)  # n, a query in each column
    d = np.empty(CHUNK, q.dtype)
    b = np.empty((CHUNK, E), q.dtype)
    v_j = np.empty((CHUNK, Ev), q.dtype)
    t = np.empty((CHUNK, CHUNK), q.dtype)
    da = np.empty((CHUNK, E), q.dtype)
    state = np.empty((Ev, E), q.dtype)
    z = np.empty((1, E), q.dtype)
    unused = np.empty(CHUNK, np.bool_)
    for n in range(start, stop):
        clear(state)
        clear(z)
        if not causal:
            for j in range(0, S, CHUNK):
                load_keys(b, v_j, scan, n, j)
                multiply(state, v_j.T, b, True)
                add_rows(z[0], b)
        for i in range(0, L, CHUNK):
            load_output_gradient(n_i, d, unused, outputs, n, i)
            transpose(columns, n_i)
            multiply(da, n_i, state, False)
            add_product(da, d, z[0])
            if causal:
                load_keys(b, v_j, scan, n, i)
                multiply(t, v_j, columns, False)
                add_to_rows(t, d)
                drop_future(t)
                multiply(da, t.T, b, True)
                multiply(state, v_j.T, b, True)
                add_rows(z[0], b)
            load_rows(b, q[n], i, elu)  # b now holds a, the features of the queries
            store(dq[n], i, da, b, unused, elu)


@kernel
def key_loop(
    start: int,
    stop: int,
    scan: Scan,
    outputs: Outputs,
    dk: writes(3),
    dv: writes(3),
):
    """Compute dk and dv, from the last chunk to the first."""
    q, v, causal, elu = scan.q, scan.v, scan.causal, scan.elu
    L, E = q.shape[1], q.shape[2]
    S, Ev = v.shape[1], v.shape[2]
    n_i = np.empty((CHUNK, Ev), q.dtype)
    a = np.empty((CHUNK, E), q.dtype)
    n_columns = np.empty((Ev, CHUNK), q.dtype)
    a_columns = np.empty((E, CHUNK), q.dtype)
    d = np.empty(CHUNK, q.dtype)
    b = np.empty((CHUNK, E), q.dtype)
    v_j = np.empty((CHUNK, Ev), q.dtype)
    p = np.empty((CHUNK, CHUNK), q.dtype)
    db = np.empty((CHUNK, E), q.dtype)
    dv_j = np.empty((CHUNK, Ev), q.dtype)
    R = np.empty((E, Ev), q.dtype)
    R_T = np.empty((Ev, E), q.dtype)
    r = np.empty((1, E), q.dtype)
    unused = np.empty(CHUNK, np.bool_)
    masked = np.empty(CHUNK, np.bool_)
    for n in range(start, stop):
        clear(R)
        clear(r)
        if not causal:
            for i in range(0, L, CHUNK):
                load_output_gradient(n_i, d, unused, outputs, n, i)
                load_queries(a, q[n], i, unused, elu)
                multiply(R, a.T, n_i, True)
                add_weighted_rows(r[0], d, a)
        transpose(R_T, R)
        for j in range((S - 1) // CHUNK * CHUNK, -1, -CHUNK):
            load_keys(b, v_j, scan, n, j)
            multiply(dv_j, b, R, False)
            multiply(db, v_j, R_T, False)
            add_to_rows(db, r[0])
            if causal:
                load_output_gradient(n_i, d, unused, outputs, n, j)
                load_queries(a, q[n], j, unused, elu)
                transpose(a_columns, a)
                multiply(p, b, a_columns, False)
                drop_future(p)
                multiply(dv_j, p, n_i, True)
                transpose(n_columns, n_i)
                # from here on, p is tril(n v^T + d)^T
                multiply(p, v_j, n_columns, False)
                add_to_rows(p, d)
                drop_future(p)
                multiply(db, p, a, True)
                multiply(R, a.T, n_i, True)
                multiply(R_T, n_i.T, a, True)
                add_weighted_rows(r[0], d, a)
            mark_masked(masked, scan, n, j)
            store(dk[n], j, db, b, masked, elu)
            store(dv[n], j, dv_j, v_j, masked, False)


@Helper
def load_output_gradient(n_i, d, unused, outputs, n, begin):
    """n_i = g / (c + eps) and d = -(g . o) / (c + eps): 0 past the end.

    n        the number of the head
    unused   receives, for each query that exists, whether its g is all 0
    """
    g, o, inv_sum = outputs.g[n], outputs.o[n], outputs.inv_sum[n]
    zero = d.dtype.type(0)
    rows = min(CHUNK, g.shape[0] - begin)
    for r in range(rows):
        dot, nonzero = zero, 0
        for e in range(g.shape[1]):
            dot += g[begin + r, e] * o[begin + r, e]
            nonzero += g[begin + r, e] != zero
        unused[r] = nonzero == 0
        scale = inv_sum[begin + r]
        d[r] = zero if unused[r] else -dot * scale
        for e in range(g.shape[1]):
            n_i[r, e] = zero if unused[r] else g[begin + r, e] * scale
    for r in range(rows, CHUNK):
        d[r] = 0
    clear(n_i[rows:])


@Helper
def load_queries(a, q, begin, unused, elu):
    """a = phi(q); an unused query, or one past the end, is 0."""
    load_rows(a, q, begin, elu)
    for r in range(min(CHUNK, q.shape[0] - begin)):
        if unused[r]:
            clear(a[r : r + 1])


@Helper
def add_to_rows(x: writes(2), row: reads(1)):
    """x[r] += row"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            x[r, e] += row[e]


@Helper
def add_product(x, column, row):
    """x[r] += column[r] row"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            x[r, e] += column[r] * row[e]


@Helper
def add_weighted_rows(total, weights, x):
    """total += sum_r weights[r] x[r]"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            total[e] += weights[r] * x[r, e]


@Helper
def mark_masked(masked, scan, n, begin):
    """Find which keys of a chunk are masked."""
    for r in range(CHUNK):
        masked[r] = False
    if scan.keep.shape[0] > 0:
        for r in range(min(CHUNK, scan.keep.shape[1] - begin)):
            masked[r] = not scan.keep[n, begin + r]


@Helper
def store(
    out: writes(2),
    begin: int,
    d: reads(2),
    feature: reads(2),
    skip: reads(1, bool),
    elu: bool,
):
    """out = d phi', where phi' = min(phi, 1) for elu + 1; 0 in the rows of ``skip``."""
    zero, one = d.dtype.type(0), d.dtype.type(1)
    for r in range(min(CHUNK, out.shape[0] - begin)):
        for e in range(out.shape[1]):
            slope = one if not elu or feature[r, e] > one else feature[r, e]
            out[begin + r, e] = zero if skip[r] else d[r, e] * slope
