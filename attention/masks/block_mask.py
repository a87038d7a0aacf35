"""BlockMask: which tiles of the score matrix attention computes, and which it skips.

A tile has Tq queries and Tk keys. There are three kinds:

    EMPTY      no pair of the tile is allowed: attention skips it
    FULL       all pairs are allowed: it is computed without a mask
    PARTIAL    some pairs are allowed: it is computed with its own mask

A BlockMask is made once, for all calls of that shape. If the keys of each query are one
range, the kinds of the tiles follow from the ranges, O(L + tiles) numbers. Any other
mask is evaluated once, one row of tiles at a time; a partial tile keeps a bit for each
of its pairs. So attention needs memory for tiles, and not for all L x S pairs.

Dong et al. 2024, "Flex Attention".
"""

import textwrap
from collections import namedtuple

import numpy as np

from minigrad.arguments import whole

from .algebra import Mask, mask_mod
from .tiling import EMPTY, PARTIAL, classify, kinds_of_ranges

WIDTH = 80  # columns of the map
SIGNS = np.array([".", "#", "+"])  # by kind

Listing = namedtuple("Listing", "first last blocks partial")


class BlockMask:
    """A mask in tiles, made by ``BlockMask.from_mask(mask, L, S)``.

    mask     the mask
    L, S     the numbers of queries and keys
    block    (Tq, Tk), a tile; the last of a row or a column may be smaller
    kinds    uint8 (B | 1, H | 1, nq, nk): 0 empty, 1 full, 2 partial. There are nq rows
             of nk tiles, nq = ceil(L / Tq) and nk = ceil(S / Tk). An axis is 1 if all
             examples, or heads, have the same mask

    ``print(block_mask)`` draws the tiles.
    Source: PyTorch's FlexAttention (Dong et al. 2024), whose BlockMask this follows.
    """

    def __init__(self, mask, L, S, B, H, block):
        self.mask, self.L, self.S, self.block = mask, L, S, block
        self._numbers, self._bits = (B, H), None  # bits of the partial tiles
        ranges = mask.key_ranges(L, S)
        if ranges is None:
            self.kinds, self._bits = self._evaluated()
        else:
            self.kinds = kinds_of_ranges(*ranges, L, S, block)
        self.kinds.setflags(write=False)

    @classmethod
    def from_mask(cls, mask, L, S, B=None, H=None, block=(128, 128)):
        """Return the tiles of a mask, or of a function(b, h, q_idx, kv_idx).

        For a bool array, write ``from_array(array)`` of attention.masks.

        B, H    the numbers of examples and heads; None if the mask has them, or is the
                same for all
        block   (Tq, Tk), or one number for both
        """
        mask = mask if isinstance(mask, Mask) else mask_mod(mask)
        L, S = whole("BlockMask", "L", L), whole("BlockMask", "S", S)
        block = _pair(block)
        mask.check(L, S)
        return cls(mask, L, S, *mask.numbers(B, H), block)

    def with_block(self, block):
        """Return the same mask in tiles of another size."""
        return self.from_mask(self.mask, self.L, self.S, *self._numbers, block)

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

    def listing(self):
        """List the tiles that are not empty, in the order of a kernel: int32 arrays.

        A row of the mask is one head of one example. In row r, block i of the queries
        has the tiles e = first[r, i], ..., last[r, i] - 1. Tile e has the block of keys
        blocks[e]; partial[e] is its number among the partial tiles, or -1: it is full.

        first, last (rows, nq); blocks, partial (number of tiles,)
        """
        kind = self.kinds[self.kinds != EMPTY]
        count = np.count_nonzero(self.kinds, axis=-1)  # (B | 1, H | 1, nq)
        last = count.cumsum().reshape(count.shape)
        rows = count.shape[0] * count.shape[1], count.shape[2]
        first, last = (last - count).reshape(rows), last.reshape(rows)
        blocks = np.nonzero(self.kinds)[3]
        partial = np.where(kind == PARTIAL, (kind == PARTIAL).cumsum() - 1, -1)
        return Listing(*(x.astype(np.int32) for x in (first, last, blocks, partial)))

    def partial_tiles(self):
        """Return the pairs of the partial tiles, bool (n, Tq, Tk).

        Their order is that of ``listing``. Pairs beyond L or S are False.
        """
        bits = self._evaluated()[1] if self._bits is None else self._bits
        return np.unpackbits(bits, axis=-1, count=self.block[1]).view(bool)

    def to_dense(self):
        """Return the mask as a bool array (B | 1, H | 1, L, S)."""
        return self.mask.dense(*self._numbers, self.L, self.S)

    def _repr_html_(self):
        """Return what a notebook shows: the tiles of the first example and head."""
        return f"<pre>{self}</pre>"

    def map(self, b=0, h=0):
        """Return a drawing of the tiles of one head: # full, + partial, . empty.

        It has at most 80 columns. With more tiles, one sign stands for several: # or .
        if all are the same, else +.
        """
        B, H = self.kinds.shape[:2]
        kinds = self.kinds[b if B > 1 else 0, h if H > 1 else 0]
        if not kinds.size:
            return ""
        g = self._tiles_per_sign()
        rows, columns = (np.arange(0, n, g) for n in kinds.shape)
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
        g = self._tiles_per_sign()
        if g > 1:
            lines.append(f"one sign for {g} x {g} tiles:")
        if B * H:
            lines.append(self.map())
        return "\n".join(lines)

    def __repr__(self):
        return f"BlockMask({self.mask}, L={self.L}, S={self.S}, block={self.block})"

    def _tiles_per_sign(self):
        """Return g: in the map, one sign stands for g x g tiles."""
        return max(1, -(-max(self.kinds.shape[2:]) // WIDTH))

    def _evaluated(self):
        """Return the kinds, and the bits of the partial tiles: (n, Tq, Tk / 8)."""
        (Tq, Tk), L, S = self.block, self.L, self.S
        columns, kinds, bits = np.arange(0, S, Tk), [], []
        for start in range(0, L, Tq):  # a row of tiles
            q = np.arange(start, min(start + Tq, L))
            strip = self.mask.strip(*self._numbers, q, L, S)
            some = np.logical_or.reduceat(strip.any(2), columns, -1)
            every = np.logical_and.reduceat(strip.all(2), columns, -1)
            kinds.append(classify(some, every))  # (B | 1, H | 1, nk)
            tiles = np.zeros((*strip.shape[:2], Tq, len(columns) * Tk), bool)
            tiles[:, :, : len(q), :S] = strip
            tiles = tiles.reshape(*tiles.shape[:3], len(columns), Tk).swapaxes(2, 3)
            bits.append(np.packbits(tiles[kinds[-1] == PARTIAL], -1))
        if not kinds:
            B, H = self.mask.strip(*self._numbers, np.arange(0), L, S).shape[:2]
            kinds = np.zeros((B, H, 0, len(columns)), np.uint8)
            return kinds, np.zeros((0, Tq, -(-Tk // 8)), np.uint8)
        kinds = np.stack(kinds, 2)  # (B | 1, H | 1, nq, nk)
        # the bits are sorted by rows of tiles: sort them by examples and heads
        i, b, h, j = np.nonzero(kinds.transpose(2, 0, 1, 3) == PARTIAL)
        return kinds, np.concatenate(bits)[np.lexsort((j, i, h, b))]


def _pair(block):
    """Return (Tq, Tk), from two numbers or one for both."""
    sizes = tuple(block) if isinstance(block, (tuple, list)) else (block, block)
    if len(sizes) != 2:
        raise ValueError(
            f"BlockMask: block is {block!r}; expected (Tq, Tk), or one number for both."
        )
    return tuple(whole("BlockMask", "block", n, least=1) for n in sizes)
