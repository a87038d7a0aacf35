"""The compiled loop of ``minigrad.linear``: y = x W^T + b, and its backward.

The twin is ``minigrad/ops/matmul.py``. A product is computed from blocks in the
registers. Threads share its rows and columns; each sum is computed by one thread, from
its first term to its last, so every number of threads gives the same bits.
"""

import math

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .pool import WORTH_A_CALL
from .product import aligned_empty, multiply

DEPTH = 128  # rows of b at a time; 64 of their columns fill the first cache
WIDTH = 192  # columns of b at a time: whole blocks of 64 columns, and of 24 with AVX2
ROWS = 32  # rows of a of a work item


def linear(x, weight, bias=None, *, needs=(True, True, True)):
    """Compute ``minigrad.linear``; NotImplemented if its taught form should run."""
    n_out, n_in = weight.shape
    N = math.prod(x.shape[:-1])
    work = N * n_out * n_in
    same = x.dtype == weight.dtype and (bias is None or bias.dtype == x.dtype)
    if N == 1 or work < WORTH_A_CALL or not same:  # a row: W would be copied for it
        return NotImplemented
    forward = forward_loop.on_threads(x.dtype, work)
    if forward is None:
        return NotImplemented
    if any(needs):  # without gradients, as under no_grad, it is not compiled
        backwards = backward_loop.on_threads(x.dtype, 2 * work)
    X, weight = np.ascontiguousarray(x).reshape(N, n_in), np.ascontiguousarray(weight)
    Y = np.empty((N, n_out), x.dtype)
    b = np.empty(0, x.dtype) if bias is None else np.ascontiguousarray(bias)
    forward(items(N, n_out), X, weight, b, Y)

    def backward(g):
        G = np.ascontiguousarray(g).reshape(N, n_out)
        dX = np.empty((N, n_in) if needs[0] else (0, 0), x.dtype)
        dW = np.empty((n_out, n_in) if needs[1] else (0, 0), x.dtype)
        units = max(N // n_out, 1)  # an item of dW is as much work as so many of dX
        number = items(*dX.shape) + units * items(*dW.shape)
        backwards(number, units, G, weight, X, dX, dW)
        dX, dW = dX.reshape(x.shape) if needs[0] else None, dW if needs[1] else None
        return dX, dW, G.sum(0) if bias is not None and needs[2] else None

    return Y.reshape(*x.shape[:-1], n_out), backward


def items(rows, columns):
    """Return the number of work items of a product with so many rows and columns."""
    return -(-rows // ROWS) * -(-columns // WIDTH)


@kernel
def forward_loop(
    start: int,
    stop: int,
    x: reads(2),
    weight: reads(2),
    bias: reads(1),
    y: writes(2),
):
    """y = x W^T + b; bias is empty if there is none."""
    product(start, stop, x, weight, True, bias, y)


@kernel
def backward_loop(
    start: int,
    stop: int,
    units: int,
    g: reads(2),
    weight: reads(2),
    x: reads(2),
    dx: writes(2),
    dW: writes(2),
):
    """dx = g W,  dW = g^T x; one that is empty is not wanted.

    The work items of dx come first, then those of dW: the two are one job for the
    threads, which wait for each other only once. An item of dW counts as so many
    ``units``.
    """
    n_dx = parts(dx.shape[0], ROWS) * parts(dx.shape[1], WIDTH)
    n_dW = parts(dW.shape[0], ROWS) * parts(dW.shape[1], WIDTH)
    nothing = np.empty(0, g.dtype)
    product(start, min(stop, n_dx), g, weight, False, nothing, dx)
    start, stop = max(start - n_dx, 0), max(stop - n_dx, 0)
    first, last = parts(start, units), min(parts(stop, units), n_dW)
    product(first, last, g.T, x, False, nothing, dW)


@Helper
def parts(n, size):
    """Return n / size, rounded up."""
    return (n + size - 1) // size


@Helper
def product(
    start: int,
    stop: int,
    a: reads(2, layout="A"),
    b: reads(2),
    transposed: bool,
    bias: reads(1),
    c: writes(2),
):
    """c = a b + bias, or a b^T + bias if ``transposed``, of the items start to stop.

    Without a bias, bias.size is 0.

    An item is ROWS rows and WIDTH columns of c. The items of the same columns are
    neighbours, because a copy of these columns of b serves all of them.
    """
    (M, K), N = a.shape, c.shape[1]
    copy = aligned_empty(DEPTH, WIDTH, c)
    chunks = parts(M, ROWS)
    item = start
    while item < stop:
        panel = item // chunks
        end = min(stop, (panel + 1) * chunks)
        j0, j1 = panel * WIDTH, min((panel + 1) * WIDTH, N)
        for k0 in range(0, K, DEPTH):
            k1 = min(k0 + DEPTH, K)
            b_k = pack(copy, b, transposed, k0, k1, j0, j1)
            for chunk in range(item - panel * chunks, end - panel * chunks):
                i0, i1 = chunk * ROWS, min((chunk + 1) * ROWS, M)
                if bias.size and k0 == 0:
                    for i in range(i0, i1):
                        c_i, bias_j = c[i, j0:j1], bias[j0:j1]
                        for j in range(j1 - j0):
                            c_i[j] = bias_j[j]
                add = bias.size > 0 or k0 > 0
                multiply(c[i0:i1, j0:j1], a[i0:i1, k0:k1], b_k, add)
        item = end


@Helper
def pack(
    out: writes(2), b: reads(2), transposed: bool, k0: int, k1: int, j0: int, j1: int
):
    """Copy b[k0:k1, j0:j1], of b or of b^T, to the corner of ``out``; return it."""
    if transposed:
        for j in range(j0, j1):
            row = b[j, k0:k1]
            for k in range(k1 - k0):
                out[k, j - j0] = row[k]
    else:
        for k in range(k0, k1):
            row, target = b[k, j0:j1], out[k - k0]
            for j in range(j1 - j0):
                target[j] = row[j]
    return out[: k1 - k0, : j1 - j0]
