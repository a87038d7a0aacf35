"""Linear attention and memories with decay: a pass over a sequence, with a state.

The twins, and the ones to read, are ``Scan.forward`` in ``variants/linear_scan.py``,
``scan`` in ``variants/decay.py`` and ``delta_scan`` in ``variants/delta_rule.py``. It
is one recurrence. Linear attention has a = 1, features, and a denominator; the delta
rule has u in the place of v. The backward of linear attention is in linear_backward.py,
and that of the delta rule in delta.py; otherwise it is the same pass again, of other
arrays.

A work item is one head, read in chunks of 64: the state holds the sums over the chunks
before, and inside a chunk there is a small masked product. With q and k the features of
the chunk's queries and keys, and M, f and l the products of a (all 1 without decay),

    o = f (q S) + (M * q k^T) v          c = q z + rowsum(tril(q k^T))
    S = f_C S + (l k)^T v                z = z + sum_j k_j

and then, in linear attention, o is divided by c + eps. Not causal: S and z are summed
over all keys first, o = q S and c = q z. The small products have keys down and queries
along, as in tiled attention, so that every loop over them runs along queries.
"""

import math
from typing import NamedTuple

import numpy as np

from .compiling import Helper, as_field, kernel, reads, writes
from .elementary import exp
from .pool import spread
from .product import multiply

CHUNK = 64
MULTIPLY_NS = 0.02  # a multiplication with an addition, in float32
NO_MASK = np.empty((0, 0), bool)  # for ``keep``: no key is masked
SHORT = 16  # fewer tokens: the twin computes them alone, the loop a chunk of CHUNK
BLOCK = 16  # tokens whose errors depend on each other, in ``write_errors``


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


class Memory(NamedTuple):
    """What a memory has beside the sums: decay, the delta rule, a first state."""

    a: reads(2)  # (N, L), the decay; no numbers: none, a = 1
    beta: reads(2)  # (N, L), of the delta rule; no numbers: v is written as it is
    state: reads(3)  # (N, E, Ev), before the first token; no numbers: 0
    reverse: bool  # from the last token to the first; see ``scan`` in variants/decay.py
    own: bool  # whether o_t has the pair of a token with itself

    @classmethod
    def of(cls, dtype, a=None, beta=None, state=None, reverse=False, own=True):
        """Return the record of a and beta (N, L, 1) and a state; None: it has none."""
        a, beta, state = (
            np.empty((0, 0, 0), dtype) if x is None else as_field(x, dtype)
            for x in (a, beta, state)
        )
        a, beta = (x.reshape(x.shape[:2]) for x in (a, beta))
        return cls(a, beta, state, reverse, own)


class Results(NamedTuple):
    """What the forward loop writes; an array without numbers is not written."""

    o: writes(3)  # (N, L, Ev)
    inv_sum: writes(2)  # (N, L): 1 / (c + eps), of linear attention
    state: writes(3)  # (N, E, Ev), after the last token, of a memory
    errors: writes(3)  # (N, L, Ev), v - S'^T k, of the delta rule


def forward(q, k, v, keep, causal, elu, eps):
    """Return o (N, L, Ev) and 1 / (c + eps) (N, L); None when the twin should run.

    q (N, L, E), k (N, S, E), v (N, S, Ev), keep (N, S) bool or None
    """
    scan, (N, L, _), dtype = Scan.of(q, k, v, keep, causal, elu), q.shape, q.dtype
    none = np.empty((0, 0, 0), dtype)
    results = Results(
        np.empty((N, L, v.shape[2]), dtype), np.empty((N, L), dtype), none, none
    )
    found = _run(scan, Memory.of(dtype), eps, results)
    return found and (found.o, found.inv_sum)


def memory(q, k, v, a, state, reverse=False, beta=None, own=True):
    """Return o, the errors and the last state; None when the twin should run.

    q and k (..., L, E), v (..., L, Ev), a and beta (..., L, 1), state (..., E, Ev)

    The leading axes of the state are those of all results. With beta it is the delta
    rule; otherwise there are no errors.
    """
    leading, dtype, none = state.shape[:-2], q.dtype, np.empty((0, 0, 0), q.dtype)
    if q.shape[-2] < SHORT:
        return None
    q, k, v, *numbers = (
        x if x is None else flatten_heads(x, leading) for x in (q, k, v, a, beta, state)
    )
    record = Memory.of(dtype, *numbers, reverse, own)
    errors = none if beta is None else np.empty(v.shape, dtype)
    o, last = np.empty(v.shape, dtype), np.empty(record.state.shape, dtype)
    results = Results(o, np.empty((0, 0), dtype), last, errors)
    if _run(Scan.of(q, k, v, None, True, False), record, 0.0, results) is None:
        return None
    return tuple(x.reshape(*leading, *x.shape[1:]) for x in (o, errors, last))


def flatten_heads(x, leading):
    """Broadcast the leading axes and make them one: (..., n, E) -> (N, n, E)."""
    n, E = x.shape[-2:]
    if x.shape[:-2] != leading:
        x = np.broadcast_to(x, (*leading, n, E))
    return np.ascontiguousarray(x.reshape(math.prod(leading), n, E))


def _run(scan, memory, eps, results):
    """Run the loop and return the results; None when the twin should run."""
    time = scan.nanoseconds()
    loop = forward_loop.version(scan.q.dtype, time)
    if loop is None:
        return None
    spread(loop, len(scan.q), time, scan, memory, eps, results)
    return results


@kernel
def forward_loop(
    start: int, stop: int, scan: Scan, memory: Memory, eps: float, results: Results
):
    """Compute the results; a work item is one head."""
    q, v = scan.q, scan.v
    L, E = q.shape[1], q.shape[2]
    S, Ev = v.shape[1], v.shape[2]
    has_decay, has_errors = memory.a.shape[0] > 0, memory.beta.shape[0] > 0
    is_divided = results.inv_sum.shape[0] > 0
    columns = np.empty((E, CHUNK), q.dtype)  # a query in each column
    k_columns = np.empty((E if has_errors else 0, CHUNK), q.dtype)
    b = np.empty((CHUNK, E), q.dtype)
    v_j = np.empty((CHUNK, Ev), q.dtype)
    p = np.empty((CHUNK, CHUNK), q.dtype)
    o_i = np.empty((CHUNK, Ev), q.dtype)
    c = np.empty(CHUNK, q.dtype)
    state = np.empty((E, Ev), q.dtype)
    z = np.empty((1, E), q.dtype)
    m = np.empty((CHUNK if has_decay else 0, CHUNK), q.dtype)
    f, l = np.empty(CHUNK, q.dtype), np.empty(CHUNK, q.dtype)
    chunks = (L + CHUNK - 1) // CHUNK
    for n in range(start, stop):
        clear(state)
        clear(z)
        if memory.state.shape[0] > 0:
            store_rows(state, 0, memory.state[n], E)
        if not scan.causal:
            for j in range(0, S, CHUNK):
                load_keys(b, v_j, scan, n, j)
                multiply(state, b.T, v_j, True)
                add_rows(z[0], b)
        for number in range(chunks):
            i = (chunks - 1 - number if memory.reverse else number) * CHUNK
            load_rows(b, q[n], i, scan.elu)
            transpose(columns, b)
            if has_decay:
                decay = products(m, f, l, memory.a[n], i, memory.reverse)
            if has_errors:
                load_keys(b, v_j, scan, n, i)
                transpose(k_columns, b)
                multiply(p, b, k_columns, False)
                multiply(o_i, b, state, False)
                solve_errors(v_j, p, m, f, o_i, memory.beta[n], results.errors[n], i)
            multiply(o_i, columns.T, state, False)
            if has_decay:
                scale_rows(o_i, f)
            if is_divided:
                weigh_rows(c, z[0], columns)
            if scan.causal:
                if not has_errors:
                    load_keys(b, v_j, scan, n, i)
                multiply(p, b, columns, False)
                if has_decay:
                    if not memory.own:
                        clear_diagonal(m)
                    scale(p, m)
                else:
                    drop_future(p)
                if is_divided:
                    add_rows(c, p)
                    add_rows(z[0], b)
                add_values(o_i, p, v_j, memory.reverse)
                if has_decay:
                    scale_rows(b, l)
                    multiply_number(state, decay)
                multiply(state, b.T, v_j, True)
            if is_divided:
                divide(results.o[n], results.inv_sum[n], i, o_i, c, eps)
            else:
                store_rows(results.o[n], i, o_i, min(CHUNK, L - i))
        if results.state.shape[0] > 0:
            store_rows(results.state[n], 0, state, E)


@Helper
def add_values(o: writes(2), p: reads(2), v: reads(2), reverse: bool):
    """o += p^T v, where p is 0 for keys later than the query; reverse: for earlier."""
    for s in range(0, CHUNK, BLOCK):
        t = s + BLOCK
        first, last = (s, CHUNK) if reverse else (0, t)
        multiply(o[s:t], p[first:last, s:t].T, v[first:last], True)


@Helper
def products(
    m: writes(2), f: writes(1), l: writes(1), a: reads(1), begin: int, reverse: bool
):
    """m[j, i] = M_ij for key j and query i, and the decays of ``products`` (decay.py).

    f   from the state before to each query; l: from each key to the state after
    """
    one = m.dtype.type(1)
    rows = min(CHUNK, a.shape[0] - begin)
    for r in range(CHUNK):
        l[r] = a[begin + r] if r < rows else one
    for j in range(CHUNK):
        clear(m[j : j + 1])
        m[j, j] = one
    if reverse:  # M_ij = a_(i+1) ... a_j for keys j >= i
        for j in range(1, CHUNK):
            for i in range(j):
                m[j, i] = l[j] * m[j - 1, i]
    else:  # M_ij = a_(j+1) ... a_i for keys j <= i
        for j in range(CHUNK - 2, -1, -1):
            for i in range(j + 1, CHUNK):
                m[j, i] = l[j + 1] * m[j + 1, i]
    first, last = l[0], CHUNK - 1
    for r in range(CHUNK):
        f[r] = m[last, r] if reverse else first * m[0, r]
        l[r] = first * m[r, 0] if reverse else m[r, last]
    return f[0] * first if reverse else f[last]


@Helper
def solve_errors(
    u: writes(2),
    p: writes(2),
    m: reads(2),
    f: reads(1),
    read: reads(2),
    beta: reads(1),
    errors: writes(2),
    begin: int,
):
    """Replace the values u by beta r, and store the errors r: the delta rule.

        r_i = v_i - f_i S^T k_i - sum_(j < i) M_ij (k_i . k_j) beta_j r_j

    p (keys, queries) has k_j . k_i, and ``read`` S^T k_i. A block of tokens subtracts
    what earlier blocks wrote in one product.
    """
    for j in range(CHUNK):
        for i in range(CHUNK):
            p[j, i] = -p[j, i] * m[j, i]
    for i in range(CHUNK):
        for e in range(u.shape[1]):
            u[i, e] -= f[i] * read[i, e]
    rows = min(CHUNK, beta.shape[0] - begin)
    for s in range(0, CHUNK, BLOCK):
        multiply(u[s : s + BLOCK], p[:s, s : s + BLOCK].T, u[:s], True)
        for i in range(s, min(s + BLOCK, rows)):
            for j in range(s, i):
                w = p[j, i]
                for e in range(u.shape[1]):
                    u[i, e] += w * u[j, e]
            for e in range(u.shape[1]):
                errors[begin + i, e] = u[i, e]
                u[i, e] *= beta[begin + i]


@Helper
def transpose(out: writes(2), x: reads(2)):
    """out = x^T"""
    for e in range(x.shape[1]):
        for r in range(x.shape[0]):
            out[e, r] = x[r, e]


@Helper
def scale(x: writes(2), y: reads(2)):
    """x = x y, number by number"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            x[r, e] *= y[r, e]


@Helper
def scale_rows(x: writes(2), weights: reads(1)):
    """x[r] = weights[r] x[r]"""
    for r in range(x.shape[0]):
        w = weights[r]
        for e in range(x.shape[1]):
            x[r, e] *= w


@Helper
def multiply_number(x: writes(2), number: float):
    """x = number x"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            x[r, e] *= number


@Helper
def store_rows(out: writes(2), begin: int, x: reads(2), rows: int):
    """out[begin + r] = x[r], for r < rows"""
    for r in range(rows):
        for e in range(out.shape[1]):
            out[begin + r, e] = x[r, e]


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
def clear_diagonal(x: writes(2)):
    """x_ii = 0"""
    for r in range(x.shape[0]):
        x[r, r] = 0


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
