"""The tiles of a mask are those that counting its pairs finds, in little memory.

exact/test_flash.py reads the plans that are made of them.
"""

import tracemalloc

import numpy as np
import pytest

from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    from_array,
    global_tokens,
    padding,
    sliding_window,
)
from attention.masks.block_mask import BlockMask

from .mask_cases import EMPTY, NAMES, SIZES, B, H, cases

BLOCKS = [(1, 1), (2, 3), (5, 2), (128, 128)]
NONE, FULL, PARTIAL = 0, 1, 2


def counted(allowed, block):
    """The kinds of tiles, by counting the pairs of each."""
    Tq, Tk = block
    B, H, L, S = allowed.shape
    kinds = np.zeros((B, H, -(-L // Tq), -(-S // Tk)), int)
    for b, h, i, j in np.ndindex(kinds.shape):
        tile = allowed[b, h, i * Tq : i * Tq + Tq, j * Tk : j * Tk + Tk]
        kinds[b, h, i, j] = FULL if tile.all() else PARTIAL if tile.any() else NONE
    return kinds


def tiled(mask, L, S, block):
    return BlockMask.from_mask(mask, L, S, B, H, block)


@pytest.mark.parametrize("L, S", SIZES[:2] + EMPTY)
@pytest.mark.parametrize("name", NAMES)
def test_the_tiles_of_a_mask_are_those_that_counting_finds(name, L, S):
    mask, _ = cases(L, S)[name]
    allowed = mask.dense(B, H, L, S)
    for block in BLOCKS:
        tiles = tiled(mask, L, S, block)
        kinds = counted(allowed, block)
        np.testing.assert_array_equal(tiles.kinds, kinds)
        assert tiles.kinds.dtype == np.uint8
        np.testing.assert_array_equal(tiles.to_dense(), allowed)
        assert tiles.sparsity() == (kinds == NONE).sum() / max(kinds.size, 1)
        assert (tiles.L, tiles.S, tiles.block) == (L, S, block)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20))
def test_the_tiles_of_a_formula_are_those_that_counting_finds(seed):
    """Large enough for full, partial and empty tiles to meet in every pairing."""
    rng = np.random.default_rng(seed)
    L, S = rng.integers(20, 60, 2)
    block = tuple(rng.integers(1, 9, 2).tolist())
    table = rng.random((1, H, -(-L // 7), -(-S // 6))) < 0.6
    table = table.repeat(7, 2).repeat(6, 3)[:, :, :L, :S]
    parts = [mask for mask, _ in cases(L, S).values()]
    parts += [bigbird(rng.integers(1, 9), 3, 1, 1, seed), from_array(table)]

    def formula(depth):
        if depth == 0:
            return parts[rng.integers(len(parts))]
        x, kind = formula(depth - 1), rng.integers(4)
        if kind == 0:
            return ~x
        return x & formula(depth - 1) if kind == 1 else x | formula(depth - 1)

    for _ in range(6):
        mask = formula(3)
        allowed = mask.dense(B, H, L, S)
        tiles = tiled(mask, L, S, block)
        np.testing.assert_array_equal(tiles.kinds, counted(allowed, block), f"{mask}")
        np.testing.assert_array_equal(tiles.to_dense(), allowed, f"{mask}")


def test_other_tiles_of_the_same_mask():
    for name in "causal, lower right", "padding", "or", "mask_mod":
        mask, _ = cases(10, 9)[name]
        one = tiled(mask, 10, 9, (4, 4)).with_block((3, 2))
        assert one.block == (3, 2)
        np.testing.assert_array_equal(one.kinds, tiled(mask, 10, 9, (3, 2)).kinds)


def test_the_kinds_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        BlockMask.from_mask(causal, 4, 4).kinds[0, 0, 0, 0] = FULL


def test_the_map_of_several_heads_is_that_of_the_first():
    tiles = BlockMask.from_mask(padding([4, 9, 0]), 6, 9, block=3)
    assert str(tiles) == (
        "BlockMask(padding([4, 9, 0]), L=6, S=9, block=(3, 3))\n"
        "3 x 1 x 2 x 3 tiles: # full 8, + partial 2, . empty 8; sparsity 44.4%\n"
        "the first head of the first example:\n"
        "#+.\n"
        "#+."
    )
    assert tiles.map(b=1) == tiles.map(b=1, h=5) == "###\n###"
    assert repr(tiles) == "BlockMask(padding([4, 9, 0]), L=6, S=9, block=(3, 3))"


@pytest.mark.parametrize("L, S", [(81, 81), (400, 90), (80, 80)])
def test_a_large_map_joins_tiles_and_fits_80_columns(L, S):
    mask = causal & sliding_window(L // 2, 0) & padding([S - 1])
    text = str(BlockMask.from_mask(mask, L, S, block=1))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    g = -(-max(L, S) // 80)
    assert (f"one sign for {g} x {g} tiles:" in lines) == (g > 1)
    signs = lines[-len(range(0, L, g)) :]
    allowed = mask.dense(1, 1, L, S)
    want = np.array(list(".#+"))[counted(allowed, (g, g))[0, 0]]
    assert signs == ["".join(row) for row in want]


# Memory and evaluations

STRUCTURED = {  # mask, least sparsity
    "causal": (causal, 0.48),
    "window": (sliding_window(255, 0), 0.94),
    "documents": (document(np.arange(8192) // 3000) & causal, 0.8),
    "longformer": (sliding_window(256, 256) | global_tokens([0, 5000]), 0.85),
    "bigbird": (bigbird(64, 3, 3, 2, 0), 0.8),
    "dilated": (dilated(512, 4), 0.85),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_memory_stays_far_below_the_pairs(name):
    """8192 x 8192 pairs are 64 MiB of bools; a row of tiles, 1 MiB, or 8 of ints."""
    mask, least = STRUCTURED[name]
    n = 8192
    tracemalloc.start()
    tiles = BlockMask.from_mask(mask, n, n)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 24 * 2**20
    assert least < tiles.sparsity() < least + 0.02


def test_a_function_is_evaluated_once_and_a_row_of_tiles_at_a_time():
    calls = []

    def rule(b, h, q, kv):
        calls.append((q.size, kv.size))
        return q >= kv

    tiles = BlockMask.from_mask(causal & rule, 1000, 700)
    tiles.partial_tiles()
    assert calls == [(128, 700)] * 7 + [(1000 - 7 * 128, 700)]
    kinds = BlockMask.from_mask(causal, 1000, 700).kinds
    np.testing.assert_array_equal(tiles.kinds, kinds)
