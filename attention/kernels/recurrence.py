"""A state that decays, and is added to, at each token: one pass over a sequence.

The twins, and the ones to read, are ``scan`` in ``variants/recurrence.py``, for one
number a_t for each token, and ``delta_scan`` in ``variants/delta_rule.py``. It is one
recurrence; the delta rule has u in the place of v. A backward is the same pass again,
over other arrays; for the gradients of u it is in delta.py.

A work item is one head, read in chunks of 64: the state holds the sums over the chunks
before, and inside a chunk there is a small masked product. With M, f and l the products
of a in the chunk,

    o = f (q S) + (M * q k^T) v          S = f_C S + (l k)^T v

The small products have keys down and queries along, as in tiled attention, so that
every loop over them runs along queries.
"""

import math
from typing import NamedTuple

import numpy as np

from .compiling import Helper, as_field, kernel, reads, writes
from .product import copied, multiply, multiply_number

CHUNK = 64
SHORT = 16  # fewer tokens: the twin runs, as the loop would compute a whole chunk
BLOCK = 16  # tokens whose errors depend on each other, in ``solve_errors``


class Memory(NamedTuple):
    """The inputs; see ``scan`` in variants/recurrence.py."""

    q: reads(3)  # (N, L, E)
    k: reads(3)  # (N, L, E)
    v: reads(3)  # (N, L, Ev)
    a: reads(2)  # (N, L), the decay
    beta: reads(2)  # (N, L), of the delta rule; no numbers: v is written as it is
    state: reads(3)  # (N, E, Ev), before the first token
    reverse: bool  # from the last token to the first
    own: bool  # whether o_t has the pair of a token with itself

    @classmethod
    def of(cls, q, k, v, a, state, beta=None, reverse=False, own=True):
        """Return the record of arrays whose leading axes are broadcast to the state's.

        q and k (..., L, E), v (..., L, Ev), a and beta (..., L, 1), state (..., E, Ev)
        """
        leading, dtype = state.shape[:-2], q.dtype
        q, k, v, a, state = (
            as_field(flatten_heads(x, leading), dtype) for x in (q, k, v, a, state)
        )
        if beta is None:
            beta = np.empty((0, 0), dtype)
        else:
            beta = as_field(flatten_heads(beta, leading), dtype)[..., 0]
        return cls(q, k, v, a[..., 0], beta, state, reverse, own)

    def work(self):
        """Return the multiplications of one pass."""
        (N, L, E), Ev = self.q.shape, self.v.shape[2]
        return N * L * (2 * E * Ev + CHUNK * (E + Ev))


class Results(NamedTuple):
    """What the forward loop writes; an array without numbers is not written."""

    o: writes(3)  # (N, L, Ev)
    state: writes(3)  # (N, E, Ev), after the last token
    errors: writes(3)  # (N, L, Ev), v - S'^T k, of the delta rule


def memory(q, k, v, a, state, beta=None, **options):
    """Return o, the errors and the last state; None when the twin should run.

    q and k (..., L, E), v (..., L, Ev), a and beta (..., L, 1), state (..., E, Ev)

    The leading axes of the state are those of all results. With beta it is the delta
    rule; otherwise there are no errors.
    """
    if q.shape[-2] < SHORT:
        return None
    inputs = Memory.of(q, k, v, a, state, beta, **options)
    loop = forward_loop.on_threads(q.dtype, inputs.work())
    if loop is None:
        return None
    shape = inputs.v.shape
    results = Results(
        np.empty(shape, q.dtype),
        np.empty_like(inputs.state),
        np.empty((0, 0, 0) if beta is None else shape, q.dtype),
    )
    loop(len(inputs.q), inputs, results)
    o, last, errors = (
        x.reshape(*state.shape[:-2], *x.shape[1:]) if len(x) == len(inputs.q) else None
        for x in results
    )
    return o, errors, last


def flatten_heads(x, leading):
    """Broadcast the leading axes and make them one: (..., n, E) -> (N, n, E)."""
    n, E = x.shape[-2:]
    if x.shape[:-2] != leading:
        x = np.broadcast_to(x, (*leading, n, E))
    return np.ascontiguousarray(x.reshape(math.prod(leading), n, E))


@kernel
def forward_loop(start: int, stop: int, memory: Memory, results: Results):
    """Compute the results; a work item is one head."""
    q, v = memory.q, memory.v
    L, E, Ev = q.shape[1], q.shape[2], v.shape[2]
    has_errors = memory.beta.shape[0] > 0
    columns = np.empty((E, CHUNK), q.dtype)  # a query in each column
    k_columns = np.empty((E if has_errors else 0, CHUNK), q.dtype)
    b = np.empty((CHUNK, E), q.dtype)
    v_j = np.empty((CHUNK, Ev), q.dtype)
    p = np.empty((CHUNK, CHUNK), q.dtype)
    o_i = np.empty((CHUNK, Ev), q.dtype)
    state = np.empty((E, Ev), q.dtype)
    m = np.empty((CHUNK, CHUNK), q.dtype)
    f, l = np.empty(CHUNK, q.dtype), np.empty(CHUNK, q.dtype)
    chunks = (L + CHUNK - 1) // CHUNK
    for n in range(start, stop):
        copied(state, memory.state[n])
        for number in range(chunks):
            i = (chunks - 1 - number if memory.reverse else number) * CHUNK
            decay = products(m, f, l, memory.a[n], i, memory.reverse)
            load_rows(b, q[n], i)
            transpose(columns, b)
            load_rows(b, memory.k[n], i)
            load_rows(v_j, v[n], i)
            if has_errors:
                transpose(k_columns, b)
                multiply(p, b, k_columns, False)
                multiply(o_i, b, state, False)
                solve_errors(v_j, p, m, f, o_i, memory.beta[n], results.errors[n], i)
            multiply(o_i, columns.T, state, False)
            scale_rows(o_i, f)
            multiply(p, b, columns, False)
            if not memory.own:
                clear_diagonal(m)
            scale(p, m)
            add_values(o_i, p, v_j, memory.reverse)
            scale_rows(b, l)
            multiply_number(state, decay)
            multiply(state, b.T, v_j, True)
            copied(results.o[n, i:], o_i[: min(CHUNK, L - i)])
        copied(results.state[n], state)


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
    """m[j, i] = M_ij for key j and query i, and ``row_products`` (its twin).

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
    """x[r] = weights[r] x[r] for each row r"""
    for r in range(x.shape[0]):
        w = weights[r]
        for e in range(x.shape[1]):
            x[r, e] *= w


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
def load_rows(out: writes(2), x: reads(2), begin: int):
    """out[r] = x[begin + r] for each row r, and 0 past the end of x."""
    rows = min(CHUNK, x.shape[0] - begin)
    copied(out, x[begin : begin + rows])
    clear(out[rows:])
