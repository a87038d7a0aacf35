"""The delta rule, backward: the gradients of what it writes, from the last token on.

The twin is ``errors_backward`` in ``attention/variants/delta_rule.py``; the derivation
is there. (The forward is that of recurrence.py, as are the scans for all other
gradients.) With D = dL/dS after a chunk, e_t the gradient of u_t, y_t = beta_t e_t, and
M, f and l of recurrence.py,

    e_j = l_j D^T k_j + sum_(i >= j) M_ij (q_i . k_j) g_i - sum_(i > j) B_ij y_i
    D <- f_C D + (f Q)^T G - (f K)^T Y            B_ij = M_ij (k_i . k_j)

Only one state exists at a time. The layout of chunks is that of recurrence.py.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .product import copied, multiply, multiply_number
from .recurrence import (
    BLOCK, CHUNK, SHORT, Memory, load_rows, products, scale, scale_rows, transpose,
)  # fmt: skip


def backward(q, k, g, a, beta, D):
    """Return e (..., L, Ev) and dL/dS_0; None when the twin should run.

    q and k (..., L, E), g (..., L, Ev), a and beta (..., L, 1), D (..., E, Ev)

    D is dL/dS_L, and its leading axes are those of the results.
    """
    if q.shape[-2] < SHORT:
        return None
    memory = Memory.of(q, k, g, a, D, beta)  # g in the place of the values
    loop = errors_loop.on_threads(q.dtype, memory.work())
    if loop is None:
        return None
    e, first = np.empty_like(memory.v), np.empty_like(memory.state)
    loop(len(memory.q), memory, e, first)
    return tuple(x.reshape(*D.shape[:-2], *x.shape[1:]) for x in (e, first))


@kernel
def errors_loop(
    start: int, stop: int, memory: Memory, e: writes(3), first: writes(3)
):
    """Compute e and dL/dS_0; a work item is one head."""
    q, v = memory.q, memory.v
    L, E, Ev = q.shape[1], q.shape[2], v.shape[2]
    columns = np.empty((E, CHUNK), q.dtype)  # q, a query in each column
    k_columns = np.empty((E, CHUNK), q.dtype)
    b = np.empty((CHUNK, E), q.dtype)
    g = np.empty((CHUNK, Ev), q.dtype)
    y = np.empty((CHUNK, Ev), q.dtype)
    p = np.empty((CHUNK, CHUNK), q.dtype)
    m = np.empty((CHUNK, CHUNK), q.dtype)
    f, l = np.empty(CHUNK, q.dtype), np.empty(CHUNK, q.dtype)
    D = np.empty((E, Ev), q.dtype)
    for n in range(start, stop):
        copied(D, memory.state[n])
        for i in range((L - 1) // CHUNK * CHUNK, -1, -CHUNK):
            decay = products(m, f, l, memory.a[n], i, False)
            load_rows(b, q[n], i)
            transpose(columns, b)
            load_rows(b, memory.k[n], i)
            load_rows(g, v[n], i)
            transpose(k_columns, b)
            multiply(y, b, D, False)
            scale_rows(y, l)
            multiply(p, b, columns, False)
            scale(p, m)
            multiply(y, p, g, True)
            multiply(p, b, k_columns, False)
            scale(p, m)
            solve_from_the_end(y, p, memory.beta[n], e[n], i)
            scale_columns(columns, f)
            scale_columns(k_columns, f)
            multiply_number(y, -1)
            multiply_number(D, decay)
            multiply(D, columns, g, True)
            multiply(D, k_columns, y, True)
        copied(first[n], D)


@Helper
def solve_from_the_end(
    y: writes(2), p: writes(2), beta: reads(1), e: writes(2), begin: int
):
    """Store e_j = y_j - sum_(i > j) p_ji beta_i e_i, and replace y by beta e.

    p (keys, queries) has M_ij (k_i . k_j). A block of tokens subtracts what later
    blocks read in one product.
    """
    for j in range(CHUNK):
        for i in range(CHUNK):
            p[j, i] = -p[j, i]
    rows = min(CHUNK, beta.shape[0] - begin)
    for s in range(CHUNK - BLOCK, -1, -BLOCK):
        t = s + BLOCK
        multiply(y[s:t], p[s:t, t:], y[t:], True)
        for j in range(t - 1, s - 1, -1):
            for i in range(j + 1, t):
                w = p[j, i]
                for d in range(y.shape[1]):
                    y[j, d] += w * y[i, d]
            for d in range(y.shape[1]):
                if j < rows:
                    e[begin + j, d] = y[j, d]
                    y[j, d] *= beta[begin + j]


@Helper
def scale_columns(x: writes(2), weights: reads(1)):
    """x[:, r] = weights[r] x[:, r] for each column r"""
    for d in range(x.shape[0]):
        for r in range(x.shape[1]):
            x[d, r] *= weights[r]
