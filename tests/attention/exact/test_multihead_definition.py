"""Multi-head attention is a loop over heads, in values and in gradients."""

import functools
import math

import numpy as np
import pytest

import minigrad as mg
from attention import masks
from attention.masks.block_mask import BlockMask
from attention.positions import T5RelativeBias, alibi_bias, alibi_by_offset
from minigrad import Tensor, nn

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
    i,
    j,
    layer,
)


def by_heads(module, query, key, value, allowed, added):
    """The same, a loop over heads made of plain operations, for its gradients."""
    E, G = D // H, H // module.num_kv_heads
    scale = 1 / math.sqrt(E) if module.scale is None else module.scale
    contexts = []
    for h in range(H):
        q, k, v = (
            mg.linear(x, W.weight[at], None if W.bias is None else W.bias[at])
            for x, W, at in (
                (query, module.W_q, slice(h * E, (h + 1) * E)),
                (key, module.W_k, slice(h // G * E, (h // G + 1) * E)),
                (value, module.W_v, slice(h // G * E, (h // G + 1) * E)),
            )
        )
        s = scale * (q @ mg.swapaxes(k, 1, 2)) + added[:, h]
        p = mg.exp(s) * allowed[:, h]
        p = p / mg.maximum(p.sum(-1, keepdims=True), 1e-300)
        contexts.append(p @ v)
    return mg.linear(mg.concat(contexts, -1), module.W_o.weight, module.W_o.bias)


FLOAT = np.random.default_rng(4).standard_normal((L, S))
LENS = np.array([[3, 0, 7, 1, 2], [7, 6, 5, 4, 3]])

LAYERS = {
    "plain": {},
    "grouped": {"num_kv_heads": 2},
    "multi-query": {"num_kv_heads": 1},
    "widths": {"kdim": Dk, "vdim": Dv},
    "one width": {"vdim": Dv},
    "grouped widths": {"num_kv_heads": 2, "kdim": Dk, "vdim": Dv},
    "no bias": {"bias": False},
    "scale": {"scale": 1.0},
}
CALLS = {  # options of the call: allowed, added
    "all": ({}, True, 0.0),
    "causal": ({"is_causal": True}, j <= i, 0.0),
    "lengths": ({"valid_lens": [4, 7]}, j < np.reshape([4, 7], (2, 1, 1, 1)), 0.0),
    "lengths of queries": ({"valid_lens": LENS}, j < LENS[:, None, :, None], 0.0),
    "array": ({"mask": DENSE}, DENSE, 0.0),
    "one for all": ({"mask": DENSE[0, 0]}, DENSE[0, 0], 0.0),
    "floats": ({"mask": FLOAT}, True, FLOAT),
    "-inf": (
        {"mask": np.where(DENSE[:, :1], FLOAT, -np.inf)},
        DENSE[:, :1],
        FLOAT,
    ),
    "mask": (
        {"mask": masks.sliding_window(1, 2), "valid_lens": [0, 6]},
        (abs(j - i - 0.5) < 2) & (j < np.reshape([0, 6], (2, 1, 1, 1))),
        0.0,
    ),
    "function": (
        {"mask": lambda b, h, q, kv: (kv + q + h + b) % 3 > 0, "is_causal": True},
        ((j + i + np.arange(H)[:, None, None] + np.arange(B).reshape(2, 1, 1, 1)) % 3)
        * (j <= i)
        > 0,
        0.0,
    ),
    "tiles": (
        {
            "mask": BlockMask.from_mask(masks.causal(offset=1), L, S, block=2),
            "valid_lens": [2, 7],
        },
        (j <= i + 1) & (j < np.reshape([2, 7], (2, 1, 1, 1))),
        0.0,
    ),
    "bias": (
        {"bias": functools.partial(alibi_by_offset, H), "is_causal": True},
        j <= i,
        alibi_bias(H, L, S).astype(np.float64),
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", LAYERS)
def test_the_layer_is_a_loop_over_heads(kind, call):
    options, allowed, added = CALLS[call]
    module, arrays = layer(**LAYERS[kind]), example(LAYERS[kind])
    output, weights = module(*arrays, need_weights=True, **options)
    o, w = by_loops(module, *arrays, allowed, added)
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(output.data, o, **close)
    assert (weights.data[w == 0] == 0).all()  # exactly
    np.testing.assert_allclose(module(*arrays, **options).data, o, **close)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", LAYERS)
def test_and_so_are_all_its_gradients(kind, call):
    options, allowed, added = CALLS[call]
    module, arrays = layer(**LAYERS[kind]), example(LAYERS[kind])
    allowed, added = (np.broadcast_to(x, (B, H, L, S)) for x in (allowed, added))
    (g,) = draw((B, L, D), seed=9)
    found = []
    for function in (
        lambda *x: module(*x, **options),
        lambda *x: by_heads(module, *x, allowed, added),
    ):
        module.zero_grad()
        leaves = [Tensor(a, requires_grad=True) for a in arrays]
        function(*leaves).backward(g)
        found.append([x.grad for x in (*leaves, *module.parameters())])
    for ours, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(ours, wanted, **close)


# A key's bias adds the same to all scores of a query: softmax does not see it.
UNSEEN = "W_k.bias"


@pytest.mark.parametrize("kind", ["multi-query", "grouped widths", "no bias", "scale"])
def test_gradients_are_slopes(kind):
    options = small(LAYERS[kind])
    module = layer(width=8, **options)
    arrays = draw((1, 3, 8), (1, 4, options.get("kdim", 8)), (1, 4, 5), seed=1)
    arrays[2] = arrays[2] if "vdim" in options else draw((1, 4, 8), seed=2)[0]
    unseen = [UNSEEN] if module.W_k.bias is not None else []
    assert mg.gradcheck_module(module, *arrays, no_gradient=unseen).ok


@pytest.mark.parametrize("num_kv_heads", [4, 2])
def test_gradients_are_slopes_where_the_query_is_key_and_value(num_kv_heads):
    module = Causal(layer(num_kv_heads, width=8))
    (x,) = draw((2, 3, 8))
    assert mg.gradcheck_module(module, x, no_gradient=[f"layer.{UNSEEN}"]).ok


def small(options):
    """The same layer of other widths, for there is a slope for each parameter."""
    return options | {n: m for n, m in (("kdim", 3), ("vdim", 5)) if n in options}


class Causal(nn.Module):
    def __init__(self, layer):
        self.layer = layer

    def forward(self, *arrays):
        return self.layer(*arrays, is_causal=True)


def test_the_gradient_of_a_bias_and_of_the_weights():
    module, arrays = layer(2), example({})
    t5 = T5RelativeBias(H)
    t5.table.data = draw(t5.table.shape, seed=5)[0]

    def both(table, query):
        t5.table = table
        return module(query, *arrays[1:], bias=t5, need_weights=True)

    assert mg.gradcheck(both, [t5.table.data, arrays[0]]).ok
