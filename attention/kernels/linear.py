"""Linear attention, forward: one pass over a sequence, with a running state.

The twin is ``Scan.forward`` in ``attention/variants/linear_scan.py``, and the one to
read; the backward is in linear_backward.py. A work item is one head, read in chunks of
64: the state holds the sums over the chunks before, and inside a chunk there is a small
masked product. With a and b the features of the chunk's queries and keys, causal,

    o = a S + tril(a b^T) v          c = a z + rowsum(tril(a b^T))
    S = S + b^T v                    z = z + sum_j b_j

and then o is divided by c + eps. Not causal: S and z are summed over all keys first,
o = a S and c = a z. The small products have keys down and queries along, as in tiled
attention, so that every loop over them runs along queries.
"""

from typing import NamedTuple

import numpy as np

from .compiling import Helper, as_field, kernel, reads, writes
from .elementary import exp
from .pool import spread
from .product import multiply

CHUNK = 64
MULTIPLY_NS = 0.02  # a multiplication with an addition, in float32
NO_MASK = np.empty((0, 0), bool)  # for ``keep``: no key is masked


class Scan(NamedTuple):
    """The inputs, as in the class ``Scan`` of the twin."""

    q: reads(3)  # (N, L, E)
    k: reads(3)  # (N, S, E)
    v: reads(3)  # (N, S, Ev)
    keep: reads(2, bool)  # (N, S), False for masked keys; (0, 0): no key is masked
    causal: bool
    elu: bool  # a = elu(q) + 1, b = elu(k) + 1; else q and k are the features

    @classmethod
    def of(cls, q, k, v, keep, causal, elu):
        """Return the record of these arrays."""
        q, k, v = (as_field(x, q.dtype) for x in (q, k, v))
        keep = NO_MASK if keep is None else as_field(keep, bool)
        return cls(q, k, v, keep, causal, elu)

    def nanoseconds(self):
        """Return about how long one pass takes on one thread."""
        (N, L, E), (S, Ev) = self.q.shape, self.v.shape[1:]
        in_chunks = self.causal * L * CHUNK * (E + Ev)
        return MULTIPLY_NS * N * ((L + S) * E * Ev + in_chunks)


def forward(q, k, v, keep, causal, elu, eps):
    """Return o (N, L, Ev) and 1 / (c + eps) (N, L); None when the twin should run.

    q (N, L, E), k (N, S, E), v (N, S, Ev), keep (N, S) bool or None
    """
    scan = Scan.of(q, k, v, keep, causal, elu)
    loop = forward_loop.version(q.dtype, scan.nanoseconds())
    if loop is None:
        return None
    (N, L, _), Ev = q.shape, v.shape[2]
    o, inv_sum = np.empty((N, L, Ev), q.dtype), np.empty((N, L), q.dtype)
    spread(loop, N, scan.nanoseconds(), scan, eps, o, inv_sum)
    return o, inv_sum


@kernel
def forward_loop(
    start: int, stop: int, scan: Scan, eps: float, o: writes(3), inv_sum: writes(2)
):
    """Compute o and 1 / (c + eps); a work item is one head."""
    q, v = scan.q, scan.v
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
        if not scan.causal:
            for j in range(0, S, CHUNK):
                load_keys(b, v_j, scan, n, j)
                multiply(state, b.T, v_j, True)
                add_rows(z[0], b)
        for i in range(0, L, CHUNK):
            load_columns(columns, q[n], i, scan.elu)
            multiply(o_i, columns.T, state, False)
            weigh_rows(c, z[0], columns)
            if scan.causal:
                load_keys(b, v_j, scan, n, i)
                multiply(p, b, columns, False)
                drop_future(p)
                add_rows(c, p)
                multiply(o_i, p.T, v_j, True)
                multiply(state, b.T, v_j, True)
                add_rows(z[0], b)
            divide(o[n], inv_sum[n], i, o_i, c, eps)


@Helper
def apply_phi(x: writes(1)):
    """Replace x by phi(x) = elu(x) + 1, which is x + 1 above 0 and e^x below."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    for e in range(x.shape[0]):
        x_e = x[e]
        y = exp(zero if x_e > zero else x_e)  # NaN stays NaN
        x[e] = x_e + one if x_e > zero else y


@Helper
def clear(x: writes(2)):
    """x = 0"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            x[r, e] = 0


@Helper
def load_rows(out: writes(2), x: reads(2), begin: int, elu: bool):
    """out[r] = phi(x[begin + r]), and 0 past the end of x."""
    rows = min(CHUNK, x.shape[0] - begin)
    for r in range(rows):
        for e in range(x.shape[1]):
            out[r, e] = x[begin + r, e]
        if elu:
            apply_phi(out[r])
    clear(out[rows:])


@Helper
def load_columns(out: writes(2), x: reads(2), begin: int, elu: bool):
    """out[:, r] = phi(x[begin + r]), and 0 past the end of x."""
    rows = min(CHUNK, x.shape[0] - begin)
    for e in range(x.shape[1]):
        for r in range(rows):
            out[e, r] = x[begin + r, e]
        if elu:
            apply_phi(out[e, :rows])
        for r in range(rows, CHUNK):
            out[e, r] = 0


@Helper
def load_keys(b: writes(2), v_j: writes(2), scan: Scan, n: int, begin: int):
    """b = phi(k) and v of one chunk; a row that is masked, or past the end, is 0."""
    load_rows(b, scan.k[n], begin, scan.elu)
    load_rows(v_j, scan.v[n], begin, False)
    if scan.keep.shape[0] > 0:
        for r in range(min(CHUNK, scan.k.shape[1] - begin)):
            if not scan.keep[n, begin + r]:
                clear(b[r : r + 1])
                clear(v_j[r : r + 1])


@Helper
def drop_future(p: writes(2)):
    """p[j, i] = 0 where key j comes after query i."""
    for j in range(1, CHUNK):
        for i in range(j):
            p[j, i] = 0


@Helper
def add_rows(total: writes(1), x: reads(2)):
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
def divide(o, inv_sum, begin, o_i, c, eps):
    """o = o / (c + eps), inv_sum = 1 / (c + eps); both are 0 where c + eps = 0."""
    zero, one = c.dtype.type(0), c.dtype.type(1)
    for r in range(min(CHUNK, o.shape[0] - begin)):
        total = c[r] + eps
        inv_sum[begin + r] = zero if total == zero else one / total
        for e in range(o.shape[1]):
            o[begin + r, e] = zero if total == zero else o_i[r, e] / total
