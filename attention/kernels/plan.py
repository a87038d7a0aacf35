"""Which tiles of the scores are computed, and which pairs of those count.

Queries and keys are cut into blocks of ``size``; a tile is one block of queries against
one of keys. Query block i of mask row r meets the key blocks

    blocks[first[r, i]:last[r, i]]

Query q attends to the keys  lo[r, q] <= key < hi[r, q]  and, where tile[e] >= 0 stands
beside blocks[e], of those only to keys whose bit in bits[tile[e]] is set. Ranges say
what causal masks, windows and lengths have to say, in O(L) numbers. Everything else is
said by bits, one a pair, of those tiles alone that are neither full nor empty. Nothing
here has L x S entries, and the work of the kernels is proportional to the tiles listed.
"""

import math
from typing import NamedTuple

import numpy as np

from .compiling import as_field, reads

SIZE = 64  # of the kernels' tiles: one bit for each query in an int64


class Plan(NamedTuple):
    """For N heads, R mask rows (those that differ) and I blocks of queries."""

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
        """How many tiles each head computes: (N,)."""
        return (self.last - self.first).sum(1)[self.row_of]


def of_ranges(lo, hi, heads, L, S, size=SIZE):
    """The plan where query i attends to the keys lo[i] <= key < hi[i].

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
    return _plan(size, first, last, blocks, tile, lo, hi, bits, row_of(own, heads))


def of_tiles(first, last, blocks, tile, pairs, rows, L, S, size=SIZE):
    """The plan that lists first (R, I), last (R, I), blocks and tile, as above.

    pairs   arrays (n, size, size) of bool, queries by keys, that together are the
            partial tiles in the order of their numbers
    rows    (N,): the mask row of each head
    """
    bits = np.concatenate([np.zeros((0, size), int), *map(_bits, pairs)])
    lo, hi = np.zeros((len(first), L)), np.full((len(first), L), S)
    return _plan(size, first, last, blocks, tile, lo, hi, bits, rows)


def row_of(own, heads):
    """Which row each head reads, where rows, counted through, have the axes ``own``.

    own, which broadcasts to heads (..., H)  ->  (N,) ints
    """
    numbers = np.arange(math.prod(own)).reshape(own)
    return np.broadcast_to(numbers, heads).ravel()


def _plan(size, first, last, blocks, tile, lo, hi, bits, rows):
    # Those that take longest come first, so that threads are done at the same time.
    order = np.argsort(-(last - first)[rows].ravel(), kind="stable")
    arrays = first, last, blocks, tile, lo, hi, bits, rows, order
    return Plan(size, *(as_field(x, np.int64) for x in arrays))


def _bits(pairs):
    """(n, Tq, Tk) bool  ->  (n, Tk) int64, bit q of entry k for the pair (q, k)."""
    n, Tq, Tk = pairs.shape
    by_key = np.zeros((n, Tk, SIZE), bool)
    by_key[..., :Tq] = pairs.swapaxes(1, 2)  # a tile is computed with keys as its rows
    return np.packbits(by_key, -1, "little").view("<i8")[..., 0]
