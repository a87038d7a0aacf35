"""Linear attention, backward: the same pass for the queries, and one from the end.

With n_i = g_i / (c_i + eps) and d_i = -(g_i . o_i) / (c_i + eps), in chunks,

    da = n S^T + d z + tril(n v^T + d) b         forward, S and z as they grow again
    db = v R^T + r + tril(n v^T + d)^T a         from the end, where R = sum a_i n_i^T
    dv = b R + tril(a b^T)^T n                   and r = sum d_i a_i, of later chunks

so that no state was kept, and none but the present one exists. A query whose g is all 0
takes part in nothing. ``attention/variants/linear_scan.py`` has the derivation, and the same in
NumPy; the layout of chunks is that of linear.py.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .linear import (
    CHUNK,
    EVERYTHING,
    MULTIPLY_NS,
    add_rows,
    clear,
    drop_future,
    load_keys,
    load_rows,
)
from .pool import spread
from .product import accumulate, multiply


def backward(q, k, v, keep, causal, elu, o, share, g, queries, keys):
    """dq, dk, dv, each None if it is not wanted; None when NumPy's twin is to run.

    o and share are those of ``forward``. ``queries`` and ``keys``: whether dq, and
    whether dk and dv are wanted.
    """
    loops = [loop.version(q.dtype) for loop in (query_loop, key_loop)]
    if None in loops:
        return None
    (N, L, E), (S, Ev) = q.shape, v.shape[1:]
    time = MULTIPLY_NS * N * (L + S) * (E * Ev + causal * CHUNK * (E + Ev))
    keep = EVERYTHING if keep is None else keep
    given = q, k, v, keep, causal, elu, o, share, np.ascontiguousarray(g)
    dq = dk = dv = None
    if queries:
        dq = np.empty_like(q)
        spread(loops[0], N, time, *given, dq)
    if keys:
        dk, dv = np.empty_like(k), np.empty_like(v)
        spread(loops[1], N, 2 * time, *given, dk, dv)
    return dq, dk, dv


@kernel
def query_loop(
    start: int,
    stop: int,
    q: reads(3),
    k: reads(3),
    v: reads(3),
    keep: reads(2, bool),
    causal: bool,
    elu: bool,
    o: reads(3),
    share: reads(2),
    g: reads(3),
    dq: writes(3),
):
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
    idle = np.empty(CHUNK, np.bool_)
    for n in range(start, stop):
        clear(state)
        clear(z)
        if not causal:
            for j in range(0, S, CHUNK):
                load_keys(b, v_j, k[n], v[n], keep, n, j, elu)
                multiply(state, v_j.T, b, True)
                add_rows(z[0], b)
        for i in range(0, L, CHUNK):
            load_cotangent(n_i, d, idle, g[n], o[n], share[n], i)
            turn(columns, n_i)
            multiply(da, n_i, state, False)
            add_product(da, d, z[0])
            if causal:
                load_keys(b, v_j, k[n], v[n], keep, n, i, elu)
                multiply(t, v_j, columns, False)
                add_to_rows(t, d)
                drop_future(t)
                accumulate(da, t.T, b, True)
                multiply(state, v_j.T, b, True)
                add_rows(z[0], b)
            load_rows(b, q[n], i, elu)  # done with the keys: now a
            store(dq[n], i, da, b, idle, elu)


@kernel
def key_loop(
    start: int,
    stop: int,
    q: reads(3),
    k: reads(3),
    v: reads(3),
    keep: reads(2, bool),
    causal: bool,
    elu: bool,
    o: reads(3),
    share: reads(2),
    g: reads(3),
    dk: writes(3),
    dv: writes(3),
):
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
    R_turned = np.empty((Ev, E), q.dtype)
    r = np.empty((1, E), q.dtype)
    idle = np.empty(CHUNK, np.bool_)
    for n in range(start, stop):
        clear(R)
        clear(r)
        if not causal:
            for i in range(0, L, CHUNK):
                load_cotangent(n_i, d, idle, g[n], o[n], share[n], i)
                load_queries(a, q[n], i, idle, elu)
                multiply(R, a.T, n_i, True)
                add_weighted_rows(r[0], d, a)
        turn(R_turned, R)
        for j in range((S - 1) // CHUNK * CHUNK, -1, -CHUNK):
            load_keys(b, v_j, k[n], v[n], keep, n, j, elu)
            multiply(dv_j, b, R, False)
            multiply(db, v_j, R_turned, False)
            add_to_rows(db, r[0])
            if causal:
                load_cotangent(n_i, d, idle, g[n], o[n], share[n], j)
                load_queries(a, q[n], j, idle, elu)
                turn(a_columns, a)
                multiply(p, b, a_columns, False)
                drop_future(p)
                accumulate(dv_j, p, n_i, True)
                turn(n_columns, n_i)
                multiply(p, v_j, n_columns, False)
                add_to_rows(p, d)
                drop_future(p)
                accumulate(db, p, a, True)
                multiply(R, a.T, n_i, True)
                multiply(R_turned, n_i.T, a, True)
                add_weighted_rows(r[0], d, a)
            mark_masked(idle, keep, n, j)
            store(dk[n], j, db, b, idle, elu)
            store(dv[n], j, dv_j, v_j, idle, False)


@Helper
def load_cotangent(n_i, d, idle, g, o, share, begin):
    """n = g / (c + eps), d = -(g . o) / (c + eps), and whether g is all 0; 0 past L."""
    zero = d.dtype.type(0)
    rows = min(CHUNK, g.shape[0] - begin)
    for r in range(rows):
        dot, busy = zero, 0
        for e in range(g.shape[1]):
            dot += g[begin + r, e] * o[begin + r, e]
            busy += g[begin + r, e] != zero
        idle[r] = busy == 0
        part = share[begin + r]
        d[r] = zero if idle[r] else -dot * part
        for e in range(g.shape[1]):
            n_i[r, e] = zero if idle[r] else g[begin + r, e] * part
    for r in range(rows, CHUNK):
        d[r] = 0
    clear(n_i[rows:])


@Helper
def load_queries(a, q, begin, idle, elu):
    """a = phi(q); a query that is idle, or past the end, is 0."""
    load_rows(a, q, begin, elu)
    for r in range(min(CHUNK, q.shape[0] - begin)):
        if idle[r]:
            clear(a[r : r + 1])


@Helper
def turn(out, x):
    """out = x^T"""
    for e in range(x.shape[1]):
        for r in range(x.shape[0]):
            out[e, r] = x[r, e]


@Helper
def add_to_rows(x, row):
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
def mark_masked(masked, keep, n, begin):
    """Which of the keys of a chunk are masked."""
    for r in range(CHUNK):
        masked[r] = False
    if keep.shape[0] > 0:
        for r in range(min(CHUNK, keep.shape[1] - begin)):
            masked[r] = not keep[n, begin + r]


@Helper
def store(out, begin, d, feature, nothing, elu):
    """out = d phi', where phi' = min(phi, 1) for elu + 1; 0 where ``nothing``."""
    zero, one = d.dtype.type(0), d.dtype.type(1)
    for r in range(min(CHUNK, out.shape[0] - begin)):
        for e in range(out.shape[1]):
            slope = one if not elu or feature[r, e] > one else feature[r, e]
            out[begin + r, e] = zero if nothing[r] else d[r, e] * slope
