"""Tiles are found in little memory, and with few evaluations of the mask."""

import tracemalloc

import numpy as np
import pytest

from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    everything,
    global_tokens,
    local,
    nothing,
    padding,
    sliding_window,
)
from attention.masks.block_mask import BlockMask

from .block_mask_cases import PARTIAL

STRUCTURED = {  # and the least sparsity that they should have
    "causal": (causal, 0.49),
    "window": (sliding_window(255, 0), 0.98),
    "padding and causal": (padding([32768, 5000]) & causal, 0.67),
    "local": (local(lambda i: 32767 - i, 128), 0.98),
    "documents": (document(np.arange(32768) // 3000) & causal, 0.94),
    "longformer": (sliding_window(256, 256) | global_tokens([0, 9000]), 0.96),
    "bigbird": (bigbird(64, 3, 3, 2, 0), 0.94),
    "dilated": (dilated(512, 4), 0.96),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_memory_stays_far_below_the_pairs(name):
    """32768 x 32768 pairs are 1 GiB of bools; 65536 tiles and 32768 ranges, 1 MiB."""
    mask, least = STRUCTURED[name]
    n = 32768
    tracemalloc.start()
    tiles = BlockMask.from_mask(mask, n, n)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * 2**20
    assert least < tiles.sparsity() < least + 0.02


def test_the_sparsity_of_causal_at_32768_is_exact():
    tiles = BlockMask.from_mask(causal, 32768, 32768)
    n = 32768 // 128
    assert tiles.sparsity() == (n * (n - 1) / 2) / n**2
    assert (tiles.kinds == PARTIAL).sum() == n


@pytest.mark.parametrize(
    "known, open_tiles",
    [
        (causal & sliding_window(100, 0), 16 + 15 + 14),
        (padding([300]) & causal, (1 + 2 + 3 + 4) + 12 * 5),
        (bigbird(64, 1, 0, 0, 0), 16),
        (nothing, 0),
        (everything, 256),
    ],
)
def test_a_function_is_evaluated_only_in_unknown_tiles(known, open_tiles):
    n, size = 1024, 64
    asked = 0

    def rule(b, h, q, kv):
        nonlocal asked
        answer = (q + kv) % 3 == 0
        asked += answer.size
        return answer

    for mask in (known & rule, rule & known, ~(~known | rule)):
        asked = 0
        tiles = BlockMask.from_mask(mask, n, n, block=size)
        assert asked == open_tiles * size**2 + 1  # and once, whether heads differ
        assert np.count_nonzero(tiles.kinds) == open_tiles


def test_a_mask_that_is_looked_at_takes_one_strip_at_a_time():
    largest = 0

    def rule(b, h, q, kv):
        nonlocal largest
        answer = q >= kv
        largest = max(largest, answer.size)
        return answer

    tracemalloc.start()
    tiles = BlockMask.from_mask(rule, 4096, 4096)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert largest <= 2**18 and peak < 16 * 2**18
    np.testing.assert_array_equal(
        tiles.kinds, BlockMask.from_mask(causal, 4096, 4096).kinds
    )
