"""Longformer's attention: who sees whom, padding, sizes, what it keeps and refuses."""

import functools
import math
import warnings

import numpy as np
import pytest

from attention import masks
from attention.masks.block_mask import BlockMask
from attention.variants.longformer import LongformerAttention, _Marked
from minigrad import Tensor

from .longformer_cases import B, D, H, L, W, as_bool, close, draw, layer

# who sees whom; padding


def test_a_token_reaches_its_window_and_the_global_tokens_and_no_others():
    module, (x, g) = layer(), draw((1, L, D), (1, L, D))
    for chosen in ([], [6]):
        for t in range(L):
            changed = x.copy()
            changed[0, t] = 7.0
            i = np.arange(L)
            sees = (abs(i - t) <= W // 2) | np.isin(i, chosen) | (t in chosen)
            before, after = module(x, chosen).data[0], module(changed, chosen).data[0]
            np.testing.assert_array_equal((before != after).any(-1), sees)
            leaf = Tensor(x, requires_grad=True)
            only = np.where((i == t)[:, None], g, 0)
            module(leaf, chosen).backward(only)
            np.testing.assert_array_equal((leaf.grad[0] != 0).any(-1), sees)


@pytest.mark.parametrize("n", [L, 70])
def test_padding_has_no_influence(n):
    chosen = as_bool([{0, n - 1}, {2, 3, 4}], n)  # one of them in the padding

    def run(change):
        module = layer()
        x, g = draw((B, n, D), (B, n, D))
        x[0, n - 3 :] = 7.0 if change else x[0, n - 3 :]
        g[0, n - 3 :] = 0  # no loss depends on what padding finds
        leaf = Tensor(x, requires_grad=True)
        output = module(leaf, chosen, [n - 3, n])
        output.backward(g)
        kept = np.arange(n) < np.array([[n - 3], [n]])
        return [output.data[kept], leaf.grad, *(p.grad for p in module.parameters())]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clean, padded = run(False), run(True)
    for a, b in zip(clean, padded):
        np.testing.assert_array_equal(a, b)
    assert (clean[1][0, n - 3 :] == 0).all()


def test_a_token_with_no_key():
    module, (x,) = layer(), draw((B, L, D))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        output, weights = module(x, [0], [2, 0], need_weights=True)
    np.testing.assert_array_equal(weights.data[1], 0)
    np.testing.assert_allclose(
        output.data[1], np.tile(module.W_o.bias.data, (L, 1)), **close
    )
    far = weights.data[0, :, 5]  # token 5 sees nothing in its window but the global one
    np.testing.assert_array_equal(far, np.tile(np.arange(L) == 0, (H, 1)))


# the module


def test_the_weights_that_it_keeps():
    module, (x,) = layer(), draw((B, 70, D))
    assert module.attention_weights is None
    output, weights = module(x, [0, 65], need_weights=True)
    assert weights.shape == (B, H, 70, 70) and weights.requires_grad
    kept = module.attention_weights
    assert not kept.requires_grad
    np.testing.assert_array_equal(kept.data, weights.data)
    np.testing.assert_allclose(weights.data.sum(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(module(x, [0, 65]).data, output.data, **close)
    assert module.attention_weights is None  # it did not ask


def test_one_example_needs_no_axis_for_it():
    module, (x,) = layer(), draw((B, L, D))
    expected, weights = module(x[:1], [0, 4], [7], need_weights=True)
    output, alone = module(x[0], [0, 4], [7], need_weights=True)
    np.testing.assert_array_equal(output.data, expected.data[0])
    np.testing.assert_array_equal(alone.data, weights.data[0])
    assert module.attention_weights.shape == (H, L, L)


@pytest.mark.parametrize("b, n", [(0, L), (B, 0), (0, 70), (B, 1)])
@pytest.mark.parametrize("chosen", [[], [0]])
def test_nothing_at_all_and_one_token(b, n, chosen):
    chosen = [i for i in chosen if i < n]
    module, (x,) = layer(), draw((b, n, D))
    leaf = Tensor(x, requires_grad=True)
    output, weights = module(leaf, chosen, [n] * b, need_weights=True)
    assert output.shape == (b, n, D) and weights.shape == (b, H, n, n)
    marked = np.isin(np.arange(n), chosen) * np.ones((b, 1), bool)
    assert module(leaf, marked == 1).shape == (b, n, D)
    output.backward(np.ones(output.shape))
    assert leaf.grad.shape == x.shape
    if n == 1:
        assert (weights.data == 1).all()


@pytest.mark.parametrize("n", [L, 70])
def test_float32_stays_float32(n):
    module, exact = layer(dtype=np.float32), layer()
    (x,) = draw((B, n, D), dtype=np.float32)
    leaf = Tensor(x, requires_grad=True)
    output, weights = module(leaf, [0, 4], need_weights=True)
    assert output.dtype == weights.dtype == np.float32
    output.backward(np.ones(output.shape))
    assert all(a.grad.dtype == np.float32 for a in (leaf, *module.parameters()))
    expected = exact(x.astype(float), [0, 4]).data
    np.testing.assert_allclose(output.data, expected, rtol=1e-3, atol=1e-4)


def test_dropout_acts_on_both_parts_in_training_only():
    module, (x,) = layer(dropout=0.5), draw((B, L, D))
    one, other = (module(x, [3]).data for _ in range(2))
    assert ((one != other).any(-1)).all()
    module.eval()
    np.testing.assert_array_equal(module(x, [3]).data, layer()(x, [3]).data)


def test_parameters_and_their_first_values():
    module = LongformerAttention(240, 8, 6, rng=np.random.default_rng(0))
    names = ["W_q", "W_k", "W_v", "W_o", "W_q_global", "W_k_global", "W_v_global"]
    shapes = {n: p.shape for n, p in module.named_parameters()}
    assert list(shapes) == [f"{n}.{p}" for n in names for p in ("weight", "bias")]
    for name in names:
        W = getattr(module, name)
        assert W.weight.shape == (240, 240) and (W.bias.data == 0).all()
    for name in names[:3]:
        W, second = getattr(module, name), getattr(module, f"{name}_global")
        np.testing.assert_array_equal(second.weight.data, W.weight.data)
        assert second.weight is not W.weight  # each is trained by itself
        assert not np.shares_memory(second.weight.data, W.weight.data)
        largest = abs(W.weight.data).max()
        assert 0.99 * math.sqrt(6 / 960) < largest <= 1.0001 * math.sqrt(6 / 960)
    assert abs(module.W_q.weight.data - module.W_k.weight.data).max() > 0.01
    assert len(LongformerAttention(8, 2, 2, bias=False).parameters()) == 7
    assert repr(module).startswith(
        "LongformerAttention(\n  240, 8, window=6, dropout=0.0\n  (W_q): Linear("
    )


def test_tiles_between_far_tokens_are_not_computed():
    """The mask that is handed on keeps the window's tiles and a column or two."""
    n = 1024
    chosen = np.zeros((B, n), bool)
    chosen[0, [0, 1, 600]], chosen[1, 3] = True, True
    mask = masks.sliding_window(8, 8) | _Marked(chosen)
    tiles = BlockMask.from_mask(mask, n, n, block=64)
    i, j = np.arange(16)[:, None], np.arange(16)
    for b, columns in enumerate([(0, 600 // 64), (0,)]):
        kept = (abs(i - j) <= 1) | np.isin(j, columns)
        np.testing.assert_array_equal(tiles.kinds[b, 0] != 0, kept)
    near = abs(np.arange(n)[:, None] - np.arange(n)) <= 8
    np.testing.assert_array_equal(tiles.to_dense()[:, 0], near | chosen[:, None])


x, of = np.zeros((B, L, D)), functools.partial(LongformerAttention, D, H)
BAD = [
    (
        lambda: LongformerAttention(10, 4, 2),
        ValueError,
        "embed_dim is 10 and num_heads 4; expected a multiple of "
        "num_heads, such as 12.",
    ),
    (
        lambda: of(5),
        ValueError,
        "window is 5; expected an even number of keys, as many before a token as after "
        "it.",
    ),
    (lambda: of(0), ValueError, "window is 0; expected a whole number, 2 or more."),
    (lambda: of(2.0), TypeError, "window is 2.0; expected a whole number."),
    (
        lambda: of(2, dropout=2),
        ValueError,
        "dropout is 2; expected a probability, from 0 to 1.",
    ),
    (lambda: of(2, bias=1), TypeError, "bias is 1; expected True or False."),
    (
        lambda: of(2)(x, need_weights=1),
        TypeError,
        "need_weights is 1; expected True or False.",
    ),
    (
        lambda: of(2)(x[..., 1:]),
        ValueError,
        "x has shape (2, 9, 11); expected (B, L, 12), or (L, 12) for one example.",
    ),
    (
        lambda: of(2)(x.astype(int)),
        TypeError,
        "x is int64; expected floating-point numbers. Write 1.0 for 1, or use "
        ".astype(np.float32).",
    ),
    (
        lambda: of(2)(x, [0, 9]),
        ValueError,
        "global_tokens holds 9; expected numbers from 0 to 8, positions of tokens.",
    ),
    (
        lambda: of(2)(x, [-1]),
        ValueError,
        "global_tokens holds -1; expected numbers from 0 to 8, positions of tokens.",
    ),
    (
        lambda: of(2)(x, [0, 0, 0, 1]),
        ValueError,
        "global_tokens holds 4 numbers, all of them 0 or 1; expected positions. Of "
        "marks, 1 for global, they are np.flatnonzero(marks).",
    ),
    (
        lambda: of(2)(x, [0.5]),
        TypeError,
        "global_tokens holds float64; expected whole numbers.",
    ),
    (
        lambda: of(2)(x, np.zeros((B, L), int)),  # as a global_attention_mask is
        ValueError,
        "global_tokens has shape (2, 9); expected (n,), a list of positions, or bool "
        "(B, L), where True = global.",
    ),
    (
        lambda: of(2)(x, np.zeros((3, L), bool)),
        ValueError,
        "global_tokens has shape (3, 9); expected bool (2, 9), or (9,) if all examples "
        "are alike.",
    ),
    (
        lambda: of(2)(x, valid_lens=[9]),
        ValueError,
        "valid_lens has shape (1,); expected (2,), one length for each example.",
    ),
    (
        lambda: of(2)(x, valid_lens=np.ones((B, L), int)),
        ValueError,
        "valid_lens has shape (2, 9); expected (B,), one for each example.",
    ),
    (
        lambda: of(2)(x, valid_lens=[9, 10]),
        ValueError,
        "valid_lens holds 10; expected numbers from 0 to 9, the number of tokens.",
    ),
]


@pytest.mark.parametrize("call, kind, message", BAD)
def test_messages(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == f"LongformerAttention: {message}"
