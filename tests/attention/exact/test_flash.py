"""Tiled attention: plans of tiles, their results, work and memory.

The laws of tests/test_laws.py compare them, and merging, with their definitions.
"""

import tracemalloc

import numpy as np
import pytest

from attention import kernels, masks
from attention.exact.flash import flash_attention
from attention.kernels.tile_plan import tile_plan
from attention.masks.block_mask import BlockMask
from attention.positions import OffsetBias
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ...ops.sdpa import attends
from ..kernels.kernel_cases import BACKENDS
from ..masks.mask_cases import B, H, cases
from .paths import tiled_attention

L, S = 13, 17
SIZES = B, H, L, S
PATTERNS = {name: mask for name, (mask, _) in cases(L, S).items()} | {
    "no mask": None, "BigBird": masks.bigbird(2, 3, 1, 1, seed=0)
}  # fmt: skip
SIZE = 64  # of the kernel's tiles


# Plans


@pytest.mark.parametrize("size", [1, 3, 8, 64])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_plan_lists_the_tiles_of_its_mask_and_no_others(name, size):
    pattern = PATTERNS[name]
    tiles = tile_plan(pattern, *SIZES, size=size)
    dense = True if pattern is None else pattern.dense(*SIZES)
    allowed = np.broadcast_to(dense, SIZES)
    np.testing.assert_array_equal(attends(tiles, (B, H), L, S), allowed)
    full = np.zeros((B, H, -(-L // size) * size, -(-S // size) * size), bool)
    full[:, :, :L, :S] = allowed
    some = full.reshape(B, H, full.shape[2] // size, size, -1, size).any((3, 5))
    assert tiles.tiles().sum() == some.sum()


@pytest.mark.parametrize("name, rows", [
    ("no mask", 1), ("causal", 1), ("padding", B), ("mask_mod", H), ("array", B * H)
])  # fmt: skip
def test_heads_of_one_pattern_share_one_plan(name, rows):
    assert len(tile_plan(PATTERNS[name], *SIZES).first) == rows


def test_the_plan_of_a_block_mask_is_kept():
    blocks = BlockMask.from_mask(PATTERNS["BigBird"], L, S)
    tiles = tile_plan(blocks, *SIZES)
    assert tile_plan(blocks, *SIZES) is tiles
    assert tile_plan(blocks, 1, H, L, S) is not tiles


def test_the_plan_of_a_window_is_kept():
    """Equal windows have one plan; another offset or size has another."""
    plan = tile_plan(masks.sliding_window(4, 2), *SIZES)
    assert tile_plan(masks.sliding_window(4, 2), *SIZES) is plan
    for other in (masks.sliding_window(4, 2, offset=1), masks.causal, None):
        assert not np.array_equal(tile_plan(other, *SIZES).lo, plan.lo)
    assert tile_plan(masks.sliding_window(4, 2), B, H, L, S - 1) is not plan


# Work


@pytest.mark.parametrize("way", BACKENDS)
@pytest.mark.parametrize("mask", [
    masks.sliding_window(90, 0), masks.bigbird(SIZE, 1, 1, 1, seed=2)
], ids=str)  # fmt: skip
def test_the_kept_tiles_alone_are_read(mask, way):
    """Both ways: of a tile that is not listed nothing is read, not even to drop it."""
    if way == "numba":
        pytest.importorskip("numba")
    n = 330
    tiles = BlockMask.from_mask(mask, n, n, block=SIZE)
    kept = tiles.kinds[0, 0] != 0
    listed = tile_plan(tiles, 1, 1, n, n)
    free = listed._replace(  # no pair of a listed tile is masked
        lo=np.zeros_like(listed.lo), hi=np.full_like(listed.hi, n),
        bits_of=np.full_like(listed.bits_of, -1),
    )  # fmt: skip
    arrays = draw(*[(1, n, 4)] * 3)
    g = draw((1, n, 4), seed=5)[0]

    def run(q, k, v, g):
        with kernels.backend(way), np.errstate(invalid="ignore"):
            (o, lse), back = flash_attention.raw(q, k, v, plan=free, scale=0.5)
            dq, dk, dv, *_ = back([g, np.zeros_like(lse)])
        return o, dq, dk, dv

    clean = run(*arrays, g)
    row = 2  # of queries, and then of keys
    others = np.repeat(~kept[row], SIZE)[:n]
    q, k, v = (x.copy() for x in arrays)
    k[:, others], v[:, others] = np.nan, np.nan
    at = slice(row * SIZE, row * SIZE + SIZE)
    for x, y in zip(run(q, k, v, g)[:2], clean[:2]):
        np.testing.assert_allclose(x[:, at], y[:, at], rtol=1e-12)
    others = np.repeat(~kept[:, row], SIZE)[:n]
    q, k, v = (x.copy() for x in arrays)
    bad = g.copy()
    q[:, others], bad[:, others] = np.nan, np.nan
    for x, y in zip(run(q, k, v, bad)[2:], clean[2:]):
        np.testing.assert_allclose(x[:, at], y[:, at], rtol=1e-12)
    assert np.isnan(run(q, k, v, bad)[2]).any()


# Memory


@pytest.mark.parametrize("backend, pattern", [
    ("numba", None), ("numba", masks.causal), ("numpy", masks.sliding_window(256, 256))
], indirect=["backend"], ids=str)  # fmt: skip
def test_memory_grows_with_the_sequence_and_not_with_its_square(backend, pattern):
    """Beyond inputs and results, forward and backward take < 5 % of the scores."""
    n = 4096
    tensors = [Tensor(x, requires_grad=True) for x in draw(*[(n, 16)] * 3)]
    bias = OffsetBias(Tensor(np.zeros((1, 2 * n - 1)), requires_grad=True))
    few = [Tensor(x.data[:64], requires_grad=True) for x in tensors]
    o = tiled_attention(*few, bias=OffsetBias(np.zeros((1, 127))))
    o.backward(o.data)  # the kernels are compiled now
    tracemalloc.start()
    try:
        o, lse = tiled_attention(*tensors, pattern, bias=bias, return_lse=True)
        o.backward(o.data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    results = sum(x.nbytes for x in (o.data, lse.data, *(t.grad for t in tensors)))
    assert peak - results < 0.05 * 8 * n * n
