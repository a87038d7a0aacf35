"""BlockMask: which tiles of the score matrix attention computes, and which it skips.

A tile of Tq queries by Tk keys is EMPTY (skipped), FULL (computed without a mask) or
PARTIAL (computed with its own mask). A kernel does work for the tiles that are not
empty, and needs memory for tiles, never for all L x S pairs.

    kind = FULL if all pairs of the tile are allowed, EMPTY if none is, else PARTIAL

It is made once, in O(L + tiles) memory, for all calls of that shape.
Dong et al. 2024, "Flex Attention".
"""

import textwrap
from collections import namedtuple

import numpy as np
from minigrad.checks import whole

from .algebra import Mask, mask_mod
from .arrays import from_array
from .tiling import EMPTY, FULL, PARTIAL, UNKNOWN, Tiling, kinds

WIDTH = 80  # columns of the map
SIGNS = np.array([".", "#", "+", "?"])  # by kind

Listing = namedtuple("Listing", "first last blocks partial")


class BlockMask:
    """A mask in tiles, made by ``BlockMask.from_mask(mask, L, S)``.

    mask     the mask, with L and S filled in
    L, S     the numbers of queries and keys
    block    (Tq, Tk), a tile; the last of a row or a column may be smaller
    kinds    uint8 (B | 1, H | 1, nq, nk), where nq = ceil(L / Tq), nk = ceil(S / Tk):
             0 empty, 1 full, 2 partial. An axis is 1 if all examples, or heads, have
             the same mask

    ``print(block_mask)`` draws the tiles.
    Source: PyTorch's FlexAttention (Dong et al. 2024), whose BlockMask this follows.
    """

    def __init__(self, mask, tiles, kinds):
        if not isinstance(tiles, Tiling):
            raise TypeError("BlockMask: write BlockMask.from_mask(mask, L, S).")
        self.mask, self.kinds, self._tiles = mask, kinds, tiles
        self.L, self.S, self.block = tiles.L, tiles.S, (tiles.Tq, tiles.Tk)
        kinds.setflags(write=False)

    @classmethod
    def from_mask(cls, mask, L, S, B=None, H=None, block=(128, 128)):
        """Return the tiles of a mask, or of a function(b, h, q_idx, kv_idx).

        B, H    the numbers of examples and heads; None if the mask has them, or is the
                same for all
        block   (Tq, Tk), or one number for both

        Most masks know the kinds of their tiles from a few numbers a query. The tiles
        that are not known are evaluated, strip by strip: O(L + tiles) memory, and no
        array (L, S).
        """
        if not isinstance(mask, Mask):
            if not callable(mask):
                raise TypeError(
                    f"BlockMask: mask is a {type(mask).__name__}; expected a mask, or "
                    "a function of (b, h, q_idx, kv_idx). For a bool array, use "
                    "BlockMask.from_dense."
                )
            mask = mask_mod(mask)
        L, S = whole("BlockMask", "L", L), whole("BlockMask", "S", S)
        tiles = Tiling(L, S, _pair(block))
        mask = mask.sized(L, S)
        shape = (*mask.extent(B, H, L, S), tiles.nq, tiles.nk)
        found = np.array(np.broadcast_to(mask.kinds(tiles), shape))
        for some in tiles.strips(found == UNKNOWN):
            allowed = tiles.evaluate(mask, *some)
            found[some] = kinds(allowed.any((1, 2)), allowed.all((1, 2)))
        return cls(mask, tiles, found)

    @classmethod
    def from_dense(cls, array, block=(128, 128)):
        """Return the tiles of a bool array (L, S), (B, L, S) or (B, H, L, S)."""
        mask = from_array(array)
        return cls.from_mask(mask, *mask.array.shape[2:], block=block)

    def with_block(self, block):
        """Return the same mask in tiles of another size."""
        return self.from_mask(self.mask, self.L, self.S, *self.kinds.shape[:2], block)

    def check(self, B, H, L, S):
        """Raise ValueError unless this fits scores (B, H, L, S)."""
        if (L, S) != (self.L, self.S):
            raise ValueError(
                f"BlockMask: made for {self.L} queries and {self.S} keys; found {L} "
                f"and {S}. Make one with BlockMask.from_mask(mask, {L}, {S})."
            )
        for what, n, own in zip(("examples", "heads"), (B, H), self.kinds.shape):
            if own not in (1, n):
                raise ValueError(f"BlockMask: made for {own} {what}; found {n}.")

    def sparsity(self):
        """Return the share of tiles that are empty and therefore skipped, 0 to 1."""
        return float((self.kinds == EMPTY).mean()) if self.kinds.size else 0.0

    def tiles_of(self, b, h, i):
        """Return [(j, kind), ...] of query block i, without the empty tiles."""
        row = self.kinds[self._at(b=b, h=h, i=i)]
        return [(j, kind) for j, kind in enumerate(row.tolist()) if kind != EMPTY]

    def tile_mask(self, b, h, i, j):
        """Return the pairs of one tile, bool (Tq, Tk), or smaller at the end."""
        b, h, i, j = (np.array([n]) for n in self._at(b=b, h=h, i=i, j=j))
        rows = min(self.block[0], self.L - i[0] * self.block[0])
        columns = min(self.block[1], self.S - j[0] * self.block[1])
        return self._tiles.evaluate(self.mask, b, h, i, j)[0, :rows, :columns].copy()

    def listing(self):
        """Return the tiles that are not empty in the order of a kernel: int32 arrays.

        Block i of the queries, in row r of the mask (which counts B x H), has

            the blocks of keys blocks[first[r, i]:last[r, i]], in ascending order,

        and partial[e] numbers the partial tiles among all entries e; a full one has -1.
        first, last (rows, nq); blocks, partial (kept,)
        """
        kind = self.kinds[self.kinds != EMPTY]
        count = np.count_nonzero(self.kinds, axis=-1)  # (B | 1, H | 1, nq)
        last = count.cumsum().reshape(count.shape)
        rows = count.shape[0] * count.shape[1], self._tiles.nq
        first, last = (last - count).reshape(rows), last.reshape(rows)
        blocks = np.nonzero(self.kinds)[3]
        partial = np.where(kind == PARTIAL, (kind == PARTIAL).cumsum() - 1, -1)
        return Listing(*(x.astype(np.int32) for x in (first, last, blocks, partial)))

    def row_of(self, B, H):
        """Return int32 (B H,): the row of ``listing`` for each head of each example."""
        rows = np.arange(np.prod(self.kinds.shape[:2])).reshape(*self.kinds.shape[:2])
        return np.broadcast_to(rows, (B, H)).reshape(-1).astype(np.int32)

    def partial_tiles(self):
        """Yield the pairs of the partial tiles, bool (n, Tq, Tk), strip by strip.

        They have the order of ``listing``, and are False past the ends.
        """
        for some in self._tiles.strips(self.kinds == PARTIAL):
            yield self._pairs(*some)

    def key_ranges(self):
        """Return (lo, hi), int32 (B | 1, H | 1, L): query i has lo[i] <= key < hi[i].

        0, 0 for a query without keys. None if the keys of a query are not one range.
        """
        found = self.mask.key_ranges(self.L, self.S) or self._found_ranges()
        if found is None:
            return None
        shape = (*self.kinds.shape[:2], self.L)
        return tuple(np.broadcast_to(x, shape).astype(np.int32) for x in found)

    def to_dense(self):
        """Return the mask as a bool array (B | 1, H | 1, L, S)."""
        (B, H, nq, nk), (Tq, Tk) = self.kinds.shape, self.block
        pairs = np.zeros((B, H, nq, Tq, nk, Tk), bool)
        b, h, i, j = np.nonzero(self.kinds == FULL)
        pairs[b, h, i, :, j] = True
        for b, h, i, j in self._tiles.strips(self.kinds == PARTIAL):
            pairs[b, h, i, :, j] = self._pairs(b, h, i, j)
        pairs = pairs.reshape(B, H, nq * Tq, nk * Tk)
        return pairs[:, :, : self.L, : self.S].copy()

    def map(self, b=0, h=0):
        """Return a drawing of the tiles of one head: # full, + partial, . empty.

        It has at most 80 columns. With more tiles, one sign stands for several: # or .
        if all are the same, else +.
        """
        kinds = self.kinds[self._at(b=b, h=h)]
        if not kinds.size:
            return ""
        every = self._tiles_a_sign()
        rows, columns = (np.arange(0, n, every) for n in kinds.shape)
        least, most = (
            reduce(reduce(kinds, rows, axis=0), columns, axis=1)
            for reduce in (np.minimum.reduceat, np.maximum.reduceat)
        )
        signs = SIGNS[np.where(least == most, most, PARTIAL)]
        return "\n".join("".join(row) for row in signs)

    def __str__(self):
        B, H, nq, nk = self.kinds.shape
        empty, full, partial = np.bincount(self.kinds.ravel(), minlength=3)
        tiles = f"{nq} x {nk} tiles" if B * H == 1 else f"{B} x {H} x {nq} x {nk} tiles"
        counts = (
            f"{tiles}: # full {full}, + partial {partial}, . empty {empty}; sparsity "
            f"{self.sparsity():.1%}"
        )
        lines = [x for text in (repr(self), counts) for x in textwrap.wrap(text, WIDTH)]
        if B * H > 1:
            lines.append("the first head of the first example:")
        if self._tiles_a_sign() > 1:
            lines.append("one sign for {0} x {0} tiles:".format(self._tiles_a_sign()))
        if B * H:
            lines.append(self.map())
        return "\n".join(lines)

    def __repr__(self):
        return f"BlockMask({self.mask}, L={self.L}, S={self.S}, block={self.block})"

    def _tiles_a_sign(self):
        return max(1, -(-max(self.kinds.shape[2:]) // WIDTH))

    def _pairs(self, b, h, i, j):
        """Return the pairs of tiles, bool (n, Tq, Tk), False past the ends."""
        pairs = self._tiles.evaluate(self.mask, b, h, i, j)
        return pairs & self._tiles.inside(i, j)

    def _found_ranges(self):
        """Return the first and last key of each query, if it has all keys between."""
        Tq, Tk = self.block
        shape = (*self.kinds.shape[:3], Tq)
        lo, hi = np.full(shape, self.S), np.zeros(shape, int)
        count = np.zeros(shape, int)
        for kind in (FULL, PARTIAL):
            for b, h, i, j in self._tiles.strips(self.kinds == kind):
                pairs = self._pairs(b, h, i, j)
                n = pairs.sum(2)  # (tiles, Tq)
                first, last = pairs.argmax(2), Tk - pairs[:, :, ::-1].argmax(2)
                k0, some = j[:, None] * Tk, n > 0
                np.minimum.at(lo, (b, h, i), np.where(some, k0 + first, self.S))
                np.maximum.at(hi, (b, h, i), np.where(some, k0 + last, 0))
                np.add.at(count, (b, h, i), n)
        if (count != np.maximum(hi - lo, 0)).any():
            return None
        B, H, nq, _ = shape
        return tuple(
            np.where(count > 0, x, 0).reshape(B, H, nq * Tq)[:, :, : self.L]
            for x in (lo, hi)
        )

    def _at(self, **indices):
        """Return the index of a head, a row of tiles or a tile; IndexError if outside.

        On an axis of 1, which stands for all examples or heads, any number is 0.
        """
        at = []
        for (name, n), size in zip(indices.items(), self.kinds.shape):
            shared = size == 1 and name in "bh"
            if not 0 <= n < size and not shared:
                raise IndexError(
                    f"BlockMask: there is no {name} = {n}; expected 0 to {size - 1} in "
                    f"kinds of shape {self.kinds.shape}."
                )
            at.append(0 if shared else n)
        return tuple(at)


def _pair(block):
    """Return (Tq, Tk), from two numbers or one for both."""
    both = (block, block) if isinstance(block, (int, np.integer)) else block
    if not isinstance(both, (tuple, list)) or len(both) != 2:
        kind = ValueError if isinstance(both, (tuple, list)) else TypeError
        raise kind(
            f"BlockMask: block is {block!r}; expected (Tq, Tk), or one number for both."
        )
    return tuple(whole("BlockMask", "block", n, least=1) for n in both)
