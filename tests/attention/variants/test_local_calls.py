"""Local attention gives the same in steps, by heads, and after it was stored."""

import numpy as np
import pytest

from attention.layers import GeneralAttention
from attention.variants.local import LocalAttention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .local_cases import KINDS, B, Dk, Dq, Ev, L, S, close, example, layer


@pytest.mark.parametrize("kind", ["m", "m-reversal", "p"])
def test_step_by_step_is_all_at_once(kind):
    module, (queries, keys, values) = layer(**KINDS[kind]), example()
    whole = module(queries, keys, values, [9, 5])
    weights = module.attention_weights.data
    for t in range(L):
        context = module(queries[:, t : t + 1], keys, values, [9, 5], start=t)
        np.testing.assert_allclose(context.data[:, 0], whole.data[:, t], **close)
        np.testing.assert_allclose(
            module.attention_weights.data[:, 0], weights[:, t], **close
        )


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
@pytest.mark.parametrize("kind", ["m", "p"])
def test_keys_projected_beforehand(kind, score):
    module = LocalAttention(3, 3, 2, kind, score, rng=np.random.default_rng(0))
    arrays = draw((B, L, 3), (B, S, 3), (B, S, Ev))
    results = []
    for prepare in (lambda k: k, module.precompute):
        module.zero_grad()
        leaves = [Tensor(a, requires_grad=True) for a in arrays]
        q, k, v = leaves
        context = module(q, prepare(k), v, [9, 5])
        context.backward(draw((B, L, Ev), seed=9)[0])
        grads = [x.grad for x in (*leaves, *module.parameters())]
        results.append([context.data, *grads])
    for a, b in zip(*results):
        # the parameters' gradients are float32
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_leading_axes_are_examples_and_heads():
    H, module = 3, layer(kind="p")
    arrays = draw((B, H, L, Dq), (B, H, S, Dk), (B, H, S, Ev))
    context = module(*arrays, [9, 5])
    weights = module.attention_weights.data
    assert context.shape == (B, H, L, Ev) and weights.shape == (B, H, L, S)
    for h in range(H):
        each = module(*(a[:, h] for a in arrays), [9, 5])
        np.testing.assert_allclose(each.data, context.data[:, h], **close)
    alone = module(*(a[0, 1] for a in arrays))
    np.testing.assert_allclose(alone.data, context.data[0, 1], **close)
    assert module.attention_weights.shape == (L, S)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_float32(kind):
    module = layer(**KINDS[kind], dtype=np.float32)
    leaves = [Tensor(a, requires_grad=True) for a in example(dtype=np.float32)]
    context = module(*leaves, [9, 5])
    assert context.dtype == module.attention_weights.dtype == np.float32
    context.backward(np.ones(context.shape))
    for leaf in (*leaves, *module.parameters()):
        assert leaf.grad.dtype == np.float32
    exact = layer(**KINDS[kind])(*(leaf.data.astype(float) for leaf in leaves), [9, 5])
    np.testing.assert_allclose(context.data, exact.data, rtol=1e-4, atol=1e-5)


def test_dropout_is_that_of_the_score_and_in_training_only():
    score = GeneralAttention(Dq, Dk, dropout=0.5, rng=np.random.default_rng(0))
    module = LocalAttention(Dq, Dk, 3, "p", score, rng=np.random.default_rng(0))
    arrays = example(dtype=np.float32)
    first, second = (module(*arrays).data for _ in range(2))
    weights = module.attention_weights.data  # before dropout
    assert (first != second).any()
    module.eval()
    plain = module(*arrays).data
    np.testing.assert_array_equal(module(*arrays).data, plain)
    np.testing.assert_array_equal(module.attention_weights.data, weights)
    np.testing.assert_allclose(weights @ arrays[2], plain, rtol=1e-5, atol=1e-6)
    assert (first != plain).any()


def test_parameters_and_state():
    names = {n: p.shape for n, p in layer(kind="p").named_parameters()}
    assert names == {"score.W_a": (Dq, Dk), "W_p": (Dq, Dq), "v_p": (Dq,)}
    assert [n for n, _ in layer().named_parameters()] == ["score.W_a"]
    one, other, arrays = layer(kind="p"), layer(kind="p", seed=1), example()
    assert one.attention_weights is None
    assert (one(*arrays).data != other(*arrays).data).any()
    other.load_state_dict(one.state_dict())
    np.testing.assert_array_equal(one(*arrays).data, other(*arrays).data)


def test_a_layer_says_what_it_is():
    assert repr(layer(kind="p", renormalize=True)) == (
        "LocalAttention(\n  D=2, kind='p', renormalize=True\n"
        "  (score): LuongAttention('general', 5, 3, dropout=0.0)\n)"
    )
