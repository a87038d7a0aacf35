"""Matrix products inside kernels, for factors of any size."""

import numpy as np

from .compiling import Helper, reads, writes
from .registers import BESIDE, LANES, ROWS, block

four, three, two, one = (block(ROWS, vectors) for vectors in (4, 3, 2, 1))
edge = block(ROWS, None)  # the last columns, if they are fewer than a vector has
row, corner = block(1, 1), block(1, None)  # a single row


def aligned(x, dtype):
    """Return a copy of x, of that dtype, that begins at a multiple of 64 bytes.

    A processor loads a vector that crosses such a multiple in two parts. A copy of the
    second factor of a product saves that time after a few rows.
    """
    memory = np.empty(x.size + 64 // dtype.itemsize, dtype)
    address = memory.__array_interface__["data"][0]
    start = -address % 64 // dtype.itemsize
    copy = memory[start : start + x.size].reshape(x.shape)
    copy[...] = x
    return copy


@Helper
def aligned_empty(rows, width, like):
    """Return an array (rows, width) that begins at a multiple of 64 bytes.

    It has the dtype of the array ``like``, and its numbers are not set.
    """
    memory = np.empty(rows * width + 64 // like.itemsize, like.dtype)
    start = -memory.ctypes.data % 64 // like.itemsize
    return memory[start : start + rows * width].reshape(rows, width)


@Helper
def copied(out, x):
    """Copy x into the first rows of ``out``, and return these rows."""
    first = out[: x.shape[0]]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            first[i, j] = x[i, j]
    return first


@Helper
def multiply_number(x: writes(2), number: float):
    """x = number x"""
    for r in range(x.shape[0]):
        for e in range(x.shape[1]):
            x[r, e] *= number


@Helper
def multiply(
    c: writes(2, "A"), a: reads(2, layout="A"), b: reads(2, layout="A"), add: bool
):
    """c += a @ b if ``add``, else c = a @ b.

    c (M, N), a (M, K), b (K, N); M, N, K are any lengths.
    a may have any strides. The numbers of a row of b or c must lie side by side.
    """
    M, N = c.shape
    whole_rows = M - M % ROWS
    j = 0
    while j < N:
        left = (N - j) // LANES
        # blocks of about equal width: a narrow one cannot keep the processor busy
        blocks = max((left + BESIDE - 1) // BESIDE, 1)
        vectors = (left + blocks - 1) // blocks
        width = vectors * LANES if vectors else N - j
        for i in range(0, whole_rows, ROWS):
            if vectors == 4:
                four(c, a, b, i, j, width, add)
            elif vectors == 3:
                three(c, a, b, i, j, width, add)
            elif vectors == 2:
                two(c, a, b, i, j, width, add)
            elif vectors == 1:
                one(c, a, b, i, j, width, add)
            else:
                edge(c, a, b, i, j, width, add)
        for i in range(whole_rows, M):
            for v in range(vectors):
                row(c, a, b, i, j + v * LANES, LANES, add)
            if not vectors:
                corner(c, a, b, i, j, width, add)
        j += width
