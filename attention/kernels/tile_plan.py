"""Which tiles of the scores are computed, and which pairs of a tile count.

Queries and keys are cut into blocks of ``size``; a tile is one block of queries against
one of keys. Query block i of mask row r meets the key blocks

    blocks[first[r, i]:last[r, i]]

Query q attends to the keys  lo[r, q] <= key < hi[r, q],  and where tile[e] >= 0 stands
beside blocks[e], only to those whose bit in bits[tile[e]] is set. A mask with one range
of keys a query, such as a causal one, a window or padding, needs ranges alone, O(L)
numbers. Any other mask is cut into tiles by ``BlockMask``: full tiles need no bits,
partial tiles one bit a pair, and empty tiles are not listed. Nothing here has L x S
entries, and the work of the kernels is proportional to the number of tiles.
"""

import math
import weakref
from typing import NamedTuple

import numpy as np

from ..masks.block_mask import BlockMask
from .compiling import as_field, reads

SIZE = 64  # of the kernels' tiles: one bit for each query in an int64

_plans = weakref.WeakKeyDictionary()  # {BlockMask: {(B, H, size): its plan}}


class Plan(NamedTuple):
    """The tiles of N heads: R different mask rows, I blocks of queries."""

    size: int
    first: reads(2, int)  # (R, I)
    last: reads(2, int)  # (R, I)
    blocks: reads(1, int)  # which block of keys
    tile: reads(1, int)  # beside it: which entry of bits, -1 for none
    lo: reads(2, int)  # (R, L)
    hi: reads(2, int)  # (R, L)
    bits: reads(2, int)  # (tiles, size): bit q of row k, whether q may attend to k
    row_of: reads(1, int)  # (N,): the mask row of each head
    order: reads(1, int)  # head * I + query block, from the most tiles to the fewest

    def tiles(self):
        """Return how many tiles each head computes: (N,)."""
        return (self.last - self.first).sum(1)[self.row_of]


def tile_plan(mask, B, H, L, S, size=SIZE):
    """Return the plan of a mask, a BlockMask or None, for B examples of H heads.

    Head h of example b is number b H + h. The plan of a BlockMask is kept for as long
    as the BlockMask is. Raises what the mask raises if it was made for other sizes.
    """
    if not isinstance(mask, BlockMask):
        return _new_plan(mask, B, H, L, S, size)
    mask.check(B, H, L, S)
    kept = _plans.setdefault(mask, {})
    if (B, H, size) not in kept:
        kept[B, H, size] = _new_plan(mask, B, H, L, S, size)
    return kept[B, H, size]


def of_ranges(lo, hi, heads, L, S, size=SIZE):
    """Return the plan where query i attends to the keys lo[i] <= key < hi[i].

    lo, hi   (R', L | 1) ints, where the axes R' broadcast to ``heads``
    heads    (..., H): the axes before the queries; N heads in all
    """
    own = np.broadcast_shapes(lo.shape, hi.shape)[:-1]
    lo, hi = (np.broadcast_to(x, (*own, L)) for x in (lo, hi))
    lo, hi = (x.reshape(math.prod(own), L) for x in (lo, hi))
    # A query without keys must not widen the range of its block.
    some = lo < hi
    edges = np.arange(0, L, size)
    low = np.minimum.reduceat(np.where(some, lo, S), edges, axis=1) if L else lo
    high = np.maximum.reduceat(np.where(some, hi, 0), edges, axis=1) if L else hi
    first = low // size
    last = np.maximum(-(-high // size), first)
    blocks = np.arange(-(-S // size))
    tile, bits = np.full(len(blocks), -1), np.zeros((0, size))
    return _packed(size, first, last, blocks, tile, lo, hi, bits, row_of(own, heads))


def of_tiles(first, last, blocks, tile, pairs, rows, L, S, size=SIZE):
    """Return the plan that lists first (R, I), last (R, I), blocks and tile, as above.

    pairs   arrays (n, size, size) of bool, queries by keys, that together are the
            partial tiles in the order of their numbers
    rows    (N,): the mask row of each head
    """
    bits = np.concatenate([np.zeros((0, size), int), *map(_bits, pairs)])
    lo, hi = np.zeros((len(first), L)), np.full((len(first), L), S)
    return _packed(size, first, last, blocks, tile, lo, hi, bits, rows)


def row_of(own, heads):
    """Return which row each head reads, where rows have the axes ``own``: (N,) ints.

    own broadcasts to heads (..., H); rows and heads are numbered in order of their axes
    """
    numbers = np.arange(math.prod(own)).reshape(own)
    return np.broadcast_to(numbers, heads).ravel()


def _new_plan(mask, B, H, L, S, size):
    everything = np.zeros((1, 1, 1), int), np.full((1, 1, 1), S)
    if mask is None:
        return of_ranges(*everything, (B, H), L, S, size)
    pattern = mask.mask if isinstance(mask, BlockMask) else mask.sized(L, S)
    pattern.extent(B, H, L, S)  # raises for another number of examples or heads
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


def _packed(size, first, last, blocks, tile, lo, hi, bits, rows):
    # The longest come first, so that all threads end at about the same time.
    order = np.argsort(-(last - first)[rows].ravel(), kind="stable")
    arrays = first, last, blocks, tile, lo, hi, bits, rows, order
    return Plan(size, *(as_field(x, np.int64) for x in arrays))


def _bits(pairs):
    """(n, Tq, Tk) bool  ->  (n, Tk) int64, bit q of entry k for the pair (q, k)."""
    n, Tq, Tk = pairs.shape
    by_key = np.zeros((n, Tk, SIZE), bool)
    by_key[..., :Tq] = pairs.swapaxes(1, 2)  # a tile is computed with keys as its rows
    return np.packbits(by_key, -1, "little").view("<i8")[..., 0]
