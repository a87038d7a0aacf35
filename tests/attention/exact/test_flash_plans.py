"""A plan lists the tiles of its mask, no others, and no others are worked on."""

import numpy as np
import pytest

from attention import masks
from attention.kernels.tile_plan import plan
from attention.masks.block_mask import BlockMask

from ...minigrad.array_cases import draw
from ...ops.sdpa import attends
from ..kernels.kernel_cases import BACKENDS, running
from .flash_cases import PATTERNS, run


@pytest.fixture(params=BACKENDS)
def backend(request):
    with running(request.param):
        yield request.param


def pairs(pattern, B, H, L, S):
    allowed = True if pattern is None else pattern.dense(B, H, L, S)
    return np.broadcast_to(allowed, (B, H, L, S))


@pytest.mark.parametrize("size", [1, 3, 8, 64])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_plan_is_its_mask(name, size):
    sizes = B, H, L, S = 2, 3, 13, 17
    tiles = plan(PATTERNS[name], *sizes, size=size)
    allowed = pairs(PATTERNS[name], *sizes)
    np.testing.assert_array_equal(attends(tiles, (B, H), L, S), allowed)
    # and no tile is listed in which nobody attends, unless the range passes over it
    full = np.zeros((B, H, -(-L // size) * size, -(-S // size) * size), bool)
    full[:, :, :L, :S] = allowed
    some = full.reshape(B, H, full.shape[2] // size, size, -1, size).any((3, 5))
    assert tiles.tiles().sum() == some.sum()


def test_what_is_alike_for_all_is_planned_once():
    for pattern, rows in (None, 1), (masks.causal, 1), (masks.padding([9, 0]), 2):
        assert len(plan(pattern, 2, 3, 13, 17).first) == rows
    assert len(plan(PATTERNS["of a head"], 2, 3, 13, 17).first) == 3
    assert len(plan(PATTERNS["random"], 2, 3, 13, 17).first) == 6


def test_the_plan_of_a_block_mask_is_kept():
    blocks = BlockMask.from_mask(PATTERNS["BigBird"], 13, 17)
    tiles = plan(blocks, 2, 3, 13, 17)
    assert plan(blocks, 2, 3, 13, 17) is tiles
    assert plan(blocks, 1, 3, 13, 17) is not tiles
    with pytest.raises(ValueError, match="BlockMask: made for 13 queries and 17 keys"):
        plan(blocks, 2, 3, 13, 18)


@pytest.mark.parametrize("pattern", [
    masks.sliding_window(100, 100),
    masks.dilated(100, 4),
    masks.sliding_window(100, 100) | masks.global_tokens([0, 1, 2]),
    masks.bigbird(64, 3, 3, 2, seed=0),
], ids=str)  # fmt: skip
def test_work_grows_with_the_sequence_and_not_with_its_square(pattern):
    counts = [plan(pattern, 1, 1, n, n).tiles().sum() for n in (2048, 4096, 8192)]
    assert counts[2] < 0.15 * 128**2
    assert counts[1] - counts[0] <= 32 * 10  # for each block of queries, whatever n
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def test_work_is_what_the_plan_lists(backend):
    """Keys of a tile that is not listed are never read, let alone masked."""
    n = 300
    q, k, v = draw((1, n, 4), (1, n, 4), (1, n, 3))
    tiles = plan(masks.bigbird(64, 1, 1, 0, seed=0), 1, 1, n, n)
    assert tiles.tiles()[0] == 10
    expected = run(q, k, v, tiles)
    row = tiles.blocks[tiles.first[0, 2] : tiles.last[0, 2]]
    others = ~np.isin(np.arange(n) // 64, row)
    k[:, others] = v[:, others] = np.nan
    found = run(q, k, v, tiles)
    for x, y in zip(found[:3], expected[:3]):
        np.testing.assert_array_equal(x[:, 128:192], y[:, 128:192])
