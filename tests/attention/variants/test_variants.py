"""Laws of all variants: each equals its plain program, and masks leak nothing."""

import numpy as np
import pytest

import attention as A
from attention.exact.sdpa import dense_attention, tiled_attention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from .variant_cases import VARIANTS, D, across, results, run_steps, running, same

B = 2
TILED = ("tiled", "dense", "linear", "merge")  # these need more than one tile
PROJECTED = ("heads", "one key", "Luong's", "Bahdanau")  # output 0 is not context 0
PADDED = [n for n, v in VARIANTS.items() if v.lengths]
CAUSAL = [n for n, v in VARIANTS.items() if v.causal]
LOCAL = [n for n, v in VARIANTS.items() if v.local is not None]
STEPS = ["coverage", "Bahdanau's step", "Luong's step"]

every_variant = across()
both = pytest.mark.parametrize("backend", ["numba", "numpy"], indirect=True)


@pytest.fixture
def backend(request):
    with running(request.param):
        yield request.param


def refused(name, L, S):
    """Return whether a variant raises for L queries and S keys."""
    if name == "linear causal":
        return L != S
    return "Longformer" in name and max(L, S) < 3  # no global token 2


def inputs(name):
    n = 70 if name.startswith(TILED) else 18
    return draw((B, n, D), (B, n, D), (B, n, D))


@every_variant
def test_plain_program(backend, name):
    """Values and all gradients; odd sizes, L != S, one key, one query."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    n = 70 if name.startswith(TILED) else 10
    for L, S in (n, n), (5, 13), (13, 5), (1, 9), (9, 1), (1, 1):
        if refused(name, L, S):
            continue
        allowed = variant.pairs(B, L, S)
        without_keys = ~allowed.any((0, 2))  # NaN in a plain program
        arrays = draw((B, L, D), (B, S, D), (B, S, D))
        found = results(variant.run, module, arrays)
        if not without_keys.any():
            same(found, results(variant.plain, module, arrays, allowed))
        assert not found[1][:, without_keys].any() and np.isfinite(found[1]).all()


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
    found = results(variant.run, module, arrays)
    allowed = variant.pairs(B, 9, 9)
    for x, y in zip(
        found, results(variant.plain, module, arrays, allowed), strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10 * max(abs(y).max(), 1))


@every_variant
def test_order_of_keys(backend, name):
    """It changes the output only where positions matter."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    q, k, v = draw((B, 21, D), (B, 21, D), (B, 21, D))
    order = np.random.default_rng(1).permutation(21)
    o, dq, dk, dv, *others = results(variant.run, module, (q, k, v))
    moved = results(variant.run, module, (q, k[:, order], v[:, order]))
    if not variant.ordered:
        same(moved, [o, dq, dk[:, order], dv[:, order], *others])
    else:
        assert np.abs(moved[0] - o).max() > 1e-3
    mixed = variant.run(module, *map(Tensor, (q, k[:, order], v))).data
    assert np.abs(mixed - o).max() > 1e-3  # keys with other values


@both
@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
def test_order_of_keys_with_masks_and_biases(backend, path):
    q, k, v, mask, bias = draw(
        (2, 2, 70, 4), *[(2, 2, 80, 4)] * 2, (70, 80), (2, 1, 80)
    )
    bools, order = mask > -0.5, np.random.default_rng(1).permutation(80)
    found = []
    for p in np.arange(80), order:
        for options in (
            {"attn_mask": bools[:, p]},
            {"attn_mask": mask[:, p], "softcap": 2.0},
            {"attn_mask": np.where(bools, mask, -np.inf)[:, p], "bias": bias[..., p]},
            {"mask_mod": lambda b, h, i, j, p=p: bools[i, p[j]]},
        ):
            tensors = [
                Tensor(x, requires_grad=True) for x in (q, k[:, :, p], v[:, :, p])
            ]
            o, lse = path(*tensors, return_lse=True, **options)
            o.backward(np.cos(q))
            dq, *others = (x.grad for x in tensors)
            inverse = np.argsort(p)
            found.append([o.data, lse.data, dq, *(x[:, :, inverse] for x in others)])
    for first, other in zip(found[:4], found[4:]):
        same(other, first)


@both
@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_depends_on_distances_only(backend, path, interleaved):
    q, k, v, g = draw((2, 70, 6), (2, 70, 6), (2, 70, 3), (2, 70, 3))
    found = []
    for shift in 0, 11, -300:
        positions, leaves = np.arange(70) + shift, [Tensor(x, True) for x in (q, k, v)]
        rotated = (A.rope(x, positions, interleaved=interleaved) for x in leaves[:2])
        o = path(*rotated, leaves[2], is_causal=True)
        o.backward(g)
        found.append([o.data, *(x.grad for x in leaves)])
    for other in found[1:]:
        same(other, found[0])
    plain = path(q, k, v, is_causal=True).data
    assert np.abs(found[0][0] - plain).max() > 0.1


@both
def test_contexts_are_averages(backend):
    """Weights are not negative and sum to 1."""
    for name, variant in VARIANTS.items():
        if name.startswith(("heads", "one key", "local-p", "linear", "Luong's", "Bah")):
            continue  # a projection, a Gaussian, an eps, or a state as well
        if name == "Shaw's values":
            continue  # a table is added to the values
        q, k, v = draw((2, 9, D), (2, 9, D), (2, 9, D))
        o = variant.run(variant.module(), *map(Tensor, (q, k, v))).data
        if name != "dense groups" and name != "tiled groups":
            assert (o <= v.max(1, keepdims=True)).all(), name
            assert (o >= v.min(1, keepdims=True)).all(), name
        ones = variant.run(variant.module(), *map(Tensor, (q, k, np.ones_like(v))))
        same([ones.data], [np.ones(o.shape)])


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
        lambda *x: A.attend(*x)[0],
        A.AdditiveAttention(4, 4, 3, rng=np.random.default_rng(0)),
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


@across(PADDED)
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


@across(PADDED)
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
    outside = ~variant.pairs(B, n, n)[0][:, at]
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
