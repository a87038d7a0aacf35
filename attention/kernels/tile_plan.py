"""List the tiles of scores that are computed, and which pairs of a tile are allowed.

Queries and keys are cut into blocks of ``size``. A tile is one block of queries against
one block of keys. Heads that have the same mask share one row r of the plan. Query
block i of row r meets the key blocks of some entries of a list:

    blocks[entry]    for first[r, i] <= entry < last[r, i]

Query q may attend to the keys lo[r, q] <= key < hi[r, q] of these blocks. If a tile
needs more than such a range, bits_of[entry] is the number of its table of bits, one bit
for each pair. Otherwise bits_of[entry] is -1.

A causal mask, a window and padding allow one range of keys for each query, so ranges
are enough: O(L) numbers, and entry j of the list is block j for all query blocks.
``BlockMask`` cuts any other mask into tiles, with an entry for each: a full tile has no
bits, a partial tile has them (one for each of its pairs), and an empty tile is not
listed. The work of the kernels is proportional to the number of tiles.
"""

import functools
import math
import weakref
from typing import NamedTuple

import numpy as np

from ..masks.block_mask import BlockMask
from ..masks.windows import causal, sliding_window
from .compiling import as_field, reads

SIZE = 64  # of the kernels' tiles: one bit for each query in an int64

_plans = weakref.WeakKeyDictionary()  # {BlockMask: {(B, H, size): its plan}}


class Plan(NamedTuple):
    """The tiles of N heads: R rows (different masks), I blocks of queries.

    ``reads(2, int)`` is the type of a field for the compiler: an array of integers with
    two axes.
    """

    size: int
    first: reads(2, int)  # (R, I)
    last: reads(2, int)  # (R, I)
    blocks: reads(1, int)  # (entries,): the number of a block of keys
    bits_of: reads(1, int)  # (entries,): the number of the table of bits, or -1
    lo: reads(2, int)  # (R, L)
    hi: reads(2, int)  # (R, L)
    bits: reads(2, int)  # (tables, size): bit q of bits[., k]: may q attend to k?
    row_of: reads(1, int)  # (N,): the row of each head
    order: reads(1, int)  # (N I,): head * I + query block, those with most tiles first

    def tiles(self):
        """Return how many tiles each head computes: (N,)."""
        return (self.last - self.first).sum(1)[self.row_of]


def tile_plan(mask, B, H, L, S, size=SIZE):
    """Return the plan of a Mask, a BlockMask or None (all pairs): B examples, H heads.

    Head h of example b has the number b H + h. The plan of a BlockMask is kept for as
    long as the BlockMask is, and those of the last windows are kept too. Raises
    ValueError for a mask made for other sizes.
    """
    if type(mask) in (type(causal), sliding_window, type(None)):
        window = None if mask is None else (mask.left, mask.right, mask.offset)
        return _plan_of_window(window, B, H, L, S, size)
    if not isinstance(mask, BlockMask):
        return _new_plan(mask, B, H, L, S, size)
    mask.check(B, H, L, S)
    kept = _plans.setdefault(mask, {})
    if (B, H, size) not in kept:
        kept[B, H, size] = _new_plan(mask, B, H, L, S, size)
    return kept[B, H, size]


def of_ranges(lo, hi, heads, L, S, size=SIZE):
    """Return the plan where query i attends to the keys lo[i] <= key < hi[i].

    lo, hi   (..., L | 1) ints, whose axes before the last broadcast to ``heads``
    heads    a shape such as (B, H), of the axes before the queries; N is its product
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
    last = np.maximum(_divided_up(high, size), first)
    blocks = np.arange(_divided_up(S, size))
    bits_of, bits = np.full(len(blocks), -1), np.zeros((0, size))
    rows = row_of(own, heads)
    return _packed(size, first, last, blocks, bits_of, lo, hi, bits, rows)


def of_tiles(first, last, blocks, bits_of, pairs, rows, L, S, size=SIZE):
    """Return the ``Plan`` with these lists: first (R, I), last (R, I), blocks, bits_of.

    R, I    the number of rows, and of blocks of queries
    pairs   (tiles, size, size) of bool, queries by keys: the partial tiles, in the
            order of their numbers
    rows    (N,): the row of each head
    """
    bits = _bits(pairs)
    lo, hi = np.zeros((len(first), L)), np.full((len(first), L), S)
    return _packed(size, first, last, blocks, bits_of, lo, hi, bits, rows)


def row_of(own, heads):
    """Return the row of each head: (N,) ints.

    A table has a row for each index of the shape ``own``, which broadcasts to the shape
    ``heads``. The last axis counts first: own (1, 2) and heads (3, 2) give 0 1 0 1 0 1.
    """
    numbers = np.arange(math.prod(own)).reshape(own)
    return np.broadcast_to(numbers, heads).ravel()


@functools.lru_cache(maxsize=16)  # a model uses the same plan again and again
def _plan_of_window(window, B, H, L, S, size):
    """Return the plan of sliding_window(*window); of all pairs, if it is None."""
    mask = None if window is None else sliding_window(*window)
    return _new_plan(mask, B, H, L, S, size)


def _new_plan(mask, B, H, L, S, size):
    all_keys = np.zeros((1, 1, 1), int), np.full((1, 1, 1), S)  # lo and hi
    if mask is None:
        return of_ranges(*all_keys, (B, H), L, S, size)
    pattern = mask.mask if isinstance(mask, BlockMask) else mask
    pattern.check(L, S)
    pattern.numbers(B, H)
    if 0 in (B, H, L, S):  # nothing to compute
        return of_ranges(*all_keys, (B, H), L, S, size)
    ranges = pattern.key_ranges(L, S)
    if ranges is not None:
        return of_ranges(*ranges, (B, H), L, S, size)
    if not isinstance(mask, BlockMask):
        tiles = BlockMask.from_mask(pattern, L, S, B, H, size)
    else:
        tiles = mask if mask.block == (size, size) else mask.with_block(size)
    rows = row_of(tiles.kinds.shape[:2], (B, H))
    return of_tiles(*tiles.listing(), tiles.partial_tiles(), rows, L, S, size)


def _packed(size, first, last, blocks, bits_of, lo, hi, bits, rows):
    # query blocks with many tiles come first, so that all threads end at the same time
    order = np.argsort(-(last - first)[rows].ravel(), kind="stable")
    arrays = first, last, blocks, bits_of, lo, hi, bits, rows, order
    return Plan(size, *(as_field(x, np.int64) for x in arrays))


def _divided_up(a, b):
    """Return a / b, rounded up."""
    return -(-a // b)


def _bits(pairs):
    """Pack pairs (n, Tq, Tk) bool into (n, Tk) int64: bit q of entry k for (q, k)."""
    n, Tq, Tk = pairs.shape
    by_key = np.zeros((n, Tk, SIZE), bool)
    by_key[..., :Tq] = pairs.swapaxes(1, 2)  # a tile is computed with keys as its rows
    return np.packbits(by_key, -1, "little").view("<i8")[..., 0]  # 64 bits, one int64
