"""BigBird: a window, global blocks and random blocks, O(n) pairs in all.

    block i attends to block j if  |i - j| <= window // 2,  or i or j is global,  or
    j is one of the n_random blocks drawn for i

Each token outside the global blocks attends to at most (window + n_random + n_global)
blocks, so the cost grows with n instead of n^2. Through the global blocks, information
passes between any two tokens in two layers. The mask stores a byte for each pair of
blocks, (n / block)^2.

Zaheer et al. 2020, section 2.
"""

import functools

import numpy as np

from minigrad.arguments import whole

from ..variants.row import Pattern
from .algebra import UNSIZED, Mask


class bigbird(Mask):
    """Each block of tokens attends to its neighbours, global blocks and random blocks.

    block      tokens in a block; the last one may be smaller
    window     blocks in the window, odd: 3 is a block itself and one on either side
    n_random   blocks drawn for each block of queries, without replacement, from those
               outside its window and not global; all of them if they are fewer
    n_global   global blocks, alternately from the start and from the end: 2 is the
               first and the last. They attend to all, and all attend to them
    seed       of the draw; the same seed, L and S give the same mask, for all examples
               and heads

    Global blocks are parts of the sequence. (The paper calls this ITC; its other form,
    ETC, adds tokens that are global.)
    """

    def __init__(self, block, window, n_random, n_global, seed):
        self.block = whole("bigbird", "block", block, least=1)
        self.window = whole("bigbird", "window", window)
        if self.window % 2 == 0:
            raise ValueError(
                f"bigbird: window is {window}; expected an odd number of blocks, with "
                "as many before a block as after it."
            )
        self.n_random = whole("bigbird", "n_random", n_random)
        self.n_global = whole("bigbird", "n_global", n_global)
        self.seed = whole("bigbird", "seed", seed)
        self._blocks = None  # bool (blocks of queries, blocks of keys)
        self._drawn_for = None  # L, S

    def allowed(self, b, h, q, kv):
        """Raise ValueError: the random blocks depend on L and S."""
        raise ValueError(UNSIZED.format(self))

    def rows(self, b, h, q, L, S):
        """Return whether the query's block may attend to the key's block."""
        if self._drawn_for != (L, S):
            self._blocks = self._draw_blocks(-(-L // self.block), -(-S // self.block))
            self._drawn_for = L, S
        return self._blocks[q // self.block].repeat(self.block, 1)[:, :S]

    def _draw_blocks(self, rows, columns):
        """Return which block of queries may attend to which block of keys, bool."""
        blocks = np.zeros((rows, columns), bool)
        blocks[self._is_global(np.arange(rows), rows)] = True
        blocks[:, self._is_global(np.arange(columns), columns)] = True
        rng, reach = np.random.default_rng(self.seed), self.window // 2
        for i, row in enumerate(blocks):
            row[max(i - reach, 0) : i + reach + 1] = True
            others = np.flatnonzero(~row)
            row[rng.permutation(others)[: self.n_random]] = True
        return blocks

    def _is_global(self, i, n):
        first, last = -(-self.n_global // 2), self.n_global // 2
        return (i < first) | (i >= n - last)

    def __repr__(self):
        numbers = self.block, self.window, self.n_random, self.n_global, self.seed
        return f"bigbird({', '.join(map(str, numbers))})"


def bigbird_pairs(L, S, block, window, n_random, n_global):
    """Count the pairs of masks.bigbird: whole blocks of ``block`` x ``block`` pairs."""
    if L % block or S % block:
        raise ValueError(
            f"bigbird: L is {L} and S is {S}; expected whole blocks of {block} tokens."
        )
    rows, columns = L // block, S // block
    i = np.arange(rows)
    first, last = -(-n_global // 2), n_global // 2  # global blocks at start and end
    start, stop = min(first, columns), max(columns - last, min(first, columns))
    low = np.maximum(i - window // 2, start)
    high = np.minimum(i + window // 2 + 1, stop)
    fixed = np.maximum(high - low, 0) + start + columns - stop  # window and global
    kept = np.minimum(fixed + n_random, columns)
    kept[(i < first) | (i >= rows - last)] = columns
    return int(kept.sum()) * block**2


ROWS = [
    Pattern(
        "bigbird", functools.partial(bigbird, seed=0),
        pairs=bigbird_pairs,
        options=dict(block=64, window=3, n_random=3, n_global=2),
        small=dict(block=2, window=1, n_random=1, n_global=1),
        about="""mask: near blocks, global blocks and random blocks
        can connect any two blocks in a few layers
        cannot choose its blocks by their content
        lesson 12: lookup by distance; Zaheer et al. 2020""",
    ),
]  # fmt: skip
