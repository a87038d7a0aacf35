"""Blocks chosen by content: what a query reads, and which tiles are computed."""

import numpy as np
import pytest

import attention as A
import minigrad as mg
from attention.masks.block_mask import BlockMask
from attention.transformer import DecoderOnly, TransformerConfig

from ...minigrad.array_cases import draw

L, E = 22, 4  # the last block of 4 is short


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_rounding_decides_between_no_blocks(dtype):
    """Blocks of equal keys, but for rounding: the first are chosen, and the best."""
    q, k = (x.astype(dtype) for x in draw((1, 50, L, E), (1, 50, 4, E)))
    k = np.tile(k, (1, 1, 6, 1))[:, :, :L]
    k[:, :, 4:8] = k[:, :, 16:20] = 2 * k[:, :, :4]  # blocks 1 and 4
    noise = np.random.default_rng(0).standard_normal(k.shape)
    noisy = (k * (1 + 4 * np.finfo(dtype).eps * noise)).astype(dtype)
    likes = (q @ k[:, :, :4].mean(2)[..., None])[..., 0] > 0  # (1, 50, L)
    for best in 2, 3, 4:
        chosen = A.choose_blocks(q, noisy, 4, best).chosen
        assert (chosen.sum(-1) == np.minimum(np.arange(L) // 4 + 1, best)).all()
        earlier = chosen[:, :, 20:, :5]  # of the queries of the last block
        order = np.where(likes[:, :, 20:, None], [1, 4, 0, 2, 3], [0, 2, 3, 1, 4])
        in_order = np.take_along_axis(earlier, order, -1)
        np.testing.assert_array_equal(in_order, 0 * order + np.arange(5) < best - 1)


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("positions", ["t5", "alibi"])
def test_a_text_with_repetitions_has_the_same_logits_in_steps(positions, dtype):
    config = TransformerConfig(
        vocabulary=6, width=16, layers=2, positions=positions, attention="blocks",
        best_blocks=2, block=2,
    )  # fmt: skip
    ids, after = [2] * 8 + [4, 1, 3, 0], [1, 4, 2, 2]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        model = DecoderOnly(config, rng)
        for p in model.parameters():  # the table of T5 starts as 0
            p.data = (p.data + rng.standard_normal(p.shape) / 4).astype(dtype)
        with mg.no_grad():
            text = model([ids]).data[0]
            longer = model([ids + after]).data[0, : len(ids)]
            state = model.start([ids[:1]])
            steps = [state.logits.data[0]]
            steps += [model.step(state, [token])[0].data[0] for token in ids[1:]]
        atol = 100 * np.finfo(dtype).eps
        np.testing.assert_allclose(longer, text, rtol=0, atol=atol)
        np.testing.assert_allclose(steps, text, rtol=0, atol=atol)


def test_weights_that_underflow_still_choose():
    """The weights of the means are 1, e^-2000 and e^-1000."""
    k = np.array([2000.0, 2000, 0, 0, 5000, -3000, 0, 0]).reshape(1, 1, 8, 1)
    q, v = np.ones_like(k), draw(k.shape)[0]
    gates = np.broadcast_to([0.0, 1, 0], (1, 1, 8, 3))
    found = A.native_sparse(q, k, v, gates, 2, 3, 1).data
    np.testing.assert_array_equal(found, A.block_attention(q, k, v, 2, 3).data)


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
