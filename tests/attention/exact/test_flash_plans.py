"""A plan lists the tiles of its mask, and no others."""

import numpy as np
import pytest

from attention import masks
from attention.kernels.tile_plan import tile_plan
from attention.masks.block_mask import BlockMask

from ...ops.sdpa import attends
from .flash_cases import PATTERNS


def pairs(pattern, B, H, L, S):
    allowed = True if pattern is None else pattern.dense(B, H, L, S)
    return np.broadcast_to(allowed, (B, H, L, S))


@pytest.mark.parametrize("size", [1, 3, 8, 64])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_plan_is_its_mask(name, size):
    sizes = B, H, L, S = 2, 3, 13, 17
    tiles = tile_plan(PATTERNS[name], *sizes, size=size)
    allowed = pairs(PATTERNS[name], *sizes)
    np.testing.assert_array_equal(attends(tiles, (B, H), L, S), allowed)
    # and no tile is listed in which nobody attends, unless the range passes over it
    full = np.zeros((B, H, -(-L // size) * size, -(-S // size) * size), bool)
    full[:, :, :L, :S] = allowed
    some = full.reshape(B, H, full.shape[2] // size, size, -1, size).any((3, 5))
    assert tiles.tiles().sum() == some.sum()


def test_what_is_alike_for_all_is_planned_once():
    for pattern, rows in (None, 1), (masks.causal, 1), (masks.padding([9, 0]), 2):
        assert len(tile_plan(pattern, 2, 3, 13, 17).first) == rows
    assert len(tile_plan(PATTERNS["of a head"], 2, 3, 13, 17).first) == 3
    assert len(tile_plan(PATTERNS["random"], 2, 3, 13, 17).first) == 6


def test_the_plan_of_a_block_mask_is_kept():
    blocks = BlockMask.from_mask(PATTERNS["BigBird"], 13, 17)
    tiles = tile_plan(blocks, 2, 3, 13, 17)
    assert tile_plan(blocks, 2, 3, 13, 17) is tiles
    assert tile_plan(blocks, 1, 3, 13, 17) is not tiles
    with pytest.raises(ValueError, match="BlockMask: made for 13 queries and 17 keys"):
        tile_plan(blocks, 2, 3, 13, 18)
