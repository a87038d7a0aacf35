"""Multi-head attention keeps its laws: groups, orders, causality and padding."""

import numpy as np
import pytest

from attention import masks
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .multihead_cases import (
    DENSE,
    B,
    D,
    Dk,
    Dv,
    H,
    L,
    S,
    by_loops,
    close,
    example,
    layer,
)


def test_self_attention_is_attention_to_itself():
    module, (x,) = layer(2), draw((B, L, D))
    y = module(x).data
    np.testing.assert_array_equal(module(x, x, x).data, y)
    np.testing.assert_array_equal(module(x, x).data, y)
    np.testing.assert_array_equal(module(x, x.copy()).data, y)


def test_grouped_heads_are_heads_whose_keys_are_repeated():
    """Query heads 0 and 1 read key head 0, and 2 and 3 read key head 1."""
    grouped, full, arrays = layer(2), layer(), example({})
    state = grouped.state_dict()
    for name in ("W_k.weight", "W_k.bias", "W_v.weight", "W_v.bias"):
        heads = state[name].reshape(2, D // H, -1)[[0, 0, 1, 1]]
        state[name] = heads.reshape(D, *state[name].shape[1:])
    full.load_state_dict(state)
    expected = full(*arrays).data
    np.testing.assert_allclose(grouped(*arrays).data, expected, **close)
    order = [0, 1, 0, 1]  # the other mapping, h % Hk, is another layer
    for name in ("W_k.weight", "W_v.weight"):
        heads = state[name].reshape(H, D // H, -1)[[0, 2]][order]
        state[name] = heads.reshape(D, D)
    full.load_state_dict(state)
    assert abs(full(*arrays).data - expected).max() > 0.1


def test_the_order_of_keys_means_nothing():
    module, (query, key, value) = layer(2), example({})
    order = np.random.default_rng(1).permutation(S)
    y = module(query, key, value, mask=DENSE).data
    moved = module(query, key[:, order], value[:, order], mask=DENSE[..., order])
    np.testing.assert_allclose(moved.data, y, **close)
    apart = module(query, key[:, order], value, mask=DENSE[..., order]).data
    assert abs(apart - y).max() > 0.1


@pytest.mark.parametrize("options", [
    {"is_causal": True},
    {"mask": masks.causal},
    {"mask": np.tri(L, dtype=bool)},
    {"mask": np.where(np.tri(L), 0, -np.inf)},
    {"valid_lens": np.tile(np.arange(1, L + 1), (B, 1))},
])  # fmt: skip
def test_nothing_leaks_from_later_tokens(options):
    module, (x, g) = layer(2), draw((B, L, D), (B, L, D))
    for t in range(L):
        changed = x.copy()
        changed[:, t:] = 7.0
        before, after = module(x, **options).data, module(changed, **options).data
        np.testing.assert_array_equal(after[:, :t], before[:, :t])
        leaf = Tensor(x, requires_grad=True)
        module(leaf, **options)[:, :t].backward(g[:, :t])
        assert (leaf.grad[:, t:] == 0).all()
        assert not t or (leaf.grad[:, t - 1] != 0).all()


@pytest.mark.parametrize("n, m", [(L, S), (70, 90)])  # dense, and tiled
def test_padding_has_no_influence(n, m):
    def run(filling):
        module = layer(2, kdim=Dk, vdim=Dv)
        query, key, value = draw((B, n, D), (B, m, Dk), (B, m, Dv))
        lens = np.full((B, n), m - 3)
        lens[1, 2] = 0
        if filling is not None:
            key[:, m - 3 :] = value[:, m - 3 :] = query[1, 2] = filling
        leaves = [Tensor(a, requires_grad=True) for a in (query, key, value)]
        output = module(*leaves, valid_lens=lens)
        output.backward(draw((B, n, D), seed=9)[0])
        grads = [x.grad for x in (*leaves, *module.parameters())]
        np.testing.assert_allclose(output.data[1, 2], module.W_o.bias.data, **close)
        return [output.data, *grads]

    clean, padded = run(None), run(7.0)
    for a, b in zip(clean, padded):
        np.testing.assert_array_equal(a, b)
    assert (clean[2][:, m - 3 :] == 0).all() and (clean[1][1, 2] == 0).all()


def test_many_queries_in_tiles_are_the_same():
    module = layer(2)
    (x,) = draw((B, 70, D))
    output, weights = module(x, is_causal=True, need_weights=True)  # the whole matrix
    np.testing.assert_allclose(module(x, is_causal=True).data, output.data, **close)
    np.testing.assert_allclose(weights.data.sum(-1), 1, **close)
    o, w = by_loops(module, x, x, x, np.tri(70, dtype=bool))
    np.testing.assert_allclose(output.data, o, **close)
    np.testing.assert_allclose(weights.data, w, **close)
