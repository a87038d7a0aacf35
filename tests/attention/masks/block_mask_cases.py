"""The kinds of tiles, by counting the pairs of each."""

import numpy as np

from attention.masks.block_mask import BlockMask

from .mask_cases import B, H

EMPTY, FULL, PARTIAL = 0, 1, 2


def counted(allowed, block):
    """The kinds of tiles, by counting the pairs of each."""
    Tq, Tk = block
    B, H, L, S = allowed.shape
    kinds = np.zeros((B, H, -(-L // Tq), -(-S // Tk)), int)
    for b, h, i, j in np.ndindex(kinds.shape):
        tile = allowed[b, h, i * Tq : i * Tq + Tq, j * Tk : j * Tk + Tk]
        kinds[b, h, i, j] = FULL if tile.all() else PARTIAL if tile.any() else EMPTY
    return kinds


def tiled(mask, L, S, block):
    return BlockMask.from_mask(mask, L, S, B, H, block)
