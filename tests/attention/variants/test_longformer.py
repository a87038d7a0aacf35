"""Longformer's attention against a loop over its tokens, and its relation to masks."""

import numpy as np
import pytest

import minigrad as mg
from attention import masks
from attention.exact.multihead import MultiHeadAttention
from attention.variants.longformer import LongformerAttention
from minigrad import Tensor, nn

from .longformer_cases import (
    CALLS,
    B,
    D,
    H,
    L,
    W,
    as_bool,
    by_loops,
    close,
    draw,
    layer,
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"window": 2}])
def test_the_layer_is_a_loop_over_tokens(options, call):
    arguments, chosen, lens = CALLS[call]
    module, (x,) = layer(**options), draw((B, L, D))
    output, weights = module(x, need_weights=True, **arguments)
    o, w = by_loops(module, x, chosen, lens)
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(output.data, o, **close)
    np.testing.assert_array_equal(weights.data == 0, w == 0)  # exactly
    np.testing.assert_allclose(module(x, **arguments).data, o, **close)


# a key's bias adds the same to all scores of a query: softmax does not see it
UNSEEN = ["W_k.bias", "W_k_global.bias"]
GLOBAL = [f"W_{n}_global.{part}" for n in "qkv" for part in ("weight", "bias")]


class Bound(nn.Module):
    """A layer with the arguments of its call."""

    def __init__(self, layer, **arguments):
        self.layer, self.arguments = layer, arguments

    def forward(self, x):
        return self.layer(x, **self.arguments)


@pytest.mark.parametrize("options", [{}, {"need_weights": True}])
@pytest.mark.parametrize("chosen", [{}, {1, 3}])
def test_gradients_are_slopes(chosen, options):
    """Small, for there is a slope for each parameter; the others have another token."""
    marked = as_bool([chosen, {3} if chosen else {}], 5)
    arguments = dict(global_tokens=marked, valid_lens=[3, 5], **options)
    module, (x,) = Bound(layer(width=H, window=2), **arguments), draw((B, 5, H))
    unseen = UNSEEN if chosen else [*UNSEEN, *GLOBAL]
    names = [f"layer.{name}" for name in dict.fromkeys(unseen)]
    assert mg.gradcheck_module(module, x, no_gradient=names).ok


def test_without_global_tokens_the_second_projections_rest():
    module, (x,) = layer(), draw((B, L, D))
    module(x).sum().backward()
    with_none = {n for n, p in module.named_parameters() if p.grad is None}
    assert with_none == set(GLOBAL)
    module(x, [0]).sum().backward()
    assert all(p.grad is not None for p in module.parameters())


# its relation to attention under a mask


def twin(module):
    """MultiHeadAttention with the first projections."""
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


@pytest.mark.parametrize("n", [1, L, 70, 150])  # few queries, and many: by tiles
@pytest.mark.parametrize("chosen", [[], [0], [0, 3, 7, 69, 140]])
def test_a_fresh_layer_is_attention_under_a_mask(n, chosen):
    """In values and in all gradients: those of the copies add up to those of one."""
    chosen = [i for i in chosen if i < n]
    module, (x, g) = fresh(), draw((B, n, D), (B, n, D))
    other, lens = twin(module), [n, n - n // 3]
    ours, theirs = (Tensor(x, requires_grad=True) for _ in range(2))
    mask = masks.sliding_window(W // 2, W // 2) | masks.global_tokens(chosen)
    output, expected = (
        module(ours, chosen, lens),
        other(theirs, mask=mask, valid_lens=lens),
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


def test_the_second_projections_make_a_difference_to_global_tokens_alone():
    module, (x,) = fresh(), draw((B, L, D))
    before = module(x, [2, 5]).data
    for second in (module.W_q_global, module.W_k_global, module.W_v_global):
        changed = module(x, [2, 5]).data
        second.weight.data = second.weight.data * 2
        found = module(x, [2, 5]).data
        moved = abs(found - changed).max(-1) > 1e-9
        np.testing.assert_array_equal(moved, as_bool([{2, 5}] * 2))
    np.testing.assert_array_equal(found[:, [0, 1, 3]], before[:, [0, 1, 3]])


@pytest.mark.parametrize("n", [L, 70])
def test_a_window_that_holds_everything_is_attention_to_all(n):
    module, (x,) = layer(window=2 * n), draw((B, n, D))
    expected = twin(module)(x, valid_lens=[n, 4]).data
    np.testing.assert_allclose(module(x, None, [n, 4]).data, expected, **close)
    narrower = layer(window=2 * n - 4)(x, None, [n, n]).data  # its ends do not meet
    everything = twin(module)(x).data
    assert abs(narrower - everything).max() > 1e-6
    np.testing.assert_allclose(narrower[:, 3:-3], everything[:, 3:-3], **close)


def test_if_all_tokens_are_global_there_are_only_the_second_projections():
    module, (x,) = layer(), draw((B, L, D))
    found = module(x, range(L)).data
    for name in "qkv":
        W = getattr(module, f"W_{name}")
        W.load_state_dict(getattr(module, f"W_{name}_global").state_dict())
    np.testing.assert_allclose(found, twin(module)(x).data, **close)


@pytest.mark.parametrize("n", [L, 70, 200])
def test_bool_and_positions_mean_the_same(n):
    module, (x,) = layer(), draw((B, n, D))
    chosen = [0, 4, n - 1]
    expected = module(x, chosen).data
    for same in (
        np.isin(np.arange(n), chosen),
        np.isin(np.arange(n), chosen)[None],
        np.tile(np.isin(np.arange(n), chosen), (B, 1)),
        np.array(chosen, np.uint8),
        Tensor(np.array(chosen)),
    ):
        np.testing.assert_allclose(module(x, same).data, expected, **close)


def test_examples_do_not_meet():
    """Each by itself, whatever global tokens the others have."""
    module, (x,) = layer(), draw((3, 80, D))
    chosen = as_bool([{0, 70}, {}, {5, 6, 7}], 80)
    lens = [80, 41, 66]
    output = module(x, chosen, lens).data
    for b in range(3):
        alone = module(x[b : b + 1], chosen[b], lens[b : b + 1]).data[0]
        np.testing.assert_allclose(alone, output[b], **close)


def test_the_order_of_things_is_kept_when_all_is_turned_round():
    """A window is the same from both sides."""
    module, (x,) = layer(), draw((B, L, D))
    chosen = np.array([0, 5])
    turned = module(x[:, ::-1], L - 1 - chosen).data[:, ::-1]
    np.testing.assert_allclose(turned, module(x, chosen).data, **close)
