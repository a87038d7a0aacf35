"""From a mask to the plan of the tiled kernels: which tiles are computed, and how.

If each query has one range of keys, as with a causal mask, a window or padding, the
plan is the ranges and needs no list of pairs (``of_ranges``). Any other mask is cut
into tiles by ``BlockMask``: empty tiles are skipped, full ones computed as they are,
and partial ones with a bit for each pair (``of_tiles``).
"""

import weakref

import numpy as np

from ..kernels.plan import SIZE, of_ranges, of_tiles
from ..masks.block_mask import BlockMask

_plans = weakref.WeakKeyDictionary()  # {BlockMask: {(B, H, size): its plan}}


def tile_plan(mask, B, H, L, S, size=SIZE):
    """Return the plan of a mask, a BlockMask or None, for B examples of H heads.

    Head h of example b is number b H + h of the plan. The plan of a BlockMask is kept
    as long as the BlockMask.
    """
    if not isinstance(mask, BlockMask):
        return _new_plan(mask, B, H, L, S, size)
    mask.check(B, H, L, S)
    plans = _plans.setdefault(mask, {})
    if (B, H, size) not in plans:
        plans[B, H, size] = _new_plan(mask, B, H, L, S, size)
    return plans[B, H, size]


def _new_plan(mask, B, H, L, S, size):
    everything = np.zeros((1, 1, 1), int), np.full((1, 1, 1), S)
    if mask is None:
        return of_ranges(*everything, (B, H), L, S, size)
    pattern = mask.mask if isinstance(mask, BlockMask) else mask.sized(L, S)
    pattern.extent(B, H, L, S)  # raises for other numbers of examples and heads
    if 0 in (B, H, L, S):
        return of_ranges(*everything, (B, H), L, S, size)
    ranges = pattern.key_ranges(L, S)
    if ranges is not None:
        return of_ranges(*ranges, (B, H), L, S, size)
    if not isinstance(mask, BlockMask):
        tiles = BlockMask.from_mask(pattern, L, S, B, H, size)
    else:
        tiles = mask if mask.block == (size, size) else mask.with_block(size)
    rows = tiles.row_of(B, H)
    return of_tiles(*tiles.listing(), tiles.partial_tiles(), rows, L, S, size)
