"""The tiles of a mask are those that counting in the dense array finds."""

import numpy as np
import pytest

from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    everything,
    from_array,
    global_tokens,
    local,
    mask_mod,
    nothing,
    padding,
    prefix_lm,
    sliding_window,
)
from attention.masks.block_mask import BlockMask

from .block_mask_cases import EMPTY, FULL, PARTIAL, counted, tiled
from .mask_cases import NAMES, SIZES, B, H, cases, full

BLOCKS = [(1, 1), (2, 3), (5, 2), (128, 128)]


@pytest.mark.parametrize("L, S", SIZES[:2])
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
        assert tiles.sparsity() == (kinds == EMPTY).sum() / kinds.size
        assert (tiles.L, tiles.S, tiles.block) == (L, S, block)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(30))
def test_the_tiles_of_a_formula_are_those_that_counting_finds(seed):
    """Large enough for full, partial and empty tiles to meet in every pairing."""
    rng = np.random.default_rng(seed)
    L, S = rng.integers(20, 60, 2)
    block = tuple(rng.integers(1, 9, 2).tolist())
    table = rng.random((1, H, -(-L // 7), -(-S // 6))) < 0.6
    table = table.repeat(7, 2).repeat(6, 3)[:, :, :L, :S]
    parts = [
        causal,
        causal(offset="lower_right"),
        sliding_window(*rng.integers(0, 12, 2)),
        dilated(rng.integers(12), rng.integers(1, 4)),
        padding(rng.integers(0, S + 1, B)),
        padding(rng.integers(0, S + 1, (B, L))),
        prefix_lm(rng.integers(S)),
        document(np.sort(rng.integers(0, 4, S)), np.sort(rng.integers(0, 4, L))),
        document(rng.integers(0, 2, (B, S)), rng.integers(0, 2, (B, L))),
        global_tokens(rng.integers(0, max(L, S), 3)),
        local(rng.normal(S / 2, 9, (B, L)), 5.5),
        bigbird(rng.integers(1, 9), 3, 1, 1, seed),
        mask_mod(lambda b, h, q, kv: (q // 11 + kv // 13 + h) % 2 == 0),
        from_array(table),
        everything,
        nothing,
    ]

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


@pytest.mark.parametrize("block", [(2, 3), (128, 128)])
@pytest.mark.parametrize("L, S", [(7, 11), (11, 7), (1, 13)])
@pytest.mark.parametrize("name", NAMES)
def test_a_walk_over_the_listing_makes_the_mask(name, L, S, block):
    """As a kernel does it: row by row, full tiles as they are, others with bits."""
    mask, _ = cases(L, S)[name]
    tiles = tiled(mask, L, S, block)
    (Tq, Tk), rows = block, tiles.kinds.shape[0] * tiles.kinds.shape[1]
    first, last, blocks, partial = tiles.listing()
    pairs = np.concatenate([np.zeros((0, Tq, Tk), bool), *tiles.partial_tiles()])
    assert first.shape == last.shape == (rows, -(-L // Tq))
    assert blocks.shape == partial.shape == (np.count_nonzero(tiles.kinds),)
    assert {x.dtype for x in (first, last, blocks, partial)} == {np.dtype(np.int32)}
    assert sorted(partial[partial >= 0]) == list(range(len(pairs)))
    walked = np.zeros((rows, L, S), bool)
    for r, i in np.ndindex(first.shape):
        assert (np.diff(blocks[first[r, i] : last[r, i]]) > 0).all()
        for e in range(first[r, i], last[r, i]):
            q = slice(i * Tq, min(i * Tq + Tq, L))
            kv = slice(blocks[e] * Tk, min(blocks[e] * Tk + Tk, S))
            tile = walked[r, q, kv]
            if partial[e] < 0:
                tile[:] = True
            else:
                bits = pairs[partial[e]]
                tile[:] = bits[: tile.shape[0], : tile.shape[1]]
                assert bits.sum() == tile.sum()  # False past the ends
    heads = walked[tiles.row_of(B, H)].reshape(B, H, L, S)
    np.testing.assert_array_equal(heads, full(mask, L, S))


@pytest.mark.parametrize("L, S", [(7, 11), (11, 7)])
@pytest.mark.parametrize("name", NAMES)
def test_single_tiles(name, L, S):
    mask, _ = cases(L, S)[name]
    allowed, (Tq, Tk) = full(mask, L, S), (4, 3)
    tiles = tiled(mask, L, S, (Tq, Tk))
    kinds = counted(allowed, (Tq, Tk))
    for b, h, i in np.ndindex(kinds.shape[:3]):
        kept = [(j, k) for j, k in enumerate(kinds[b, h, i].tolist()) if k != EMPTY]
        assert tiles.tiles_of(b, h, i) == kept
        for j in range(kinds.shape[3]):
            want = allowed[b, h, i * Tq : i * Tq + Tq, j * Tk : j * Tk + Tk]
            np.testing.assert_array_equal(tiles.tile_mask(b, h, i, j), want)


@pytest.mark.parametrize("L, S", SIZES[:2])
@pytest.mark.parametrize("name", NAMES)
def test_key_ranges_if_and_only_if_every_query_has_one(name, L, S):
    mask, _ = cases(L, S)[name]
    allowed = mask.dense(B, H, L, S)
    # one range: between two neighbours the mask goes from no to yes once at most
    begins = np.diff(allowed.astype(int), axis=-1, prepend=0) == 1
    ranges = tiled(mask, L, S, (3, 4)).key_ranges()
    if (begins.sum(-1) > 1).any():
        assert ranges is None
        return
    lo, hi = ranges
    assert lo.dtype == hi.dtype == np.int32
    assert lo.shape == hi.shape == allowed.shape[:3]
    j = np.arange(S)
    np.testing.assert_array_equal((lo[..., None] <= j) & (j < hi[..., None]), allowed)
    assert not lo[~allowed.any(-1)].any() and not hi[~allowed.any(-1)].any()


def test_key_ranges_that_only_the_pairs_can_tell():
    n = 50
    found = BlockMask.from_dense(np.tri(n, dtype=bool), block=8).key_ranges()
    for got, want in zip(found, causal.key_ranges(n, n)):
        np.testing.assert_array_equal(got, np.broadcast_to(want, (1, 1, n)))
    hole = np.tri(n, dtype=bool)
    hole[40, 16] = False
    assert BlockMask.from_dense(hole, block=8).key_ranges() is None


def test_the_tiles_agree_with_flex_attention():
    torch = pytest.importorskip("torch")
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    n, size = 256, 32
    ids = np.arange(n) // 96
    names = torch.tensor(ids)
    for ours, theirs in (
        (causal, lambda b, h, q, k: q >= k),
        (
            causal & sliding_window(70, -1),
            lambda b, h, q, k: (q >= k) & (q - k <= 70),
        ),
        (
            document(ids) & causal | global_tokens([3]),
            lambda b, h, q, k: (names[q] == names[k]) & (q >= k) | (q == 3) | (k == 3),
        ),
        (prefix_lm(100), lambda b, h, q, k: (q >= k) | (k < 100)),
    ):
        tiles = BlockMask.from_mask(ours, n, n, block=size)
        peer = flex.create_block_mask(theirs, None, None, n, n, "cpu", size)
        for kind, count in (
            (PARTIAL, peer.kv_num_blocks),
            (FULL, peer.full_kv_num_blocks),
        ):
            rows = (tiles.kinds == kind).sum(-1)
            np.testing.assert_array_equal(rows, count.numpy().reshape(rows.shape))
        assert tiles.sparsity() * 100 == pytest.approx(peer.sparsity())
