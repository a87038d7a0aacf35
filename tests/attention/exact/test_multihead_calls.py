"""Calls of multi-head attention: positions, one example, dropout, weights."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.exact.kv_cache import KVCache
from attention.exact.multihead import MultiHeadAttention
from attention.positions import T5RelativeBias, rope
from minigrad import Tensor, no_grad

from ...minigrad.array_cases import draw
from .multihead_cases import B, D, H, L, S, by_loops, close, example, layer

# positions


def test_rotated_heads_see_distances_alone():
    module, (x,) = layer(2, width=16), draw((B, L, 16))
    plain, here = module(x).data, module(x, rotate=rope).data
    there = module(x, rotate=rope, positions=np.arange(L) + 11).data
    assert abs(plain - here).max() > 1e-3
    np.testing.assert_allclose(here, there, **close)
    apart = np.stack([np.arange(L), 3 * np.arange(L)])  # of each example its own
    each = module(x, rotate=rope, positions=apart).data
    np.testing.assert_allclose(each[0], here[0], **close)
    alone = module(x[1:], rotate=rope, positions=apart[1]).data
    np.testing.assert_allclose(each[1:], alone, **close)
    itself = module(x, x, rotate=rope, positions=apart).data  # the keys are there too
    np.testing.assert_array_equal(itself, each)


def test_rotation_is_of_queries_and_keys_by_their_own_positions():
    module = layer(2, width=16)
    query, key = draw((B, L, 16), (B, S, 16))
    seen = []

    def rotate(x, positions):
        seen.append((x.shape, positions))
        return rope(x, positions)

    y = module(query, key, rotate=rotate, positions=np.arange(L) + 2).data
    assert [shape for shape, _ in seen] == [(B, H, L, 4), (B, 2, S, 4)]
    np.testing.assert_array_equal(seen[0][1], np.arange(L) + 2)
    np.testing.assert_array_equal(seen[1][1], np.arange(S))
    kept = module.precompute(key)
    again = module(query, kept, rotate=rope, positions=np.arange(L) + 2).data
    np.testing.assert_array_equal(again, y)


@pytest.mark.parametrize("make", [
    lambda t5: t5,
    lambda t5: t5.by_offset,
    lambda t5: t5(L, S),
    lambda t5: t5.by_offset(L, S),
    lambda t5: t5(L, S).data[None],
])  # fmt: skip
def test_a_bias_in_all_its_forms(make):
    module, arrays = layer(scale=1.0), example({})
    t5 = T5RelativeBias(H)
    t5.table.data = draw(t5.table.shape, seed=5)[0]
    o, _ = by_loops(module, *arrays, added=t5(L, S).data)
    np.testing.assert_allclose(module(*arrays, bias=make(t5)).data, o, **close)


# the module


def test_one_example_needs_no_axis_for_it():
    module, arrays = layer(2), example({})
    output, weights = module(*arrays, need_weights=True)
    alone = [a[0] for a in arrays]
    o, w = module(*alone, need_weights=True)
    assert o.shape == (L, D) and w.shape == (H, L, S)
    np.testing.assert_allclose(o.data, output.data[0], **close)
    np.testing.assert_allclose(w.data, weights.data[0], **close)
    cut = module(*(a[:1] for a in arrays), valid_lens=[3]).data[0]
    np.testing.assert_array_equal(module(*alone, valid_lens=[3]).data, cut)


@pytest.mark.parametrize("b, n, m", [(0, L, S), (B, 0, S), (B, L, 0)])
def test_nothing_at_all(b, n, m):
    module = layer(2)
    leaves = [Tensor(a, requires_grad=True) for a in draw((b, n, D), (b, m, D))]
    output, weights = module(*leaves, need_weights=True, valid_lens=np.zeros(b, int))
    assert output.shape == (b, n, D) and weights.shape == (b, H, n, m)
    output.backward(np.ones(output.shape))
    assert all((leaf.grad == 0).all() for leaf in leaves)


def test_dropout_acts_on_weights_and_in_training_only():
    module = layer(dropout=0.5)
    arrays = example({})
    outputs, weights = zip(*(module(*arrays, need_weights=True) for _ in range(2)))
    assert (outputs[0].data != outputs[1].data).any()
    np.testing.assert_array_equal(weights[0].data, weights[1].data)  # before dropout
    module.eval()
    np.testing.assert_array_equal(module(*arrays).data, layer()(*arrays).data)


def test_float32_stays_float32():
    module, arrays = layer(2, np.float32), example({})
    leaves = [Tensor(a.astype(np.float32), requires_grad=True) for a in arrays]
    output = module(*leaves, valid_lens=[6, 6], bias=T5RelativeBias(H))
    assert output.dtype == np.float32
    output.backward(np.ones(output.shape))
    assert all(x.grad.dtype == np.float32 for x in (*leaves, *module.parameters()))
    exact = layer(2)(*(x.data.astype(float) for x in leaves), valid_lens=[6, 6])
    np.testing.assert_allclose(output.data, exact.data, rtol=1e-3, atol=1e-4)


def test_parameters_and_their_first_values():
    def of(**options):
        module = MultiHeadAttention(240, 8, rng=np.random.default_rng(0), **options)
        return module, dict(module.named_parameters())

    module, parameters = of(num_kv_heads=2, kdim=90)
    assert {n: p.shape for n, p in parameters.items()} == {
        "W_q.weight": (240, 240), "W_q.bias": (240,),
        "W_k.weight": (60, 90), "W_k.bias": (60,),
        "W_v.weight": (60, 240), "W_v.bias": (60,),
        "W_o.weight": (240, 240), "W_o.bias": (240,),
    }  # fmt: skip
    bounds = {"W_q": 6 / 480, "W_k": 6 / 150, "W_v": 6 / 300, "W_o": 1 / 240}
    packed = {"W_q": 6 / 960, "W_k": 6 / 960, "W_v": 6 / 960, "W_o": 1 / 240}
    for parameters, squares in ((parameters, bounds), (of()[1], packed)):
        for name, square in squares.items():
            largest = abs(parameters[f"{name}.weight"].data).max()
            assert 0.99 * math.sqrt(square) < largest <= 1.0001 * math.sqrt(square)
            assert (parameters[f"{name}.bias"].data == 0).all()
    assert len(of(bias=False)[1]) == 4
    assert repr(module).startswith(
        "MultiHeadAttention(\n  240, 8, num_kv_heads=2, dropout=0.0\n  (W_q): Linear("
    )

# the weights


LENS = np.array([[3, 0, 7, 1, 2], [7, 6, 5, 4, 3]])  # one query without a key


@pytest.mark.parametrize("num_kv_heads", [4, 2])
def test_the_mean_of_the_weights_over_heads(num_kv_heads):
    module, (query, key, _) = layer(num_kv_heads), example({})
    call = dict(valid_lens=LENS, need_weights=True)
    output, weights = module(query, key, **call)
    same, mean = module(query, key, average_attn_weights=True, **call)
    assert weights.shape == (B, H, L, S) and mean.shape == (B, L, S)
    np.testing.assert_allclose(mean.data, weights.data.mean(1), **close)
    np.testing.assert_array_equal(same.data, output.data)
    assert (mean.data[0, 1] == 0).all()
    kept = module.attention_weights  # of each head, and without the graph
    np.testing.assert_array_equal(kept.data, weights.data)
    query = Tensor(query, requires_grad=True)
    _, weights = module(query, key, need_weights=True)
    assert weights.requires_grad and not module.attention_weights.requires_grad


def test_gradients_of_the_mean_are_slopes():
    module, arrays = layer(2), draw((B, L, D), (B, S, D))

    def both(query, key):
        return module(
            query,
            key,
            valid_lens=LENS,
            need_weights=True,
            average_attn_weights=True,
        )

    assert mg.gradcheck(lambda *x: both(*x)[1], arrays).ok


def test_attention_weights_are_none_unless_needed():
    module, (x,) = layer(), draw((B, L, D))
    assert module.attention_weights is None
    module(x)
    assert module.attention_weights is None
    _, weights = module(x, need_weights=True)
    assert module.attention_weights is not None
    with pytest.raises(ValueError):
        module(x[..., 1:])  # a call that raises leaves them
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    output = module(x, average_attn_weights=True)
    assert isinstance(output, Tensor) and module.attention_weights is None


def test_weights_in_decoding_cover_all_tokens_so_far():
    module, (x,) = layer(2), draw((B, L, D))
    _, whole = module(x, is_causal=True, need_weights=True)
    cache = KVCache()
    with no_grad():
        for t in range(L):
            module(x[:, t : t + 1], is_causal=True, cache=cache, need_weights=True)
            kept = module.attention_weights.data
            assert kept.shape == (B, H, 1, t + 1)
            np.testing.assert_allclose(kept[:, :, 0], whole.data[:, :, t, : t + 1],
                                       rtol=1e-11, atol=1e-12)  # fmt: skip
