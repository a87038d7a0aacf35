"""Attention against torch, if it is installed, with random shapes and options."""

import numpy as np
import pytest

import attention as A
from attention import masks
from attention.masks.block_mask import BlockMask
from minigrad import Tensor

torch = pytest.importorskip("torch")
F = torch.nn.functional
SLOW = [pytest.param(seed, marks=pytest.mark.deep) for seed in range(8)]


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


def output_and_gradients(o, leaves, g):
    """Return o and the gradients of all leaves, as ours or torch's."""
    ours = isinstance(o, Tensor)
    o.backward(g if ours else torch.from_numpy(g))
    return [o.data if ours else o, *(x.grad for x in leaves)]


# F.scaled_dot_product_attention

MASKS = [None, "bool", "float", "causal", "bool and causal", "float and causal"]


@pytest.mark.parametrize("seed", [1, *SLOW[2:4]])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("groups", [1, 3])
def test_scaled_dot_product_attention(kind, groups, seed):
    """Every mask, with and without groups and scale, and any leading axes."""
    rng = np.random.default_rng(100 * seed + groups)
    lead = tuple(rng.integers(1, 3, rng.integers(0 if groups == 1 else 1, 3)))
    H = () if groups == 1 and not lead else (int(rng.integers(1, 3)),)
    L, S = (int(n) for n in rng.integers(1, [40, 150][seed % 2], 2))
    E, Ev = (int(n) for n in rng.integers(1, 20, 2))
    heads = (*lead, *(groups * h for h in H))
    arrays = draw(rng, (*heads, L, E), (*lead, *H, S, E), (*lead, *H, S, Ev))
    options = {"scale": [None, 0.7][seed % 2], "enable_gqa": groups > 1}
    shape = (*heads, L, S)[int(rng.integers(len(heads) + 1)) :]
    mask, learned = None, ()
    if kind and "bool" in kind:
        mask = rng.random(shape) < 0.7
    if kind and "float" in kind:
        mask = draw(rng, shape)[0]
        mask[..., rng.random(S) < 0.2] = -np.inf
        learned = (mask,)
    causal = bool(kind and "causal" in kind)
    ours = [Tensor(x, requires_grad=True) for x in (*arrays, *learned)]
    own = ours[3] if learned else mask
    o = A.scaled_dot_product_attention(*ours[:3], own, is_causal=causal, **options)

    theirs = [torch.tensor(x, requires_grad=True) for x in (*arrays, *learned)]
    own = theirs[3] if learned else None if mask is None else torch.tensor(mask)
    if causal and mask is not None:  # torch does not combine them
        past = torch.ones(L, S, dtype=torch.bool).tril()
        own = torch.where(past, own, -np.inf) if learned else own & past
        causal = False
    expected = F.scaled_dot_product_attention(
        *theirs[:3], own, is_causal=causal, **options
    )
    g = draw(rng, o.shape)[0]
    found, wanted = (
        output_and_gradients(o, ours, g),
        output_and_gradients(expected, theirs, g),
    )
    if learned:  # where a query has no key, torch sends NaN to the mask
        finite = torch.isfinite(wanted[4])
        found[4], wanted[4] = found[4][finite.numpy()], wanted[4][finite]
    same(found, wanted)


# nn.MultiheadAttention


@pytest.mark.parametrize("seed", [2, 3, *SLOW[4:]])
def test_multi_head_attention(seed):
    """State dicts both ways; output, weights and all gradients of random calls."""
    rng = np.random.default_rng(seed)
    B, L, S, H, E = (int(n) for n in rng.integers(1, 9, 5))
    L, S = (L + 60, S + 90) if seed % 4 == 3 else (L, S)  # in tiles
    D = H * E
    kdim, vdim = (None, None) if seed % 2 else (int(n) for n in rng.integers(1, 9, 2))
    options = {"bias": bool(seed % 3), "kdim": kdim, "vdim": vdim}
    theirs = torch.nn.MultiheadAttention(D, H, batch_first=True, **options).double()
    for p in theirs.parameters():
        p.data = torch.from_numpy(rng.standard_normal(p.shape) / np.sqrt(D))
    ours = A.MultiHeadAttention(D, H, **options)
    for p in ours.parameters():
        p.data = p.data.astype(float)
    A.load_torch_state(ours, theirs.state_dict())
    arrays = draw(rng, (B, L, D), (B, S, kdim or D), (B, S, vdim or D))
    lens = rng.integers(1, S + 1, B)
    mask = rng.random((L, S)) < 0.8
    mask[:, 0] = True
    weights = bool(rng.integers(2))

    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    o = ours(*leaves, valid_lens=lens, mask=mask, need_weights=weights)
    o, p = o if weights else (o, None)
    peers = [torch.tensor(x, requires_grad=True) for x in arrays]
    expected, q = theirs(
        *peers,
        key_padding_mask=torch.from_numpy(np.arange(S) >= lens[:, None]),
        attn_mask=torch.from_numpy(~mask),
        need_weights=weights,
        average_attn_weights=False,
    )
    g = draw(rng, o.shape)[0]
    same(output_and_gradients(o, leaves, g), output_and_gradients(expected, peers, g))
    if weights:
        same([p.data], [q])
    for parameter in ours.parameters():
        parameter.data = parameter.grad
    gradients = A.torch_state(ours)
    assert gradients.keys() == dict(theirs.named_parameters()).keys()
    for name, parameter in theirs.named_parameters():
        same([gradients[name]], [parameter.grad])
    back = A.MultiHeadAttention(D, H, **options)
    theirs.load_state_dict(
        {n: torch.from_numpy(x) for n, x in A.torch_state(back).items()}
    )


# flex_attention


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
@pytest.mark.parametrize("L, S", [(33, 40), (70, 65)])
@pytest.mark.parametrize("name", FLEX)
def test_masks_of_flex_attention(flex, name, L, S):
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
    from minigrad import where

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
