"""Laws of all variants: each equals its definition, and masks leak nothing."""

import functools

import numpy as np
import pytest

import attention as A
from attention.exact.sdpa import dense_attention, tiled_attention
from attention.variants.luong import KINDS
from attention.variants.table import VARIANTS as ROWS
from minigrad import Tensor, nn

from ...minigrad.array_cases import draw
from ..definition_cases import check, check_gradients
from .variant_cases import VARIANTS, D, across, cotangent, results, run_steps, same

B = 2
TILED = ("tiled", "dense", "linear", "merge")  # these need more than one tile
# output 0 is not context 0
PROJECTED = ("heads", "one key", "Luong's", "Bahdanau", "layer of Longformer")
CAUSAL = [n for n, v in VARIANTS.items() if v.causal]
LOCAL = [n for n, v in VARIANTS.items() if v.local is not None]
STEPS = ["coverage", "Bahdanau's step", "Luong's step"]

every_variant = across()


def refused(name, L, S):
    """Return whether a variant raises for L queries and S keys."""
    if name == "linear causal":
        return L != S
    has_token_2 = max(L, S) >= 3  # it is global
    return name in ("dense Longformer", "tiled Longformer") and not has_token_2


def inputs(name):
    n = 70 if name.startswith(TILED) else 18
    return draw((B, n, D), (B, n, D), (B, n, D))


def test_every_public_layer_is_a_variant():
    modules = [variant.module() for variant in VARIANTS.values()]
    found = {type(part) for module in modules for part in module.modules()}
    public = {getattr(A, name) for name in A.__all__}
    layers = {x for x in public if isinstance(x, type) and issubclass(x, nn.Module)}
    layers -= {x for x in layers if x.__module__.startswith("attention.positions")}
    layers -= {A.Sink}  # a normaliser, which has a row and a test of its own
    of_table = {
        type(row.layer(D, D, None, **row.options))
        for row in ROWS.values() if row.layer
    }  # fmt: skip
    assert layers and layers <= found | of_table, layers - found - of_table
    kinds = {m.kind for m in modules if isinstance(m, A.LuongAttention)}
    assert kinds == set(KINDS)


@every_variant
def test_definition(backend, name):
    """Values and all gradients; odd sizes, L != S, one key, one query."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    run = functools.partial(variant.run, module)
    definition = functools.partial(variant.defined, module)
    n = 70 if name.startswith(TILED) else 10
    for L, S in (n, n), (5, 13), (13, 5), (1, 9), (9, 1), (1, 1):
        if not refused(name, L, S):
            arrays = draw((B, L, D), (B, S, D), (B, S, D))
            check(run, definition, arrays, module.parameters())


@every_variant
def test_large_scores(backend, name):
    """Scores of 1e4 and -1e4 overflow nowhere."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    arrays = draw((B, 9, D), (B, 9, D), (B, 9, D))
    arrays[0] *= 50
    arrays[1] *= 50
    for parameter_name, p in module.named_parameters():
        if parameter_name.split(".")[-1] in ("w_v", "v_a"):
            p.data = p.data * 5000
    o, *gradients = results(variant.run, module, arrays)
    definition = functools.partial(variant.defined, module)
    inputs = [*arrays, *(p.data for p in module.parameters())]
    np.testing.assert_allclose(o, definition(*inputs), rtol=1e-10, atol=1e-10)
    g = cotangent(o)
    # the slopes are steep, and the scores are rounded by 1e-12
    check_gradients(definition, inputs, g, gradients, step=1e-8, rounding=1e-12)


@every_variant
def test_no_examples_queries_or_keys(backend, name):
    """The results have the right shapes and no NaN, and nothing warns."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    for B, L, S in (0, 5, 5), (2, 0, 0), (2, 0, 7), (2, 5, 0):
        if refused(name, L, S) or (variant.run is run_steps and not L):
            continue
        arrays = draw((B, L, D), (B, S, D), (B, S, D))
        o, *gradients = results(variant.run, module, arrays)
        assert o.shape[:2] == (B, L) and np.isfinite(o).all()
        for d, a in zip(gradients, arrays):
            assert np.shape(d) in ((), a.shape)
        assert all(np.isfinite(d).all() for d in gradients)
        if S == 0 and not name.startswith(PROJECTED):
            assert not o.any() and not np.any(gradients[0])


@pytest.mark.parametrize("kind", [list, np.asarray, Tensor])
def test_arrays_lists_and_tensors_are_equivalent(kind):
    exact = draw((2, 5, 4), (2, 7, 4), (2, 7, 4))
    arrays = [kind(x.tolist()) for x in exact]
    for call in (
        A.scaled_dot_product_attention,
        A.LocalAttention(4, 4, 2, "p", rng=np.random.default_rng(0)),
        A.linear_attention,
    ):
        same([call(*arrays).data], [call(*exact).data])


# options of scaled_dot_product_attention that could differ between its two paths

paths = pytest.mark.parametrize("path", [dense_attention, tiled_attention])


@paths
def test_extreme_softcaps(path):
    q, k, v = np.random.default_rng(0).standard_normal((3, 70, 4)).astype(np.float32)
    small = path(q, k, v, softcap=1e-37).data  # all scores are equal
    np.testing.assert_allclose(small, np.tile(v.mean(0), (70, 1)), atol=1e-6)
    large = path(q, k, v, softcap=1e6).data
    np.testing.assert_allclose(large, path(q, k, v).data, atol=1e-5)


@paths
@pytest.mark.parametrize("L, S", [(0, 0), (0, 2), (2, 0), (1, 1)])
def test_bias_by_offset_without_queries_or_keys(path, L, S):
    bias = A.T5RelativeBias(3).by_offset(L, S)
    assert path(*(np.ones((3, n, 4), "f") for n in (L, S, S)), bias=bias).shape[1] == L


def test_a_score_mod_of_float64_keeps_float32():
    slopes = np.arange(7.0)  # float64
    leaves = [Tensor(np.ones((2, n, 4), "f"), requires_grad=True) for n in (5, 7, 7)]
    o = A.scaled_dot_product_attention(
        *leaves, score_mod=lambda score, b, h, q_idx, kv_idx: score * slopes
    )
    o.sum().backward()
    assert {x.dtype for x in (o, *(leaf.grad for leaf in leaves))} == {np.dtype("f")}


# nothing passes a mask, forward or backward


@every_variant
def test_padding_has_no_influence(backend, name):
    variant, (q, k, v) = VARIANTS[name], inputs(name)
    n, module = q.shape[1] // 2, variant.module()
    lens = [n, q.shape[1]]
    expected = results(variant.run, module, (q, k, v), lens)
    o, _, dk, dv, *_ = expected
    assert dv[0, :n].any() and np.isfinite(o).all()
    assert not dk[0, n:].any() and not dv[0, n:].any()
    k[0, n:], v[0, n:] = 7.0, 7.0
    same(results(variant.run, module, (q, k, v), lens), expected)


@across([n for n in VARIANTS if not n.startswith(PROJECTED) and "head" not in n])
def test_padding_may_be_nan(backend, name):
    variant, (q, k, v) = VARIANTS[name], inputs(name)
    n, module = q.shape[1] // 2, variant.module()
    lens = [n, q.shape[1]]
    k[0, n:], v[0, n:] = 0.0, 0.0
    expected = results(variant.run, module, (q, k, v), lens)
    k[0, n:], v[0, n:] = np.nan, np.nan
    same(results(variant.run, module, (q, k, v), lens), expected)


@every_variant
def test_an_example_without_keys_and_its_neighbour(backend, name):
    variant, arrays = VARIANTS[name], inputs(name)
    lens, module = [0, arrays[0].shape[1]], variant.module()
    o, *grads = results(variant.run, module, arrays, lens)
    assert all(np.isfinite(x).all() for x in (o, *grads))
    dq, dk, dv = grads[:3]
    assert not dk[0].any() and not dv[0].any() and dv[1].any()
    if not name.startswith(PROJECTED):
        assert not o[0].any() and not dq[0].any()
    for x in arrays:
        x[0] = 3.0
    other, *others = results(variant.run, module, arrays, lens)
    same([x[1] for x in (other, *others[:3])], [x[1] for x in (o, *grads[:3])])


@across([*CAUSAL, *STEPS])
def test_later_tokens_have_no_influence(backend, name):
    """On a loss of earlier outputs and on its gradients."""
    variant, (q, k, v) = VARIANTS[name], inputs(name)
    at, module = q.shape[1] - 10, variant.module()
    g = draw(variant.run(module, q, k, v).shape, seed=9)[0]
    g[:, at:] = 0
    expected = results(variant.run, module, (q, k, v), g=g)
    for x in (q, k, v) if name in CAUSAL else (q,):
        x[:, at:] = 7.0
    found = results(variant.run, module, (q, k, v), g=g)
    for each in found, expected:
        each[:2] = [x[:, :at] for x in each[:2]]
        if name in CAUSAL:
            assert not any(x[:, at:].any() for x in each[2:4])
    same(found, expected)


@across(LOCAL)
def test_keys_outside_a_pattern_have_no_influence(backend, name):
    variant, (q, k, v) = VARIANTS[name], inputs(name)
    n, module = q.shape[1], variant.module()
    at = n - 10
    outside = ~variant.pairs(n, n)[:, at]
    assert 0 < outside.sum() < n
    g = draw(variant.run(module, q, k, v).shape, seed=9)[0]
    g[:, ~outside] = 0
    expected = results(variant.run, module, (q, k, v), g=g)
    k[:, at], v[:, at] = 7.0, 7.0
    found = results(variant.run, module, (q, k, v), g=g)
    for each in found, expected:
        each[:2] = [x[:, outside] for x in each[:2]]
    same(found, expected)
    assert not found[2][:, at].any() and not found[3][:, at].any()


# float32


def errors(variant, n, seed, size=3):
    """Return the largest errors in float32, and the largest changes by its rounding.

    The changes are those in float64 when all inputs, parameters and dL/do move by about
    one rounding of float32.
    """
    rng, single = np.random.default_rng(seed), variant.module(np.float32, seed)
    arrays = [rng.standard_normal((B, n, D)).astype(np.float32) for _ in range(3)]
    arrays[0] *= np.float32(size)
    ours = results(variant.run, single, arrays)
    assert all(x.dtype == np.float32 for x in ours)

    def in_float64(change):
        module = variant.module(np.float64, seed)
        for p, x in zip(module.parameters(), single.parameters()):
            p.data = change(x.data.astype(float))
        inputs = [change(x.astype(float)) for x in arrays]
        g = change(cotangent(ours[0]).astype(float))
        return results(variant.run, module, inputs, g=g)

    def rounded(x):
        return x * (1 + np.finfo(np.float32).eps * rng.standard_normal(x.shape))

    exact, moved = in_float64(lambda x: x), in_float64(rounded)
    found, changes = (
        [abs(x - y).max() for x, y in zip(each, exact, strict=True)]
        for each in (ours, moved)
    )
    # the gradient of a shift of all scores, or of a bandwidth, is a sum that cancels
    cancels = [abs(x).max() < 1e-10 or x.ndim == 0 for x in exact]
    terms = sum(abs(x * dx).sum() for x, dx in zip(arrays, exact[1:]))
    eps = np.finfo(np.float32).eps
    return found, np.where(cancels, eps * terms, np.maximum(changes, eps))


@pytest.mark.deep
@across()
def test_float32_is_as_exact_as_its_inputs(backend, name):
    """At most twice the change by their rounding, on average; thrice in gradients."""
    variant = VARIANTS[name]
    tiles = name.startswith(("tiled", "dense", "merge", "linear"))
    n, count = (140, 4) if tiles else (8, 40)
    draws = [errors(variant, n, seed) for seed in range(count)]
    ours, moved = np.mean(draws, axis=0)
    for i, (error, bound) in enumerate(zip(ours, moved)):
        assert error <= (3 if i else 2) * bound, i
