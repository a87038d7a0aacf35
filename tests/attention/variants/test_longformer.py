"""Longformer's attention: its definition by loops, its relation to masks, its calls."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention import masks
from attention.exact.multihead import MultiHeadAttention
from attention.masks.block_mask import BlockMask
from attention.variants.longformer import LongformerAttention
from minigrad import Tensor, nn

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


def example_by_loops(module, x, is_global, valid):
    """Return out (L, D) and weights (H, L, L) of one example."""
    state, n = module.state_dict(), len(x)
    E, reach = x.shape[1] // H, module.window // 2

    def project(name, x):
        return state[f"{name}.weight"] @ x + state.get(f"{name}.bias", 0)

    weights, contexts = np.zeros((H, n, n)), np.zeros(x.shape)
    for h in range(H):
        own = slice(h * E, (h + 1) * E)
        for i in range(n):
            of = "_global" if i in is_global else ""
            q = project(f"W_q{of}", x[i])[own]
            keys = [
                j
                for j in range(valid)
                if of or abs(i - j) <= reach or j in is_global
            ]  # fmt: skip
            k = {j: project(f"W_k{of}", x[j])[own] for j in keys}
            total = sum(math.exp(q @ k[j] / math.sqrt(E)) for j in keys)
            for j in keys:
                p = weights[h, i, j] = math.exp(q @ k[j] / math.sqrt(E)) / total
                contexts[i, own] += p * project(f"W_v{of}", x[j])[own]
    out = np.stack([project("W_o", c) for c in contexts])
    return out, weights


def by_loops(module, x, chosen, lens):
    each = [example_by_loops(module, *one) for one in zip(x, chosen, lens)]
    return [np.stack(a) for a in zip(*each)]


def as_bool(chosen, n=L):
    return np.array([[i in each for i in range(n)] for each in chosen])


DIFFERENT = as_bool([{0, 5}, {8}])
CALLS = {  # arguments; the global tokens and the length of each example
    "none": ({}, [{}, {}], [L, L]),
    "some": ({"global_tokens": [7, 0, 3, 7]}, [{0, 3, 7}] * 2, [L, L]),
    "alike": ({"global_tokens": as_bool([{1, 2}])[0]}, [{1, 2}] * 2, [L, L]),
    "different": ({"global_tokens": DIFFERENT}, [{0, 5}, {8}], [L, L]),
    "one has none": ({"global_tokens": as_bool([{}, {4}])}, [{}, {4}], [L, L]),
    "all": ({"global_tokens": np.ones((B, L), bool)}, [set(range(L))] * 2, [L, L]),
    "lengths": ({"valid_lens": [4, 9]}, [{}, {}], [4, 9]),
    "some and lengths": (
        {"global_tokens": [0, 3, 7], "valid_lens": [5, 9]},
        [{0, 3, 7}] * 2,
        [5, 9],
    ),
    "different and lengths": (
        {"global_tokens": DIFFERENT, "valid_lens": [6, 0]},
        [{0, 5}, {8}],
        [6, 0],
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"window": 2}])
def test_definition(options, call):
    arguments, chosen, lens = CALLS[call]
    module, (x,) = layer(**options), draw((B, L, D))
    output, weights = module(x, need_weights=True, **arguments)
    o, w = by_loops(module, x, chosen, lens)
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(output.data, o, **close)
    np.testing.assert_array_equal(weights.data == 0, w == 0)  # exactly
    np.testing.assert_allclose(module(x, **arguments).data, o, **close)


# the bias of a key adds the same number to all scores of a query: it cancels
CANCELS = ["W_k.bias", "W_k_global.bias"]
GLOBAL = [f"W_{n}_global.{part}" for n in "qkv" for part in ("weight", "bias")]


class Bound(nn.Module):
    """A layer with the arguments of its call."""

    def __init__(self, layer, **arguments):
        self.layer, self.arguments = layer, arguments

    def forward(self, x):
        return self.layer(x, **self.arguments)


@pytest.mark.parametrize(
    "chosen, options",
    [
        ({1, 3}, {"bias": False}),
        pytest.param({}, {}, marks=pytest.mark.deep),
        pytest.param({1, 3}, {}, marks=pytest.mark.deep),
    ],
)
@pytest.mark.parametrize(
    "need_weights", [pytest.param(False, marks=pytest.mark.deep), True]
)
def test_gradients(chosen, options, need_weights):
    marked = as_bool([chosen, {3} if chosen else {}], 5)
    arguments = dict(global_tokens=marked, valid_lens=[3, 5], need_weights=need_weights)
    module = Bound(layer(width=H, window=2, **options), **arguments)
    no_gradient = CANCELS if chosen else [*CANCELS, *GLOBAL]
    names = {f"layer.{n}" for n in no_gradient} & dict(module.named_parameters()).keys()
    assert mg.gradcheck_module(module, *draw((B, 5, H)), no_gradient=names).ok


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


def test_examples_are_independent():
    """Each may have other global tokens."""
    module, (x,) = layer(), draw((3, 80, D))
    chosen = as_bool([{0, 70}, {}, {5, 6, 7}], 80)
    lens = [80, 41, 66]
    output = module(x, chosen, lens).data
    for b in range(3):
        alone = module(x[b : b + 1], chosen[b], lens[b : b + 1]).data[0]
        np.testing.assert_allclose(alone, output[b], **close)


# calls


def test_padding_has_no_influence(n=70):
    chosen = as_bool([{0, n - 1}, {2, 3, 4}], n)  # one of them is padding

    def run(filling=None):
        module, (x, g) = layer(), draw((B, n, D), (B, n, D))
        if filling is not None:
            x[0, n - 3 :] = filling
        g[0, n - 3 :] = 0  # the loss does not depend on outputs of padding
        leaf = Tensor(x, requires_grad=True)
        output = module(leaf, chosen, [n - 3, n])
        output.backward(g)
        kept = np.arange(n) < np.array([[n - 3], [n]])
        return [output.data[kept], leaf.grad, *(p.grad for p in module.parameters())]

    clean = run()
    assert (clean[1][0, n - 3 :] == 0).all()
    for a, b in zip(clean, run(7.0), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_weights_are_kept_only_if_needed():
    module, (x,) = layer(), draw((B, L, D))
    assert module.attention_weights is None
    _, weights = module(x, need_weights=True)
    assert weights.requires_grad and not module.attention_weights.requires_grad
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    module(x)
    assert module.attention_weights is None


def test_one_example_without_a_batch_axis():
    module, (x,) = layer(), draw((B, L, D))
    expected, weights = module(x[:1], [0, 4], [7], need_weights=True)
    output, alone = module(x[0], [0, 4], [7], need_weights=True)
    np.testing.assert_allclose(output.data, expected.data[0], **close)
    np.testing.assert_allclose(alone.data, weights.data[0], **close)


@pytest.mark.parametrize("b, n", [(0, L), (B, 0), (B, 1)])
@pytest.mark.parametrize("chosen", [[], [0]])
def test_no_examples_no_tokens_and_one_token(b, n, chosen):
    chosen = [i for i in chosen if i < n]
    module, (x,) = layer(), draw((b, n, D))
    leaf = Tensor(x, requires_grad=True)
    output, weights = module(leaf, chosen, [n] * b, need_weights=True)
    assert output.shape == (b, n, D) and weights.shape == (b, H, n, n)
    output.backward(np.ones(output.shape))
    assert leaf.grad.shape == x.shape
    if n == 1:
        assert (weights.data == 1).all()


def test_float32_stays_float32():
    module, (x,) = layer(dtype=np.float32), draw((B, 70, D), dtype=np.float32)
    leaf = Tensor(x, requires_grad=True)
    output, weights = module(leaf, [0, 4], need_weights=True)
    assert output.dtype == weights.dtype == np.float32
    output.backward(np.ones(output.shape))
    assert all(a.grad.dtype == np.float32 for a in (leaf, *module.parameters()))


def test_dropout_of_local_and_global_tokens_in_training_only():
    module, (x,) = layer(dropout=0.5), draw((B, L, D))
    one, other = (module(x, [3]).data for _ in range(2))
    assert ((one != other).any(-1)).all()
    module.eval()
    np.testing.assert_allclose(module(x, [3]).data, layer()(x, [3]).data, **close)


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


def test_empty_tiles_are_not_computed():
    """The tiles are those of the window and of the columns of global tokens."""
    n = 1024
    chosen = np.zeros((B, n), bool)
    chosen[0, [0, 1, 600]], chosen[1, 3] = True, True
    mask = masks.sliding_window(8, 8) | masks.from_array(chosen[:, None, None])
    tiles = BlockMask.from_mask(mask, n, n, block=64)
    i, j = np.arange(16)[:, None], np.arange(16)
    for b, columns in enumerate([(0, 600 // 64), (0,)]):
        kept = (abs(i - j) <= 1) | np.isin(j, columns)
        np.testing.assert_array_equal(tiles.kinds[b, 0] != 0, kept)
    near = abs(np.arange(n)[:, None] - np.arange(n)) <= 8
    np.testing.assert_array_equal(tiles.to_dense()[:, 0], near | chosen[:, None])
