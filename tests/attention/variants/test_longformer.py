"""Longformer's attention: its relation to masks, its calls."""

import math

import numpy as np
import pytest

from attention import masks
from attention.exact.multihead import MultiHeadAttention
from attention.variants.longformer import LongformerAttention
from minigrad import Tensor

from ...minigrad.array_cases import draw

B, L, D, H, W = 2, 9, 12, 4, 4
close = dict(rtol=1e-11, atol=1e-12)  # sums of some dozens of numbers of order one


def layer(window=W, dtype=np.float64, width=D, **options):
    """Return a layer whose projections all differ, with biases."""
    rng = np.random.default_rng(0)
    module = LongformerAttention(width, H, window, rng=rng, **options)
    for parameter in module.parameters():
        parameter.data = (rng.standard_normal(parameter.shape) / 2).astype(dtype)
    return module


def as_bool(chosen, n=L):
    return np.array([[i in each for i in range(n)] for each in chosen])


# relation to attention with a mask


def multihead(module):
    """Return MultiHeadAttention with the first projections."""
    other = MultiHeadAttention(D, H)
    for parameter in other.parameters():
        parameter.data = parameter.data.astype(module.W_q.weight.dtype)
    other.load_state_dict(
        {name: module.state_dict()[name] for name in other.state_dict()}
    )
    return other


def fresh(dtype=np.float64, **options):
    module = LongformerAttention(D, H, W, rng=np.random.default_rng(0), **options)
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(dtype)
    return module


@pytest.mark.parametrize("n", [1, 150])  # with and without tiles
@pytest.mark.parametrize("chosen", [[], [0, 3, 7, 69, 140]])
def test_a_new_layer_is_attention_with_a_mask(n, chosen):
    """The gradients of both projections add up to those of the one."""
    chosen = [i for i in chosen if i < n]
    module, (x, g) = fresh(), draw((B, n, D), (B, n, D))
    other, lens = multihead(module), [n, n - n // 3]
    ours, theirs = (Tensor(x, requires_grad=True) for _ in range(2))
    mask = masks.sliding_window(W // 2, W // 2) | masks.global_tokens(chosen)
    output, expected = (
        module(ours, chosen, lens),
        other(theirs, mask=mask, lengths=lens),
    )
    np.testing.assert_allclose(output.data, expected.data, **close)
    output.backward(g)
    expected.backward(g)
    np.testing.assert_allclose(ours.grad, theirs.grad, **close)
    found = dict(module.named_parameters())
    for name, parameter in other.named_parameters():
        total = found[name].grad
        second = found.get(name.replace(".", "_global."))
        if second is not None and chosen:
            total = total + second.grad
        np.testing.assert_allclose(total, parameter.grad, rtol=1e-9, atol=1e-11)


def test_bool_and_positions_are_equivalent():
    module, (x,) = layer(), draw((B, L, D))
    chosen, marked = np.array([0, 4]), np.isin(np.arange(L), [0, 4])
    expected = module(x, [0, 4]).data
    for same in (
        chosen.astype(np.uint8),
        Tensor(chosen),
        marked,
        np.tile(marked, (B, 1)),
    ):
        np.testing.assert_allclose(module(x, same).data, expected, **close)


# calls


def test_examples_are_independent():
    """Each may have other global tokens, and its own length."""
    module, (x,) = layer(), draw((3, 80, D))
    chosen, lens = as_bool([{0, 70}, {}, {5, 6, 7}], 80), [80, 41, 66]
    output, weights = module(x, chosen, lens, need_weights=True)
    np.testing.assert_allclose(module(x, chosen, lens).data, output.data, **close)
    for b, n in enumerate(lens):
        alone = module(x[b : b + 1], chosen[b], lens[b : b + 1]).data[0]
        np.testing.assert_allclose(alone, output.data[b], **close)
        assert not weights.data[b, ..., n:].any()
        np.testing.assert_allclose(weights.data[b, :, :n].sum(-1), 1)


def test_weights_are_kept_only_if_needed():
    module, (x,) = layer(), draw((B, L, D))
    assert module.attention_weights is None
    _, weights = module(x, need_weights=True)
    assert weights.requires_grad and not module.attention_weights.requires_grad
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    module(x)
    assert module.attention_weights is None


def test_parameters_and_initial_values():
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
        assert not np.shares_memory(second.weight.data, W.weight.data)
        largest = abs(W.weight.data).max()
        assert 0.99 * math.sqrt(6 / 960) < largest <= 1.0001 * math.sqrt(6 / 960)
    assert abs(module.W_q.weight.data - module.W_k.weight.data).max() > 0.01
    assert len(LongformerAttention(8, 2, 2, bias=False).parameters()) == 7
    assert repr(module).startswith(
        "LongformerAttention(\n  240, 8, window=6, dropout=0.0\n  (W_q): Linear("
    )
