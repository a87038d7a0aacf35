"""A block mask from an array, of other tiles, of nothing, and its map in signs."""

import numpy as np
import pytest

from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    from_array,
    global_tokens,
    mask_mod,
    nothing,
    padding,
    sliding_window,
)
from attention.masks.block_mask import BlockMask

from .block_mask_cases import FULL, counted, tiled
from .mask_cases import B, H, cases


def test_from_dense_is_the_same_as_from_the_mask():
    allowed = (causal & padding([9, 0, 4])).dense(B, H, 10, 9)
    tiles = BlockMask.from_dense(allowed, block=(4, 3))
    np.testing.assert_array_equal(tiles.kinds, counted(allowed, (4, 3)))
    np.testing.assert_array_equal(tiles.to_dense(), allowed)
    flat = BlockMask.from_dense(allowed[0, 0], block=4)
    assert flat.kinds.shape == (1, 1, 3, 3)
    kept = flat.to_dense()
    allowed[:] = False  # it has a copy
    np.testing.assert_array_equal(flat.to_dense(), kept)
    assert kept.any()


def test_other_tiles_of_the_same_mask():
    for mask in (
        causal(offset="lower_right"),
        padding([9, 0, 4]),
        cases(10, 9)["or"][0],
        mask_mod(lambda b, h, q, kv: (b + h + q + kv) % 3 == 0),
    ):
        one = tiled(mask, 10, 9, (4, 4)).with_block((3, 2))
        assert one.block == (3, 2)
        np.testing.assert_array_equal(one.kinds, tiled(mask, 10, 9, (3, 2)).kinds)


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_no_queries_or_no_keys(L, S):
    for mask in (causal, global_tokens([]) | causal, dilated(3, 2),
                 bigbird(2, 1, 1, 1, 0), padding([0, 0, 0]),
                 from_array(np.ones((B, H, L, S), bool)),
                 document(np.zeros(S, int), np.zeros(L, int))):  # fmt: skip
        tiles = tiled(mask, L, S, (2, 2))
        assert tiles.kinds.shape[2:] == (-(-L // 2), -(-S // 2))
        assert tiles.sparsity() == 0.0
        assert tiles.to_dense().shape[2:] == (L, S)
        lo, hi = tiles.key_ranges()
        assert lo.shape[2:] == (L,) and not hi.any()
        assert len(tiles.listing().blocks) == 0
        assert len(str(tiles).splitlines()) == 3 if L and S else 2


def test_no_examples():
    tiles = BlockMask.from_mask(padding(np.zeros(0, int)) & causal, 4, 5)
    assert tiles.kinds.shape == (0, 1, 1, 1) and tiles.to_dense().shape == (0, 1, 4, 5)
    assert tiles.sparsity() == 0.0
    assert tiles.row_of(0, 3).shape == (0,)


def test_nobody_changes_the_kinds():
    with pytest.raises(ValueError, match="read-only"):
        BlockMask.from_mask(causal, 4, 4).kinds[0, 0, 0, 0] = FULL


def test_the_map():
    mask = causal & sliding_window(300, 0)
    assert str(BlockMask.from_mask(mask, 1000, 1200)) == (
        "BlockMask(causal & sliding_window(300, 0), L=1000, S=1200, block=(128, 128))\n"
        "8 x 10 tiles: # full 7, + partial 19, . empty 54; sparsity 67.5%\n"
        "+.........\n"
        "#+........\n"
        "+#+.......\n"
        "++#+......\n"
        ".++#+.....\n"
        "..++#+....\n"
        "...++#+...\n"
        "....++#+.."
    )


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
    large = BlockMask.from_mask(padding(range(10, 410)) & causal, 1000, 1000, block=16)
    assert max(map(len, str(large).splitlines())) <= 80


@pytest.mark.parametrize(
    "L, S", [(81, 81), (400, 90), (90, 400), (1000, 1000), (80, 80)]
)
def test_a_large_map_joins_tiles_and_fits_80_columns(L, S):
    mask = causal & sliding_window(L // 2, 0) & padding([S - 1])
    text = str(BlockMask.from_mask(mask | nothing | nothing | nothing, L, S, block=1))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    g = -(-max(L, S) // 80)
    assert (f"one sign for {g} x {g} tiles:" in lines) == (g > 1)
    signs = lines[-len(range(0, L, g)) :]
    allowed = mask.dense(1, 1, L, S)
    want = np.array(list(".#+"))[counted(allowed, (g, g))[0, 0]]
    assert signs == ["".join(row) for row in want]
