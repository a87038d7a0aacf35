"""From a mask to the plan of the tiled kernels: which tiles are computed, and how.

A mask with one range of keys a query, such as a causal one, a window or padding, needs
no list of pairs (``of_ranges``). Any other is cut into tiles by ``BlockMask``; full
ones are computed as they are, partial ones with a bit for each pair, and empty ones not
at all (``of_tiles``).
"""

import weakref

import numpy as np

from ..kernels.plan import SIZE, of_ranges, of_tiles
from ..masks.block_mask import BlockMask

_plans = weakref.WeakKeyDictionary()  # {BlockMask: {(B, H): its plan}}


def plan(mask, B, H, L, S, size=SIZE):
    """The plan of a mask, a BlockMask or None, for B examples of H heads.

    Heads are counted through: head h of example b is number b H + h. The plan of a
    BlockMask is kept for as long as the BlockMask is.
    Raises what the mask raises where it is made for other sizes.
    """
    if not isinstance(mask, BlockMask):
        return _made(mask, B, H, L, S, size)
    mask.check(B, H, L, S)
    kept = _plans.setdefault(mask, {})
    if (B, H, size) not in kept:
        kept[B, H, size] = _made(mask, B, H, L, S, size)
    return kept[B, H, size]


def _made(mask, B, H, L, S, size):
    everything = np.zeros((1, 1, 1), int), np.full((1, 1, 1), S)
    if mask is None:
        return of_ranges(*everything, (B, H), L, S, size)
    pattern = mask.mask if isinstance(mask, BlockMask) else mask.sized(L, S)
    pattern.extent(B, H, L, S)  # refuses other numbers of examples and heads
    if 0 in (B, H, L, S):  # nothing to compute
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
