"""Images as sequences: patches, their rows and columns, and rotations by both.

    an image (H, W, C) in patches of P x P pixels is a sequence of H W / P^2 vectors of
    P^2 C numbers, one row of patches after the other

``rope_2d`` rotates half of the pairs of a vector by its row, and the other half by its
column. So a product of two rotated vectors depends only on the difference of their rows
and on that of their columns.

Dosovitskiy et al. 2021 (patches); Heo et al. 2024 (rotations in two dimensions).
"""

import numpy as np

from minigrad import concat, reshape, transpose
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..template import attend
from ..variants.row import Variant
from .rope import rope


@shapes
def patches(images, size):
    """Cut images into patches, one row of patches after the other.

    images (..., H, W, C)  ->  x (..., n, D)

    size   P; H and W are multiples of it, n = H W / P^2 and D = P^2 C
    """
    *leading, H, W, C = images.shape
    P = whole("patches", "size", size, least=1)
    if H % P or W % P:
        raise ValueError(
            f"patches: images have {H} x {W} pixels and size is {P}; expected a size "
            "that divides both."
        )
    n = len(leading)
    blocks = reshape(images, (*leading, H // P, P, W // P, P, C))
    order = (*range(n), n, n + 2, n + 1, n + 3, n + 4)  # (..., H/P, W/P, P, P, C)
    return reshape(transpose(blocks, order), (*leading, H * W // P**2, P * P * C))


def grid(rows, columns):
    """Return the row and the column of each token, two arrays (rows columns,)."""
    i = np.arange(whole("grid", "rows", rows) * whole("grid", "columns", columns))
    return i // columns, i % columns


@shapes
def rope_2d(x, row, column, base=100.0):
    """Rotate the first half of each vector by its row, and the second by its column.

    x (..., L, E), row (L,) int, column (L,) int  ->  y (..., L, E)

    base   as of ``rope``, smaller because an image has few rows
    """
    if x.shape[-1] % 4:
        raise ValueError(
            f"rope_2d: x has the width {x.shape[-1]}; expected a multiple of 4, pairs "
            "for the rows and as many for the columns."
        )
    half = x.shape[-1] // 2
    halves = rope(x[..., :half], row, base), rope(x[..., half:], column, base)
    return concat(halves, -1)


def _turned(q, k, v, columns):
    """Return attention with queries and keys rotated by their places in an image."""
    row, column = grid(-(-len(q) // columns), columns)
    q, k = (rope_2d(x, row[: len(x)], column[: len(x)]) for x in (q, k))
    return attend(q, k, v)[0]


ROWS = [
    Variant(
        "rope-2d", definitions.rope_2d_attention, _turned,
        inputs="q (S, 4*E), k (S, 4*E), v (S, Ev)",
        multiplications="20*S*E + 4*S*S*E + S*S*Ev",
        options=dict(columns=16),
        small=dict(columns=3),
        about="""score: half of the pairs rotate by the row, the other half by the
        column
        can prefer keys by the number of rows and of columns to the query
        cannot prefer keys by a distance that is no difference of rows or of columns
        lesson 19: the colour at a row and a column; Heo et al. 2024""",
    ),
]  # fmt: skip
