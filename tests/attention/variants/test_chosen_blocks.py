"""Blocks chosen by content: what a query reads, and which tiles are computed."""

import numpy as np
import pytest

import attention as A
import minigrad as mg
from attention import definitions
from attention.masks.block_mask import BlockMask

from ...minigrad.array_cases import draw
from ..definition_cases import batched, check

B, H, L, E, Ev = 2, 3, 22, 4, 5  # the last block of 4 is short
CLOSE = dict(rtol=1e-10, atol=1e-12)


def arrays(seed=0):
    return draw((B, H, L, E), (B, H, L, E), (B, H, L, Ev), seed=seed)


@pytest.mark.parametrize("block, best", [(4, 1), (4, 3), (5, 2), (32, 2), (1, 4)])
def test_definition(block, best):
    options = dict(block=block, best=best)
    definition = batched(
        definitions.chosen_blocks, "(l,e),(l,e),(l,v)->(l,v)", **options
    )
    check(lambda *x: A.block_attention(*x, **options), definition, arrays())


def test_definition_of_three_branches():
    options = dict(block=4, best=3, window=3)
    definition = batched(
        definitions.native_sparse, "(l,e),(l,e),(l,v),(l,g)->(l,v)", **options
    )
    gates = draw((B, H, L, 3), seed=1)
    check(lambda *x: A.native_sparse(*x, **options), definition, [*arrays(), *gates])


def test_all_blocks_are_causal_attention_and_one_is_the_own_block():
    q, k, v = arrays()
    causal = A.scaled_dot_product_attention(q, k, v, is_causal=True)
    found = A.block_attention(q, k, v, block=4, best=6)
    np.testing.assert_allclose(found.data, causal.data, **CLOSE)
    own = A.block_attention(q, k, v, block=4, best=1)
    parts = [
        A.scaled_dot_product_attention(
            *(x[:, :, a : a + 4] for x in (q, k, v)), is_causal=True
        ).data
        for a in range(0, L, 4)
    ]
    np.testing.assert_allclose(own.data, np.concatenate(parts, 2), **CLOSE)


def test_a_query_reads_at_most_the_best_blocks_and_only_they_matter():
    q, k, v = arrays()
    mask = A.choose_blocks(q, k, block=4, best=3)
    allowed = mask.dense(B, H, L, L)
    assert allowed.sum(-1).max() <= 12
    assert not np.triu(allowed, 1).any()
    found = A.block_attention(q, k, v, block=4, best=3).data
    last = allowed[0, 0, -1]  # of the last query
    v[0, 0, ~last] = 1e3
    changed = A.block_attention(q, k, v, block=4, best=3).data
    np.testing.assert_array_equal(changed[0, 0, -1], found[0, 0, -1])


def test_later_keys_change_no_choice():
    q, k, v = arrays()
    before = A.choose_blocks(q, k, 4, 3).chosen[:, :, :13]
    k[:, :, 13:] = 100.0
    after = A.choose_blocks(q, k, 4, 3).chosen[:, :, :13]
    np.testing.assert_array_equal(before, after)


def test_the_kinds_of_tiles_are_those_of_the_pairs_and_fall_with_the_blocks():
    q, k = draw((1, 2, 64, E), (1, 2, 64, E))
    computed = []
    for best in 1, 2, 4, 16:
        mask = A.choose_blocks(q, k, 4, best)
        tiles = BlockMask.from_mask(mask, 64, 64, block=(8, 4))
        dense = mask.dense(1, 2, 64, 64)
        np.testing.assert_array_equal(tiles.to_dense(), dense)
        pairs = dense.reshape(1, 2, 8, 8, 16, 4)
        np.testing.assert_array_equal(tiles.kinds == 0, ~pairs.any((3, 5)))
        np.testing.assert_array_equal(tiles.kinds == 1, pairs.all((3, 5)))
        computed.append((tiles.kinds > 0).sum())
    assert computed == sorted(computed) and computed[0] < computed[2] / 2


@pytest.mark.parametrize("block", [3, 4, 16, 32])
@pytest.mark.parametrize("n", [20, 45, 64])
def test_tiles_may_be_narrower_or_wider_than_blocks(n, block):
    q, k = draw((1, 2, n, E), (1, 2, n, E))
    mask = A.choose_blocks(q, k, block, 2)
    dense = mask.dense(1, 2, n, n)
    for tile in 8, 16:
        tiles = BlockMask.from_mask(mask, n, n, block=tile)
        np.testing.assert_array_equal(tiles.to_dense(), dense)
        edges = np.arange(0, n, tile)
        some = np.logical_or.reduceat(np.logical_or.reduceat(dense, edges, 2), edges, 3)
        np.testing.assert_array_equal(tiles.kinds == 0, ~some)


def test_keys_of_chosen_blocks_get_gradients_and_the_others_none():
    q, k, v = arrays()
    allowed = A.choose_blocks(q, k, 4, 2).dense(B, H, L, L)[0, 0, -1]
    keys = mg.Tensor(k, requires_grad=True)
    A.block_attention(q, keys, v, 4, 2)[0, 0, -1].sum().backward()
    read = np.abs(keys.grad[0, 0]).sum(-1) > 0
    np.testing.assert_array_equal(read, allowed)
