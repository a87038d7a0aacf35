"""Multi-head attention against a loop over heads, its laws, torch, and its messages."""

import functools
import math
import pathlib
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention import masks
from attention.block_mask import BlockMask
from attention.multihead import MultiHeadAttention
from attention.positions import T5RelativeBias, alibi_bias, alibi_by_offset, rope
from attention.torch_state import load_torch_state, torch_state
from minigrad import Tensor, nn

GOLDEN = pathlib.Path(__file__).parent / "golden" / "multihead.npz"
B, L, S, D, H, Dk, Dv = 2, 5, 7, 12, 4, 9, 10
close = dict(rtol=1e-11, atol=1e-12)  # sums of some dozens of numbers of order one


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def layer(num_kv_heads=None, dtype=np.float64, seed=0, width=D, **options):
    """A layer of which no parameter is 0, its biases included."""
    rng = np.random.default_rng(seed)
    module = MultiHeadAttention(width, H, num_kv_heads, rng=rng, **options)
    for parameter in module.parameters():
        parameter.data = (rng.standard_normal(parameter.shape) / 2).astype(dtype)
    return module


# the definition


def in_loops(state, query, key, value, G, allowed, added, scale):
    """out (L, D), weights (H, L, S) of one example: heads, queries, keys in turn."""

    def project(name, x):
        return x @ state[f"{name}.weight"].T + state.get(f"{name}.bias", 0)

    E = D // H
    weights = np.zeros((H, len(query), len(key)))
    contexts = np.zeros((len(query), D))
    for h in range(H):
        own, shared = slice(h * E, (h + 1) * E), slice(h // G * E, (h // G + 1) * E)
        q = project("W_q", query)[:, own]
        k, v = project("W_k", key)[:, shared], project("W_v", value)[:, shared]
        for i in range(len(query)):
            keys = [j for j in range(len(key)) if allowed[h, i, j]]
            s = {j: scale * (q[i] @ k[j]) + added[h, i, j] for j in keys}
            total = sum(math.exp(s[j]) for j in keys)
            for j in keys:
                weights[h, i, j] = math.exp(s[j]) / total
                contexts[i, own] += weights[h, i, j] * v[j]
    return project("W_o", contexts), weights


def by_loops(module, query, key, value, allowed=True, added=0.0):
    """All examples; allowed and added broadcast to (B, H, L, S)."""
    shape = len(query), H, query.shape[1], key.shape[1]
    allowed, added = (np.broadcast_to(x, shape) for x in (allowed, added))
    scale = 1 / math.sqrt(D // H) if module.scale is None else module.scale
    each = [
        in_loops(
            module.state_dict(),
            query[b],
            key[b],
            value[b],
            H // module.num_kv_heads,
            allowed[b],
            added[b],
            scale,
        )
        for b in range(len(query))
    ]
    return [np.stack(x) for x in zip(*each)]


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


j, i = np.arange(S), np.arange(L)[:, None]
DENSE = np.random.default_rng(3).random((B, H, L, S)) < 0.6
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


def example(options, seed=0):
    widths = D, options.get("kdim", D), options.get("vdim", D)
    return draw(*zip((B, B, B), (L, S, S), widths), seed=seed)


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


# laws


def test_self_attention_is_attention_to_itself():
    module, (x,) = layer(2), draw((B, L, D))
    y = module(x).data
    np.testing.assert_array_equal(module(x, x, x).data, y)
    np.testing.assert_array_equal(module(x, x).data, y)
    np.testing.assert_array_equal(module(x, x.copy()).data, y)


def test_as_many_key_heads_as_query_heads_are_no_groups():
    many, plain = layer(H), layer()
    arrays = example({})
    np.testing.assert_array_equal(many(*arrays).data, plain(*arrays).data)


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


def test_queries_in_another_order_give_outputs_in_that_order():
    module, (x,) = layer(2), draw((B, L, D))
    order = np.random.default_rng(1).permutation(L)
    np.testing.assert_allclose(
        module(x[:, order]).data, module(x).data[:, order], **close
    )


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
        changed[:, t:] = np.nan
        before, after = module(x, **options).data, module(changed, **options).data
        np.testing.assert_array_equal(after[:, :t], before[:, :t])
        assert np.isnan(after[:, t:]).all()  # and what sees it says so
        leaf = Tensor(x, requires_grad=True)
        module(leaf, **options)[:, :t].backward(g[:, :t])
        assert (leaf.grad[:, t:] == 0).all()
        assert not t or (leaf.grad[:, t - 1] != 0).all()


@pytest.mark.parametrize("n, m", [(L, S), (70, 90)])  # few queries, and many: by tiles
@pytest.mark.parametrize("filling", [7.0, np.nan, np.inf])
def test_padding_has_no_influence_and_may_be_nan(n, m, filling):
    def run(change):
        module = layer(2, kdim=Dk, vdim=Dv)
        query, key, value = draw((B, n, D), (B, m, Dk), (B, m, Dv))
        lens = np.full((B, n), m - 3)
        lens[1, 2] = 0
        if change:
            key[:, m - 3 :] = value[:, m - 3 :] = query[1, 2] = filling
        leaves = [Tensor(a, requires_grad=True) for a in (query, key, value)]
        output = module(*leaves, valid_lens=lens)
        output.backward(draw((B, n, D), seed=9)[0])
        grads = [x.grad for x in (*leaves, *module.parameters())]
        np.testing.assert_allclose(output.data[1, 2], module.W_o.bias.data, **close)
        return [output.data, *grads]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clean, padded = run(False), run(True)
    for a, b in zip(clean, padded):
        np.testing.assert_array_equal(a, b)
    assert (clean[2][:, m - 3 :] == 0).all() and (clean[1][1, 2] == 0).all()


def test_nan_reaches_only_the_queries_that_see_it():
    module, arrays = layer(), example({})
    arrays[1][0, 5] = np.nan
    seen = j <= i + 2
    output, weights = module(*arrays, mask=seen, need_weights=True)
    np.testing.assert_array_equal(np.isnan(output.data[0]).all(-1), seen[:, 5])
    assert np.isfinite(output.data[1]).all()
    assert (weights.data[..., ~seen] == 0).all()


def test_many_queries_in_tiles_are_the_same():
    module = layer(2)
    (x,) = draw((B, 70, D))
    output, weights = module(x, is_causal=True, need_weights=True)  # the whole matrix
    np.testing.assert_allclose(module(x, is_causal=True).data, output.data, **close)
    np.testing.assert_allclose(weights.data.sum(-1), 1, **close)
    o, w = by_loops(module, x, x, x, np.tri(70, dtype=bool))
    np.testing.assert_allclose(output.data, o, **close)
    np.testing.assert_allclose(weights.data, w, **close)


# positions


def test_rotated_heads_see_distances_alone():
    module, (x,) = layer(2, width=16), draw((B, L, 16))
    plain, here = module(x).data, module(x, rotate=rope).data
    there = module(x, rotate=rope, positions=np.arange(L) + 11).data
    assert abs(plain - here).max() > 1e-3
    np.testing.assert_allclose(here, there, **close)
    apart = np.stack([np.arange(L), 3 * np.arange(L)])  # of each example its own
    each = module(x, rotate=rope, positions=apart).data
    np.testing.assert_array_equal(each[0], here[0])
    np.testing.assert_array_equal(
        each[1:], module(x[1:], rotate=rope, positions=apart[1]).data
    )
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
    leaves[1].data[0, 6] = np.nan
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


# torch

PROBLEMS = {  # of the layer; of the call
    "self": ({}, {"same": True}),
    "self causal": ({}, {"same": True, "causal": True}),
    "cross padding": ({}, {"lens": [4, 7]}),
    "widths": ({"kdim": Dk, "vdim": Dv}, {"lens": [7, 2]}),
    "no bias": ({"bias": False}, {"mask": DENSE[0, 0] | (j == 0)}),
}


def ours(name, arrays, g, state):
    """{name: array}: the output, the weights, and all gradients, by torch's names."""
    options, call = PROBLEMS[name]
    module = layer(**options, seed=1)
    load_torch_state(module, state)
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    output, weights = module(
        *(leaves[:1] if "same" in call else leaves),
        valid_lens=call.get("lens"),
        mask=call.get("mask"),
        is_causal=call.get("causal", False),
        need_weights=True,
    )
    output.backward(g)
    for parameter in module.parameters():
        parameter.data = parameter.grad
    found = {f"d {n}": a for n, a in torch_state(module).items()}
    found |= {f"d {n}": x.grad for n, x in zip("qkv", leaves) if x.grad is not None}
    return {"output": output.data, "weights": weights.data, **found}


def peer(torch, name, arrays, g, state):
    options, call = PROBLEMS[name]
    module = torch.nn.MultiheadAttention(D, H, batch_first=True, **options).double()
    module.load_state_dict({n: torch.from_numpy(a) for n, a in state.items()})
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    q, k, v = leaves[:1] * 3 if "same" in call else leaves
    mask, padding = call.get("mask"), None
    if "causal" in call:
        mask = np.tri(L, dtype=bool)
    if "lens" in call:
        padding = torch.from_numpy(j >= np.array(call["lens"])[:, None])
    output, weights = module(
        q, k, v,
        key_padding_mask=padding,
        attn_mask=None if mask is None else torch.from_numpy(~mask),
        average_attn_weights=False,
    )  # fmt: skip
    output.backward(torch.from_numpy(g))
    found = {f"d {n}": p.grad.numpy() for n, p in module.named_parameters()}
    found |= {
        f"d {n}": x.grad.numpy() for n, x in zip("qkv", leaves) if x.grad is not None
    }
    output, weights = output.detach().numpy(), weights.detach().numpy()
    return {"output": output, "weights": weights, **found}


RECORDED = ["self causal", "widths", "no bias"]


def problem(name):
    options, _ = PROBLEMS[name]
    state = torch_state(layer(**options))
    return example(options), draw((B, L, D), seed=9)[0], state


def compare(found, expected):
    assert found.keys() == expected.keys()
    for n, wanted in expected.items():
        np.testing.assert_allclose(found[n], wanted, **close, err_msg=n)


@pytest.mark.parametrize("name", PROBLEMS)
def test_equal_to_torch(name):
    torch = pytest.importorskip("torch")
    known = problem(name)
    compare(ours(name, *known), peer(torch, name, *known))


@pytest.mark.parametrize("name", RECORDED)
def test_equal_to_what_torch_gave(name):
    with np.load(GOLDEN) as file:
        stored = [
            {k.split("|")[2]: file[k] for k in file if k.startswith(f"{name}|{part}|")}
            for part in ("in", "state", "out")
        ]
    arrays, state, expected = stored
    g = arrays.pop("g")
    compare(ours(name, arrays.values(), g, state), expected)


def record():
    """Write the golden file, from torch."""
    import torch

    kept = {"torch": np.array(torch.__version__)}
    for name in RECORDED:
        arrays, g, state = problem(name)
        kept |= {f"{name}|in|{n}": a for n, a in zip("qkv", arrays)}
        kept[f"{name}|in|g"] = g
        kept |= {f"{name}|state|{n}": a for n, a in state.items()}
        out = peer(torch, name, arrays, g, state)
        kept |= {f"{name}|out|{n}": a for n, a in out.items()}
    np.savez_compressed(GOLDEN, **kept)


@pytest.mark.parametrize("options", [{}, {"kdim": Dk}, {"bias": False}])
def test_there_and_back(options):
    one, other = layer(**options), layer(**options, seed=1)
    state = torch_state(one)
    load_torch_state(other, state)
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], value)
    for value in state.values():
        value += 1  # a copy: the layer does not change
    np.testing.assert_array_equal(other.W_q.weight.data, one.W_q.weight.data)
