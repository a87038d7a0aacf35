"""The kind of each tile of a mask: of the pairs of a block of queries and one of keys.

    EMPTY     no query of the tile may attend to a key of it: nothing to compute
    FULL      every query may attend to every key: nothing to mask
    PARTIAL   some of both
"""

import numpy as np

EMPTY, FULL, PARTIAL = range(3)


def classify(some, every):
    """Return the kinds from two bool arrays: is some pair allowed, is every pair."""
    return np.where(some, np.where(every, FULL, PARTIAL), EMPTY).astype(np.uint8)


def kinds_of_ranges(lo, hi, L, S, block):
    """Return the kinds where query i attends to the keys lo[i] <= key < hi[i].

    lo, hi (B | 1, H | 1, L | 1)  ->  uint8 (B | 1, H | 1, nq, nk)

    block is (Tq, Tk): a tile has Tq queries and Tk keys; there are nq rows of nk tiles.
    Each query is counted in the tiles that its range touches and in those that it
    fills: the work is O(L + nq nk).
    """
    shape = np.broadcast_shapes(lo.shape, hi.shape, (1, 1, L))
    lo, hi = np.broadcast_to(lo, shape), np.broadcast_to(hi, shape)
    (Tq, Tk), (B, H, _) = block, shape
    nq, nk = -(-L // Tq), -(-S // Tk)
    rows = np.arange(B * H).reshape(B, H, 1) * nq + np.arange(L) // Tq

    def count(first, last):
        """Count the queries of each row of tiles that have tile j in [first, last).

        A query adds 1 at its first tile and subtracts it after its last one; the
        cumulative sum over the tiles is the count.
        """
        steps, size = 0, B * H * nq * (nk + 1)
        for sign, j in (1, first), (-1, last):
            at = (rows * (nk + 1) + j).ravel()
            steps = steps + sign * np.bincount(at, minlength=size)
        return steps.reshape(B, H, nq, nk + 1).cumsum(-1)[..., :nk]

    touched = count(lo // Tk, -(-hi // Tk))
    last = np.where(hi == S, nk, hi // Tk)  # a smaller last tile
    filled = count(np.minimum(-(-lo // Tk), last), last)
    queries = np.minimum(np.arange(nq) * Tq + Tq, L) - np.arange(nq) * Tq
    return classify(touched > 0, filled == queries[:, None])
