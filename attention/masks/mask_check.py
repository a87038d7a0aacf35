"""Compare the key ranges and the tile kinds of your own mask with its definition.

    check_mask(mask, L=300, S=200)

Attention in tiles reads the ranges and the kinds, and skips what they call empty. A
wrong one changes results without an error.
"""

import numpy as np

from minigrad.arguments import whole

from .algebra import as_mask
from .block_mask import BlockMask
from .tiling import PARTIAL, UNKNOWN, Tiling

NAMES = np.array(["empty", "full", "partial", "unknown"])
BLOCKS = 1, 3, 16, 128


def check_mask(mask, L, S, B=None, H=None):
    """Compare the key ranges and the tile kinds of a mask with its ``allowed``.

    mask   a mask, or a function (b, h, q_idx, kv_idx) -> bool
    L, S   the numbers of queries and keys; choose them larger than one tile of 128
    B, H   the numbers of examples and heads; None if the mask has them, or is the same
           for all

    Raises ValueError for the first difference. It evaluates all L S pairs, for tiles of
    several sizes.
    """
    L, S = whole("check_mask", "L", L), whole("check_mask", "S", S)
    mask = as_mask(mask).sized(L, S)
    allowed = mask.dense(B, H, L, S)  # (B | 1, H | 1, L, S)
    if (ranges := mask.key_ranges(L, S)) is not None:
        lo, hi = (x[..., None] for x in ranges)
        kv = np.arange(S)
        _compare(mask, "key_ranges", (lo <= kv) & (kv < hi), allowed, PAIR)
    for block in BLOCKS:
        tiles = Tiling(L, S, (block, block))
        expected = tiles.of_array(allowed)
        found = np.broadcast_to(mask.kinds(tiles), expected.shape)
        found = np.where(found == UNKNOWN, expected, found)
        where = f"tile ({{2}}, {{3}}) of size {block}, example {{0}}, head {{1}}"
        _compare(mask, "tile_kinds", NAMES[found], NAMES[expected], where)
        evaluated = BlockMask(mask, tiles, np.full_like(expected, PARTIAL)).to_dense()
        _compare(mask, "allowed in one tile", evaluated, allowed, PAIR)


PAIR = "query {2} and key {3}, example {0}, head {1}"


def _compare(mask, what, found, expected, where):
    """Raise ValueError unless two arrays (B | 1, H | 1, ..., ...) are equal."""
    found, expected = np.broadcast_arrays(found, expected)
    wrong = np.argwhere(found != expected)
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise ValueError(
            f"check_mask: {mask}: {what} gives {found[at]} for {where.format(*at)}; "
            f"expected {expected[at]}, which allowed gives for all pairs at once."
        )
