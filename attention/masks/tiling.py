"""Find which tiles of a mask are empty or full, without evaluating every pair.

    EMPTY     no query of the tile may attend to a key of it: nothing to compute
    FULL      every query may attend to every key: nothing to mask
    PARTIAL   some of both
    UNKNOWN   not evaluated yet

The kinds of a & b and of a | b follow from those of a and of b, except where both are
partial: only those tiles are UNKNOWN, and are evaluated pair by pair.
"""

import numpy as np

EMPTY, FULL, PARTIAL, UNKNOWN = range(4)
STRIP = 2**18  # pairs that are evaluated at once


def intersection(a, b):
    """Return the kinds of a & b: empty if one is; if one is full, that of the other."""
    undecided = np.where(a == FULL, b, np.where(b == FULL, a, UNKNOWN))
    return np.where((a == EMPTY) | (b == EMPTY), EMPTY, undecided).astype(np.uint8)


def union(a, b):
    """Return the kinds of a | b, which is ~(~a & ~b)."""
    return complement(intersection(complement(a), complement(b)))


def complement(a):
    """Return the kinds of ~a: empty and full are exchanged."""
    return np.array([FULL, EMPTY, PARTIAL, UNKNOWN], np.uint8)[a]


def classify(some, every):
    """Return the kinds from two bool arrays: is some pair allowed, is every pair."""
    return np.where(some, np.where(every, FULL, PARTIAL), EMPTY).astype(np.uint8)


class Tiling:
    """L queries and S keys cut into tiles of Tq x Tk; the last ones may be smaller.

    All kinds are uint8 arrays that broadcast to (B | 1, H | 1, nq, nk), where
    nq = ceil(L / Tq) and nk = ceil(S / Tk).
    """

    def __init__(self, L, S, block):
        self.L, self.S = L, S
        self.Tq, self.Tk = block
        self.nq, self.nk = -(-L // self.Tq), -(-S // self.Tk)
        self._rows, self._columns = np.arange(0, L, self.Tq), np.arange(0, S, self.Tk)

    def unknown(self):
        """Return UNKNOWN for all tiles."""
        return np.full((1, 1, self.nq, self.nk), UNKNOWN, np.uint8)

    def of_ranges(self, lo, hi):
        """Return the kinds where query i attends to the keys lo[i] <= key < hi[i].

        Each query is counted in the tiles that its range touches and in those that it
        fills: O(L + tiles).
        """
        shape = np.broadcast_shapes(lo.shape, hi.shape, (1, 1, self.L))
        lo, hi = np.broadcast_to(lo, shape), np.broadcast_to(hi, shape)
        touched = self._count(lo // self.Tk, -(-hi // self.Tk))
        last = np.where(hi == self.S, self.nk, hi // self.Tk)  # a smaller last tile
        filled = self._count(np.minimum(-(-lo // self.Tk), last), last)
        queries = np.diff(self._rows, append=self.L)[:, None]  # in a row of tiles
        return classify(touched > 0, filled == queries)

    def of_tokens(self, queries, keys):
        """Return the kinds where a pair is allowed if its query or its key is marked.

        queries (L,), keys (S,) bool. A tile is full if all its queries are marked, or
        all its keys: otherwise it has a pair without a mark.
        """
        some, every = (
            reduce(queries, self._rows)[:, None] | reduce(keys, self._columns)
            for reduce in (np.logical_or.reduceat, np.logical_and.reduceat)
        )
        return classify(some, every)

    def of_blocks(self, blocks, size):
        """Return the kinds where (i, j) is allowed if blocks[i // size, j // size] is.

        A tile overlaps a rectangle of blocks, and the number of allowed blocks in it is
        a difference of cumulative sums. They are computed for one row of tiles at a
        time, because all of them would need eight times the memory of the blocks.
        """
        top, bottom = _overlapped(self._rows, self.Tq, self.L, size)
        left, right = _overlapped(self._columns, self.Tk, self.S, size)
        found = np.empty((self.nq, self.nk), np.uint8)
        for row, first, last in zip(found, top, bottom):
            sums = np.append(0, blocks[first:last].sum(0).cumsum())
            count = sums[right] - sums[left]
            row[:] = classify(count > 0, count == (last - first) * (right - left))
        return found

    def of_array(self, allowed):
        """Return the kinds of a bool array (B | 1, H | 1, L | 1, S | 1)."""
        rows, columns = (
            edges if size == n else [0]  # one row or column stands for all
            for edges, size, n in zip(
                (self._rows, self._columns), allowed.shape[2:], (self.L, self.S)
            )
        )
        some, every = (
            reduce(reduce(allowed, rows, axis=2), columns, axis=3)
            for reduce in (np.logical_or.reduceat, np.logical_and.reduceat)
        )
        return classify(some, every)

    def strips(self, chosen):
        """Yield indices (b, h, i, j), each (n,), of the chosen tiles, strip by strip.

        chosen   bool (B | 1, H | 1, nq, nk)
        """
        where = np.nonzero(chosen)
        step = max(1, STRIP // (self.Tq * self.Tk))
        for start in range(0, len(where[0]), step):
            yield tuple(x[start : start + step] for x in where)

    def evaluate(self, mask, b, h, i, j):
        """Return the pairs of n tiles, bool (n, Tq, Tk), from one call of the mask.

        A tile beyond L or S repeats its last query or key, which does not change
        whether any or all of its pairs are allowed.
        """
        q = np.minimum(i[:, None] * self.Tq + np.arange(self.Tq), self.L - 1)
        kv = np.minimum(j[:, None] * self.Tk + np.arange(self.Tk), self.S - 1)
        b, h, q, kv = b[:, None, None], h[:, None, None], q[:, :, None], kv[:, None]
        shape = (len(i), self.Tq, self.Tk)
        return np.broadcast_to(mask.allowed(b, h, q, kv), shape)

    def inside(self, i, j):
        """Return which pairs of these tiles exist, bool (n, Tq, Tk)."""
        rows = i[:, None] * self.Tq + np.arange(self.Tq) < self.L
        columns = j[:, None] * self.Tk + np.arange(self.Tk) < self.S
        return rows[:, :, None] & columns[:, None]

    def _count(self, first, last):
        """Count the queries of each row of tiles that have tile j in first <= j < last.

        A query adds 1 at its first tile and subtracts it after its last one; the
        cumulative sum over the tiles is the count.
        """
        B, H, L = first.shape
        row = np.arange(B * H).reshape(B, H, 1) * self.nq + np.arange(L) // self.Tq
        row = row * (self.nk + 1)
        shape = (B, H, self.nq, self.nk + 1)
        steps = np.bincount((row + first).ravel(), minlength=np.prod(shape))
        steps -= np.bincount((row + last).ravel(), minlength=np.prod(shape))
        return steps.reshape(shape).cumsum(-1)[..., : self.nk]


def _overlapped(edges, tile, n, size):
    """Return the first block that each tile overlaps, and one past the last."""
    return edges // size, (np.minimum(edges + tile, n) - 1) // size + 1
