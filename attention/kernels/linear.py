"""Linear attention, forward: one pass over a sequence, with a state instead of a past.

A work item is one head. It is read in chunks of 64: what the chunks before have left
behind is in the state, and inside a chunk there is a small masked product. With a and b
the features of the chunk's queries and keys (``phi`` of q and k), causal,

    o = a S + tril(a b^T) v          c = a z + rowsum(tril(a b^T))
    S = S + b^T v                    z = z + sum_j b_j

and then o is divided by c + eps. Without a mask for the future, S and z are summed over
all keys first, and o = a S. The small products lie as in tiled attention, keys down and
queries along, so that every loop runs along queries. ``attention/variants/linear_scan.py`` is
the same in NumPy, and the one to read; the backward is in linear_backward.py.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .elementary import exp
from .pool import spread
from .product import accumulate, multiply

CHUNK = 64
MULTIPLY_NS = 0.02  # a multiplication and an addition, in float32
EVERYTHING = np.empty((0, 0), bool)  # for ``keep``: no key is masked


def forward(q, k, v, keep, causal, elu, eps):
    """o (N, L, Ev) and 1 / (c + eps) (N, L); None when NumPy's twin is to run.

    q (N, L, E), k (N, S, E), v (N, S, Ev), keep (N, S) bool or None
    """
    loop = forward_loop.version(q.dtype)
    if loop is None:
        return None
    (N, L, E), (S, Ev) = q.shape, v.shape[1:]
    o, share = np.empty((N, L, Ev), q.dtype), np.empty((N, L), q.dtype)
    time = MULTIPLY_NS * N * (L + S) * (E * Ev + causal * CHUNK * (E + Ev))
    keep = EVERYTHING if keep is None else keep
    spread(loop, N, time, q, k, v, keep, causal, elu, eps, o, share)
    return o, share


@kernel
def forward_loop(
    start: int,
    stop: int,
    q: reads(3),
    k: reads(3),
    v: reads(3),
    keep: reads(2, bool),
    causal: bool,
    elu: bool,
    eps: float,
    o: writes(3),
    share: writes(2),
):
    L, E = q.shape[1], q.shape[2]
    S, Ev = v.shape[1], v.shape[2]
    columns = np.empty((E, CHUNK), q.dtype)  # a, a query in each column
    b = np.empty((CHUNK, E), q.dtype)
    v_j = np.empty((CHUNK, Ev), q.dtype)
    p = np.empty((CHUNK, CHUNK), q.dtype)
    o_i = np.empty((CHUNK, Ev), q.dtype)
    c = np.empty(CHUNK, q.dtype)
    state = np.empty((E, Ev), q.dtype)
    z = np.empty((1, E), q.dtype)
    for n in range(start, stop):
        clear(state)
        clear(z)
        if not causal:
            for j in range(0, S, CHUNK):
                load_keys(b, v_j, k[n], v[n], keep, n, j, elu)
                multiply(state, b.T, v_j, True)
                add_rows(z[0], b)
        for i in range(0, L, CHUNK):
            load_columns(columns, q[n], i, elu)
            multiply(o_i, columns.T, state, False)
            weigh_rows(c, z[0], columns)
            if causal:
                load_keys(b, v_j, k[n], v[n], keep, n, i, elu)
                multiply(p, b, columns, False)
                drop_future(p)
                add_rows(c, p)
                accumulate(o_i, p.T, v_j, True)
                multiply(state, b.T, v_j, True)
                add_rows(z[0], b)
            divide(o[n], share[n], i, o_i, c, eps)


@Helper
def raise_to_phi(x):
    """In place: phi(x) = elu(x) + 1, which is x + 1 above 0 and e^x below."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    for e in range(x.shape[0]):
        x_e = x[e]
        y = exp(zero if x_e > zero else x_e)  # NaN stays NaN
        x[e] = x_e + one if x_e > zero else y


@Helper
def clear(x):
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            x[r, e] = 0


@Helper
def load_rows(out, x, begin, elu):
    """out[r] = phi(x[begin + r]), and 0 past the end of x."""
    rows = min(CHUNK, x.shape[0] - begin)
    for r in range(rows):
        for e in range(x.shape[1]):
            out[r, e] = x[begin + r, e]
        if elu:
            raise_to_phi(out[r])
    clear(out[rows:])


@Helper
def load_columns(out, x, begin, elu):
    """out[:, r] = phi(x[begin + r]), and 0 past the end of x."""
    rows = min(CHUNK, x.shape[0] - begin)
    for e in range(x.shape[1]):
        for r in range(rows):
            out[e, r] = x[begin + r, e]
        if elu:
            raise_to_phi(out[e, :rows])
        for r in range(rows, CHUNK):
            out[e, r] = 0


@Helper
def load_keys(b, v_j, k, v, keep, n, begin, elu):
    """b = phi(k) and v of one chunk; a row that is masked, or past the end, is 0."""
    load_rows(b, k, begin, elu)
    load_rows(v_j, v, begin, False)
    if keep.shape[0] > 0:
        for r in range(min(CHUNK, k.shape[0] - begin)):
            if not keep[n, begin + r]:
                clear(b[r : r + 1])
                clear(v_j[r : r + 1])


@Helper
def drop_future(p):
    """p[j, i] = 0 where key j comes after query i."""
    for j in range(1, CHUNK):
        for i in range(j):
            p[j, i] = 0


@Helper
def add_rows(total, x):
    """total += sum_r x[r]"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            total[e] += x[r, e]


@Helper
def weigh_rows(total, weights, x):
    """total = sum_r weights[r] x[r]"""
    for e in range(x.shape[1]):
        total[e] = 0
    for r in range(x.shape[0]):
        w = weights[r]
        for e in range(x.shape[1]):
            total[e] += w * x[r, e]


@Helper
def divide(o, share, begin, o_i, c, eps):
    """o = o / (c + eps), and share = 1 / (c + eps); where that is 1 / 0, both are 0."""
    zero, one = c.dtype.type(0), c.dtype.type(1)
    for r in range(min(CHUNK, o.shape[0] - begin)):
        total = c[r] + eps
        share[begin + r] = zero if total == zero else one / total
        for e in range(o.shape[1]):
            o[begin + r, e] = zero if total == zero else o_i[r, e] / total
