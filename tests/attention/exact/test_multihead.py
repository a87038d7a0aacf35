"""Multi-head attention is its definition; its positions and options."""

import functools
import math

import numpy as np
import pytest

from attention import masks
from attention.exact.multihead import MultiHeadAttention
from attention.positions import T5RelativeBias, alibi_by_offset, rope
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..definition_cases import check
from .multihead_cases import (
    B,
    D,
    Dk,
    Dv,
    H,
    L,
    S,
    close,
    defined,
    example,
    i,
    j,
    layer,
)

LENS = np.array([[3, 0, 7, 1, 2], [7, 6, 5, 4, 3]])  # one query without a key

LAYERS = {
    "grouped": {"num_kv_heads": 2},
    "multi-query": {"num_kv_heads": 1},
    "one width": {"vdim": Dv},
    "grouped widths": {"num_kv_heads": 2, "kdim": Dk, "vdim": Dv},
    "no bias": {"bias": False},
    "scale": {"scale": 1.0},
}
CALLS = {  # options of the call: allowed, added
    "lengths of queries": ({"lengths": LENS}, j < LENS[:, None, :, None], 0.0),
    "mask": (
        {"mask": masks.sliding_window(1, 2), "lengths": [0, 6]},
        (abs(j - i - 0.5) < 2) & (j < np.reshape([0, 6], (2, 1, 1, 1))),
        0.0,
    ),
    "bias": (
        {"bias": functools.partial(alibi_by_offset, H), "is_causal": True},
        j <= i,
        alibi_by_offset(H, L, S).matrix(L, S).data.astype(np.float64),
    ),
}


@pytest.mark.parametrize("kind, call", [
    *((kind, "lengths of queries") for kind in LAYERS),
    *(("grouped widths", call) for call in CALLS),
])  # fmt: skip
def test_the_layer_is_its_definition(kind, call):
    """Output, weights, and the gradients of inputs and parameters."""
    options, allowed, added = CALLS[call]
    module, arrays = layer(**LAYERS[kind]), example(LAYERS[kind])
    run = functools.partial(module, need_weights=True, **options)
    definition = defined(module, allowed, added)
    check(run, definition, arrays, module.parameters())
    output, weights = run(*arrays)
    _, w = definition(*arrays, *(p.data for p in module.parameters()))
    assert (weights.data[w == 0] == 0).all()  # exactly
    np.testing.assert_allclose(module(*arrays, **options).data, output.data, **close)


# Positions


def test_rotated_heads_depend_on_distances_alone():
    module, (x,) = layer(2, width=16), draw((B, L, 16))
    plain, here = module(x).data, module(x, rotate=rope).data
    there = module(x, rotate=rope, positions=np.arange(L) + 11).data
    assert abs(plain - here).max() > 1e-3
    np.testing.assert_allclose(here, there, **close)
    positions = np.stack([np.arange(L), 3 * np.arange(L)])  # of each example its own
    each = module(x, rotate=rope, positions=positions).data
    np.testing.assert_allclose(each[0], here[0], **close)
    alone = module(x[1:], rotate=rope, positions=positions[1]).data
    np.testing.assert_allclose(each[1:], alone, **close)
    itself = module(x, x, rotate=rope, positions=positions).data  # also of the keys
    np.testing.assert_allclose(itself, each, **close)
    one = x[1]
    itself = module(one, one, rotate=rope, positions=positions[1]).data
    np.testing.assert_allclose(itself, each[1], **close)


def test_queries_and_keys_are_rotated_by_their_own_positions():
    module = layer(2, width=16)
    query, key = draw((B, L, 16), (B, S, 16))
    seen = []

    def rotate(x, positions):
        seen.append((x.shape, positions.tolist()))
        return rope(x, positions)

    y = module(query, key, rotate=rotate, positions=np.arange(L) + 2).data
    assert seen == [
        ((B, H, L, 4), list(range(2, L + 2))), ((B, 2, S, 4), list(range(S)))
    ]  # fmt: skip
    kept = module.precompute(key)
    again = module(query, kept, rotate=rope, positions=np.arange(L) + 2).data
    np.testing.assert_allclose(again, y, **close)


@pytest.mark.parametrize("make", [
    lambda t5: t5,
    lambda t5: t5(L, S),
    lambda t5: t5(L, S).matrix(L, S),
    lambda t5: t5(L, S).matrix(L, S).data[None],
])  # fmt: skip
def test_a_bias_in_all_its_forms(make):
    module, arrays = layer(scale=1.0), example({})
    t5 = T5RelativeBias(H)
    t5.table.data = draw(t5.table.shape, seed=5)[0]
    parameters = [p.data for p in module.parameters()]
    o, _ = defined(module, added=t5(L, S).matrix(L, S).data)(*arrays, *parameters)
    np.testing.assert_allclose(module(*arrays, bias=make(t5)).data, o, **close)


# The layer


def test_parameters_and_their_first_values():
    def of(**options):
        module = MultiHeadAttention(240, 8, rng=np.random.default_rng(0), **options)
        return dict(module.named_parameters())

    grouped = of(num_kv_heads=2, kdim=90)
    assert {n: p.shape for n, p in grouped.items()} == {
        "W_q.weight": (240, 240), "W_q.bias": (240,),
        "W_k.weight": (60, 90), "W_k.bias": (60,),
        "W_v.weight": (60, 240), "W_v.bias": (60,),
        "W_o.weight": (240, 240), "W_o.bias": (240,),
    }  # fmt: skip
    bounds = {"W_q": 6 / 480, "W_k": 6 / 150, "W_v": 6 / 300, "W_o": 1 / 240}
    packed = {"W_q": 6 / 960, "W_k": 6 / 960, "W_v": 6 / 960, "W_o": 1 / 240}
    for parameters, squares in ((grouped, bounds), (of(), packed)):
        for name, square in squares.items():
            largest = abs(parameters[f"{name}.weight"].data).max()
            assert 0.99 * math.sqrt(square) < largest <= 1.0001 * math.sqrt(square)
            assert (parameters[f"{name}.bias"].data == 0).all()
    assert len(of(bias=False)) == 4


# The weights


def test_the_mean_of_the_weights_over_heads():
    module, (query, key, _) = layer(2), example({})
    call = dict(lengths=LENS, need_weights=True)
    _, weights = module(query, key, **call)
    _, mean = module(query, key, average_attn_weights=True, **call)
    assert weights.shape == (B, H, L, S) and mean.shape == (B, L, S)
    np.testing.assert_allclose(mean.data, weights.data.mean(1), **close)
    kept = module.attention_weights  # of each head
    np.testing.assert_allclose(kept.data, weights.data, **close)


def test_attention_weights_are_none_unless_needed():
    module, (x,) = layer(), draw((B, L, D))
    module(x)
    assert module.attention_weights is None
    _, weights = module(Tensor(x, requires_grad=True), need_weights=True)
    kept = module.attention_weights
    assert weights.requires_grad and not kept.requires_grad
    with pytest.raises(ValueError):
        module(x[..., 1:])  # a call that raises leaves them
    assert module.attention_weights is kept
    output = module(x, average_attn_weights=True)
    assert isinstance(output, Tensor) and module.attention_weights is None
