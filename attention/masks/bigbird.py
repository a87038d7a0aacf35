"""BigBird: a window, global blocks and random blocks, O(n) pairs in all.

    block i attends to the blocks j with |i - j| <= window // 2, j or i global, j drawn

Of n tokens each attends to (window + n_random + n_global) blocks, so the cost grows
with n and not with n^2; by way of the global blocks any token reaches any other in two
layers. To draw them takes a byte for each pair of blocks, (n / block)^2.

Zaheer et al. 2020, section 2.
"""

import copy

import numpy as np

from ..checks import whole
from .algebra import UNSIZED, Mask


class bigbird(Mask):
    """Each block of tokens attends to its neighbours, global blocks and random blocks.

    block      tokens in a block; the last one may be smaller
    window     blocks in the window, odd: 3 is a block itself and one on either side
    n_random   blocks drawn for each block of queries, without replacement, from those
               that neither the window nor the global blocks give it already; all of
               them if they are fewer
    n_global   global blocks, taken in turn from the start and from the end: 2 is the
               first and the last. They attend to all and are attended to by all
    seed       of the draw; the same seed, L and S give the same mask, and all examples
               and heads have the same

    A block in the middle attends to window + n_random + n_global blocks, however long
    the sequence is. Global blocks are parts of the sequence, not extra tokens: the
    paper's internal transformer construction (ITC).

    Raises TypeError and ValueError for anything but whole numbers that fit.
    Source: Zaheer et al. 2020, section 2.
    """

    def __init__(self, block, window, n_random, n_global, seed):
        self.block = whole("bigbird", "block", block, least=1)
        self.window = whole("bigbird", "window", window)
        if self.window % 2 == 0:
            raise ValueError(
                f"bigbird: window is {window}; expected an odd number of blocks, as "
                "many before a block as after it."
            )
        self.n_random = whole("bigbird", "n_random", n_random)
        self.n_global = whole("bigbird", "n_global", n_global)
        self.seed = whole("bigbird", "seed", seed)
        self._blocks = None  # bool (blocks of queries, blocks of keys), once L, S known

    def sized(self, L, S):
        sized = copy.copy(self)
        sized._blocks = self._drawn(-(-L // self.block), -(-S // self.block))
        return sized

    def allowed(self, b, h, q, kv):
        return self._known_blocks()[q // self.block, kv // self.block]

    def tile_kinds(self, tiles):
        return tiles.of_blocks(self._known_blocks(), self.block)

    def _known_blocks(self):
        if self._blocks is None:
            raise ValueError(UNSIZED.format(self))
        return self._blocks

    def _drawn(self, rows, columns):
        blocks = np.zeros((rows, columns), bool)  # and never a number for each of them
        blocks[self._is_global(np.arange(rows), rows)] = True
        blocks[:, self._is_global(np.arange(columns), columns)] = True
        rng, reach = np.random.default_rng(self.seed), self.window // 2
        for i, row in enumerate(blocks):
            row[max(i - reach, 0) : i + reach + 1] = True
            left = np.flatnonzero(~row)
            row[rng.permutation(left)[: self.n_random]] = True
        return blocks

    def _is_global(self, i, n):
        first, last = -(-self.n_global // 2), self.n_global // 2
        return (i < first) | (i >= n - last)

    def __repr__(self):
        numbers = self.block, self.window, self.n_random, self.n_global, self.seed
        return f"bigbird({', '.join(map(str, numbers))})"
