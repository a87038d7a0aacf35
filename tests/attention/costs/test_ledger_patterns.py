"""The ledger of patterns: pairs and tiles, against the masks and the kernels' plans."""

import tracemalloc

import numpy as np
import pytest

from attention import BlockMask, kernels, masks
from attention.costs import ledger, pairs_within, trials
from attention.costs.counted import count
from attention.costs.pair_counts import pairs_dilated, pairs_longformer
from attention.costs.tiles import listed_tiles, plan_bytes
from attention.exact.sdpa import dense_attention, tiled_attention
from attention.kernels.tile_plan import plan
from minigrad import Tensor, no_grad

WINDOWS = [(6, 6, 2, 0), (6, 9, 0, 3), (9, 4, 1, 1), (3, 8, -1, 2), (8, 3, 2, -1),
           (5, 5, -1, -1), (7, 7, 9, 9), (1, 1, 0, 0), (1, 6, 0, 0)]  # fmt: skip


def drawn(variant, L, S):
    return trials.inputs(variant, L=L, S=S, E=3, Ev=2, A=1)


@pytest.mark.parametrize("L, S, left, right", WINDOWS)
@pytest.mark.parametrize("dilation", [1, 2, 3, 20])
def test_dilation_keeps_the_multiples(L, S, left, right, dilation):
    distance = np.arange(S) - np.arange(L)[:, None]
    inside = masks.sliding_window(left, right).dense(1, 1, L, S)[0, 0]
    kept = inside & (distance % dilation == 0)
    assert pairs_dilated(L, S, left, right, dilation) == kept.sum()
    if dilation == 1:
        assert kept.sum() == pairs_within(L, S, left, right)
    if left == right >= 0:
        mask = masks.dilated(left, dilation)
        assert (mask.dense(1, 1, L, S)[0, 0] == kept).all()
    q, k, v, _ = drawn("dilated", L, S)
    o, found = count("masked", q, k, v, allowed=kept)
    window = dict(window=(left, right), dilation=dilation)
    assert ledger("dilated", L=L, S=S, E=3, Ev=2, **window).multiplications == found
    exact = dense_attention(q, k, v, attn_mask=kept).data
    np.testing.assert_allclose(o, exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("L, S, left, right", WINDOWS)
@pytest.mark.parametrize("tokens", [(), (0,), (0, 2, 5), (5, 0, 0)])
def test_longformer_keeps_the_window_and_the_crosses(L, S, left, right, tokens):
    tokens = tuple(t for t in tokens if t < max(L, S))
    mask = masks.sliding_window(left, right) | masks.global_tokens(tokens)
    allowed = mask.dense(1, 1, L, S)[0, 0]
    assert pairs_longformer(L, S, left, right, tokens) == allowed.sum()
    q, k, v, _ = drawn("longformer", L, S)
    o, found = count("masked", q, k, v, allowed=allowed)
    options = dict(window=(left, right), global_tokens=tokens)
    assert ledger("longformer", L=L, S=S, E=3, Ev=2, **options).multiplications == found
    exact = dense_attention(q, k, v, mask_mod=mask).data
    np.testing.assert_allclose(o, exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("L, S, blocks", [
    (12, 12, (2, 1, 1, 1)), (12, 12, (2, 3, 2, 2)), (8, 16, (2, 3, 1, 0)),
    (16, 8, (2, 3, 1, 3)), (4, 4, (2, 5, 9, 9)), (12, 12, (1, 1, 0, 0)),
])  # fmt: skip
def test_bigbird_counts_the_pairs_of_its_mask(L, S, blocks):
    allowed = masks.bigbird(*blocks, seed=3).dense(1, 1, L, S)[0, 0]
    q, k, v, _ = trials.inputs("bigbird", L=L, S=S, E=2, Ev=3, A=1)
    _, found = count("masked", q, k, v, allowed=allowed)
    assert (
        ledger("bigbird", L=L, S=S, E=2, Ev=3, blocks=blocks).multiplications == found
    )


def test_what_a_longer_text_costs():
    """O(n (w + g)), as Beltagy et al. have it; dilation reaches farther for no more."""
    n = 2**16
    options = dict(window=(256, 256), global_tokens=tuple(range(8)))
    one, two = (
        ledger("longformer", L=m, **options).multiplications for m in (n, 2 * n)
    )
    assert two == pytest.approx(2 * one, rel=0.01)
    window = ledger("window", L=n, window=(256, 256)).multiplications
    assert one - window == pytest.approx(2 * 8 * n * 128, rel=0.01)
    near, far = (
        ledger("dilated", L=n, window=(256 * m, 256 * m), dilation=m) for m in (1, 4)
    )
    assert far.multiplications == pytest.approx(near.multiplications, rel=0.02)
    assert near.multiplications == window


@pytest.mark.parametrize("size", [1, 3, 4, 8])
@pytest.mark.parametrize("L, S", [(1, 1), (16, 16), (17, 30), (30, 17), (5, 40)])
def test_the_tiles_are_those_of_the_block_mask(L, S, size):
    for w, dilation in ((0, 1), (5, 2), (9, 3), (12, 5), (50, 7)):
        mask = masks.dilated(w, dilation)
        kinds = BlockMask.from_mask(mask, L, S, block=size).kinds
        told = listed_tiles(L, S, (w, w), dilation, (), size)
        assert told == ((kinds > 0).sum(), (kinds == 2).sum())
    for window, tokens in (
        ((3, 3), (0,)), ((0, 5), (0, 1, 2, 3)), ((-1, 0), (4,)), ((2, 2), range(16))
    ):  # fmt: skip
        tokens = tuple(t for t in tokens if t < max(L, S))
        parts = masks.sliding_window(*window), masks.global_tokens(tokens)
        kinds = BlockMask.from_mask(parts[0] | parts[1], L, S, block=size).kinds
        tiles, partial = listed_tiles(L, S, window, 1, tokens, size)
        assert tiles == (kinds > 0).sum()
        # tiles that window and tokens fill together alone are told as partial
        alone = [BlockMask.from_mask(m, L, S, block=size).kinds == 1 for m in parts]
        together = (kinds == 1) & ~alone[0] & ~alone[1]
        assert partial == (kinds == 2).sum() + together.sum()


@pytest.mark.parametrize("variant", ["dilated", "longformer"])
def test_the_plan_takes_the_bytes_predicted(variant):
    n, options = 1000, trials.OPTIONS[variant]
    _, *arrays = plan(trials.block_mask_of(variant, n), 1, 1, n, n)
    kept = dict(dilation=1, global_tokens=(), blocks=trials.BLOCKS) | options
    told = plan_bytes(variant, 1, n, n, **kept, size=64)
    tiles = -(-n // 64)  # a side: a byte for each that there could be, 16 for a column
    assert told - tiles**2 - 16 * tiles == sum(x.nbytes for x in arrays) - 8


def test_a_list_of_tiles_is_counted_with_the_call():
    """The bits of partial tiles, which a window does without."""
    n, options = 2048, trials.OPTIONS["dilated"]
    window, dilated, ranges = (
        ledger(variant, L=n, **kept).extra_bytes
        for variant, kept in (
            ("window", dict(window=options["window"])),
            ("dilated", options),
            ("dilated", options | dict(dilation=1)),
        )
    )
    tiles, partial = listed_tiles(n, n, options["window"], 2, (), 64)
    assert tiles == partial
    assert dilated - window == (n / 64) ** 2 + (16 + 8 * 64) * tiles
    assert ranges == window


@pytest.mark.parametrize("variant", trials.BLOCKED)
def test_what_is_measured_has_the_plan_in_it(variant):
    n = 512
    q, k, v, _ = trials.inputs(variant, L=n, S=n, E=64, Ev=64, A=1, dtype=np.float32)
    block_mask = trials.block_mask_of(variant, n)
    with kernels.backend("numpy"), no_grad():
        call = trials.call_of(variant, n, *map(Tensor, (q, k, v)), [], block_mask)
        call()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            call()
            alone = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        _, found = trials.measured(variant, n)
    _, *arrays = plan(block_mask, 1, 1, n, n)
    assert found - alone == pytest.approx(sum(x.nbytes for x in arrays), abs=2000)


def test_bigbird_s_tiles_are_found_in_little_more_than_their_own_memory():
    n, block = 2**15, trials.BLOCKS[0]
    tracemalloc.start()
    try:
        BlockMask.from_mask(masks.bigbird(*trials.BLOCKS, seed=0), n, n)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held < 4 * (n / block) ** 2  # a byte for each pair of blocks, and the tiles


def test_patterns_are_called_with_the_masks_that_are_counted():
    """What is measured is the variant that the ledger was told of."""
    n = 192
    for variant in ("dilated", "longformer", "bigbird", "window"):
        q, k, v, _ = trials.inputs(variant, L=n, S=n, E=8, Ev=8, A=8)
        mask = trials.mask_of(variant, trials.options_of(variant))
        found = trials.call_of(variant, n, q, k, v, [])()
        exact = tiled_attention(q, k, v, mask_mod=mask)
        np.testing.assert_allclose(found.data, exact.data, rtol=1e-10, atol=1e-12)
        allowed = mask.dense(1, 1, n, n).sum()
        told = ledger(variant, L=n, E=8, **trials.options_of(variant))
        assert told.multiplications == n * 8 + allowed * 16
