"""Matrix products inside kernels, also where a weight of 0 has to exclude NaN.

In a product 0 * NaN is NaN, so one row of NaN padding would spread to every result. So
rows with NaN or infinity are added apart from the others, only where their weight is
not 0.
"""

import numpy as np

from .compiling import Helper, reads, writes
from .registers import BESIDE, LANES, ROWS, Block

four, three, two, one = (Block(ROWS, vectors) for vectors in (4, 3, 2, 1))
edge, row, corner = Block(ROWS, None), Block(1, 1), Block(1, None)


def weighted_sum(p, v):
    """p @ v, where p_ij = 0 keeps v_j out of o_i although v_j be NaN: NumPy's twin.

    p (..., L, S), v (..., S, E)  ->  o (..., L, E)
    """
    with np.errstate(invalid="ignore", over="ignore"):
        bad = ~np.isfinite(v).all(-1)  # (..., S)
        if not bad.any():
            return p @ v
        o = p @ np.where(bad[..., None], 0, v)
        for j in np.flatnonzero(bad.reshape(-1, bad.shape[-1]).any(0)):
            p_j = np.where(bad[..., None, j], p[..., j], 0)[..., None]  # (..., L, 1)
            o += np.where(p_j != 0, p_j * v[..., None, j, :], 0)
        return o


def idle(o, lse, *gradients):
    """Queries whose results are no numbers, and that no gradient has come for.

    o (..., L, Ev), lse (..., L), and gradients with axes (..., L, ·) or none

    -> (..., L) bool, or None if there is none such. They may be padding: where the
    gradient of a result is 0, neither may anything that the result was made of count.
    """
    found = ~np.isfinite(o).all(-1) | np.isnan(lse) | (lse == np.inf)
    for g in gradients if found.any() else ():
        found &= ~(g != 0).reshape(*found.shape, -1).any(-1)
    return found if found.any() else None


def aligned(x, dtype):
    """A copy of x, of that dtype, that begins where a vector register may: at 64 bytes.

    A vector that lies across the border of two such stretches is loaded twice; as the
    second factor of a product a copy pays after some rows.
    """
    room = np.empty(x.size + 64 // dtype.itemsize, dtype)
    start = -room.ctypes.data % 64 // dtype.itemsize
    copy = room[start : start + x.size].reshape(x.shape)
    copy[...] = x
    return copy


@Helper
def multiply(
    c: writes(2, "A"), a: reads(2, layout="A"), b: reads(2, layout="A"), add: bool
):
    """c += a @ b if ``add``, else c = a @ b;  c (M, N), a (M, K), b (K, N)."""
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


@Helper
def all_finite(x: reads(2)):
    """Whether no number is NaN or infinite."""
    zero = x.dtype.type(0)
    for r in range(x.shape[0]):
        bad = 0
        for e in range(x.shape[1]):
            bad += x[r, e] * zero != zero
        if bad:
            return False
    return True


@Helper
def accumulate(c: writes(2), a: reads(2, layout="A"), b: reads(2), masked: bool):
    """c += a @ b; where there may be zeros because of a mask, they keep rows out."""
    if masked and not all_finite(b):
        accumulate_around(c, a, b)
    else:
        multiply(c, a, b, True)


@Helper
def accumulate_around(c: writes(2), a: reads(2, layout="A"), b: reads(2)):
    """c += a @ b, but for the rows of b that a 0 in a keeps out.

    Where all rows that are met are finite, c gets the same bits as from ``multiply``.
    """
    clean = np.empty(b.shape, c.dtype)
    for k in range(b.shape[0]):
        keep = all_finite(b[k : k + 1])
        for j in range(b.shape[1]):
            clean[k, j] = b[k, j] if keep else 0
    multiply(c, a, clean, True)
    for k in range(b.shape[0]):
        if all_finite(b[k : k + 1]):
            continue
        for i in range(a.shape[0]):
            if a[i, k] != 0:
                for j in range(b.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]
