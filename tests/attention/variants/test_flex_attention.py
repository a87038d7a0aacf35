"""Masks and score_mods against torch's flex_attention, where it is installed."""

import numpy as np
import pytest

import attention as A
from attention import masks
from attention.masks.block_mask import BlockMask
from minigrad import where

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def draw(rng, *shapes):
    return [rng.standard_normal(shape) for shape in shapes]


def same(found, expected, tolerance=1e-12):
    for x, y in zip(found, expected, strict=True):
        y = y.detach().numpy() if isinstance(y, torch.Tensor) else y
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def flex():
    """flex_attention without compilation: forward only, as on all CPUs."""
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    return flex


IDS = np.random.default_rng(0).integers(0, 3, 200)
NAMES = torch.tensor(IDS)
LENS = torch.tensor([7, 30])
FLEX = {
    "causal": (masks.causal, lambda b, h, i, j: j <= i),
    "window": (
        masks.sliding_window(5, 2),
        lambda b, h, i, j: (i - j <= 5) & (j - i <= 2),
    ),
    "dilated": (
        masks.dilated(9, 3),
        lambda b, h, i, j: ((i - j).abs() <= 9) & ((i - j) % 3 == 0),
    ),
    "padding": (masks.padding([7, 30]), lambda b, h, i, j: j < LENS[b]),
    "prefix": (masks.prefix_lm(4), lambda b, h, i, j: (j < 4) | (j <= i)),
    "Longformer": (
        masks.sliding_window(3, 3) | masks.global_tokens([0, 6]),
        lambda b, h, i, j: (
            ((i - j).abs() <= 3) | (i == 0) | (i == 6) | (j == 0) | (j == 6)
        ),
    ),
    "not causal, or padding": (
        ~masks.causal | masks.padding([7, 30]),
        lambda b, h, i, j: ~(j <= i) | (j < LENS[b]),
    ),
    "a function": (
        lambda b, h, i, j: (IDS[i] == IDS[j]) | (h == 1),
        lambda b, h, i, j: (NAMES[i] == NAMES[j]) | (h == 1),
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FLEX)
def test_masks_of_flex_attention(flex, name, L=70, S=65):
    """Outputs and lse, from BlockMask and mask_mod; without keys 0 and -inf."""
    ours, theirs = FLEX[name]
    rng = np.random.default_rng(L)
    arrays = draw(rng, (2, 2, L, 5), (2, 2, S, 5), (2, 2, S, 4))
    tensors = [torch.from_numpy(x) for x in arrays]
    peer = flex.create_block_mask(theirs, 2, 2, L, S, "cpu", 64)
    expected = flex.flex_attention(*tensors, block_mask=peer, return_lse=True)
    found = [A.scaled_dot_product_attention(*arrays, mask_mod=ours, return_lse=True)]
    tiles = BlockMask.from_mask(ours, L, S, 2, 2, block=64)
    found.append(
        A.scaled_dot_product_attention(*arrays, block_mask=tiles, return_lse=True)
    )
    for o, lse in found:
        same([o.data, lse.data], expected)
    dense = flex.create_mask(theirs, 2, 2, L, S, "cpu").numpy()
    np.testing.assert_array_equal(np.broadcast_to(tiles.to_dense(), dense.shape), dense)


SLOPES = A.alibi_slopes(4, float)
SCORES = {
    "ALiBi": lambda where, slope: lambda s, b, h, i, j: s - slope[h] * abs(i - j),
    "squares": lambda where, slope: lambda s, b, h, i, j: s * s * 0.5,
    "by example": lambda where, slope: lambda s, b, h, i, j: s * (b + 1.0) + slope[h],
    "causal": lambda where, slope: lambda s, b, h, i, j: where(j <= i, s, -np.inf),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCORES)
def test_score_mods_of_flex_attention(flex, name):
    arrays = draw(np.random.default_rng(3), (2, 4, 35, 6), (2, 2, 50, 6), (2, 2, 50, 3))
    found = A.scaled_dot_product_attention(
        *arrays, score_mod=SCORES[name](where, SLOPES), enable_gqa=True, return_lse=True
    )
    expected = flex.flex_attention(
        *map(torch.from_numpy, arrays),
        score_mod=SCORES[name](torch.where, torch.tensor(SLOPES)),
        enable_gqa=True,
        return_lse=True,
    )
    same([x.data for x in found], expected)
