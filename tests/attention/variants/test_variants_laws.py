"""Each public variant beside a plain program of it, and the laws that all obey."""

import numpy as np
import pytest

import attention as A
from attention.exact.sdpa import dense_attention, tiled_attention
from minigrad import Tensor

from .variant_cases import VARIANTS, D, across, run_steps, running

every_variant = across()
both = pytest.mark.parametrize("backend", ["numba", "numpy"], indirect=True)


@pytest.fixture
def backend(request):
    with running(request.param):
        yield request.param


def draw(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


def results(function, module, arrays, *how, g=None):
    """Output; gradients of q, k, v and of all parameters, for a fixed cotangent."""
    for p in module.parameters():
        p.zero_grad()
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    o = function(module, *leaves, *how)
    o.backward(draw(o.shape, seed=7)[0] if g is None else g)
    grads = (x.grad for x in (*leaves, *module.parameters()))
    return [o.data, *(0.0 if g is None else g for g in grads)]


def same(found, expected, tolerance=1e-12):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@every_variant
def test_it_is_the_plain_program(backend, name):
    """In values and all gradients; odd sizes, L != S, one key, one query."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    n = 70 if name.startswith(("tiled", "dense", "linear", "merge")) else 10
    for L, S in (n, n), (5, 13), (13, 5), (1, 9), (9, 1), (1, 1):
        if name == "linear causal" and L != S:
            continue  # refused: test_linear_messages.py
        if "Longformer" in name and max(L, S) < 3:
            continue  # there is no such token
        allowed = variant.pairs(2, L, S)
        empty = ~allowed.any((0, 2))  # NaN in a plain program
        arrays = draw((2, L, D), (2, S, D), (2, S, D))
        found = results(variant.run, module, arrays)
        if not empty.any():
            same(found, results(variant.plain, module, arrays, allowed))
        assert not found[1][:, empty].any() and np.isfinite(found[1]).all()


@every_variant
def test_keys_have_no_order_unless_they_stand_somewhere(backend, name):
    """Values and their gradients move with the keys; nothing else changes."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    q, k, v = draw((2, 21, D), (2, 21, D), (2, 21, D))
    order = np.random.default_rng(1).permutation(21)
    o, dq, dk, dv, *others = results(variant.run, module, (q, k, v))
    moved = results(variant.run, module, (q, k[:, order], v[:, order]))
    if not variant.ordered:
        same(moved, [o, dq, dk[:, order], dv[:, order], *others])
    else:
        assert np.abs(moved[0] - o).max() > 1e-3
    apart = variant.run(module, *map(Tensor, (q, k[:, order], v))).data
    assert np.abs(apart - o).max() > 1e-3  # keys without their values


@both
@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
def test_masks_and_biases_move_with_the_keys(backend, path):
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
    for straight, moved in zip(found[:4], found[4:]):
        same(moved, straight)


@both
@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
@pytest.mark.parametrize("interleaved", [False, True])
def test_a_common_shift_changes_no_attention_with_rope(backend, path, interleaved):
    q, k, v, g = draw((2, 70, 6), (2, 70, 6), (2, 70, 3), (2, 70, 3))
    found = []
    for shift in 0, 11, -300:
        positions, leaves = np.arange(70) + shift, [Tensor(x, True) for x in (q, k, v)]
        turned = (A.rope(x, positions, interleaved=interleaved) for x in leaves[:2])
        o = path(*turned, leaves[2], is_causal=True)
        o.backward(g)
        found.append([o.data, *(x.grad for x in leaves)])
    for other in found[1:]:
        same(other, found[0])
    straight = path(q, k, v, is_causal=True).data
    assert np.abs(found[0][0] - straight).max() > 0.1


@both
def test_attention_is_between_its_values(backend):
    """Weights are not negative, and sum to 1: a constant is averaged to itself."""
    for name, variant in VARIANTS.items():
        if name.startswith(("heads", "one key", "local-p", "linear", "Luong's", "Bah")):
            continue  # a projection, a Gaussian, an eps, or a state beside it
        if name == "Shaw's values":
            continue  # values and distances are averaged together
        q, k, v = draw((2, 9, D), (2, 9, D), (2, 9, D))
        o = variant.run(variant.module(), *map(Tensor, (q, k, v))).data
        if name != "dense groups" and name != "tiled groups":
            assert (o <= v.max(1, keepdims=True)).all(), name
            assert (o >= v.min(1, keepdims=True)).all(), name
        ones = variant.run(variant.module(), *map(Tensor, (q, k, np.ones_like(v))))
        same([ones.data], [np.ones(o.shape)])


@every_variant
def test_nothing_at_all(backend, name):
    """No examples, no queries, no keys: zeros of the right shape, and no warning."""
    variant, module = VARIANTS[name], VARIANTS[name].module()
    for B, L, S in (0, 5, 5), (2, 0, 0), (2, 0, 7), (2, 5, 0):
        if variant.run is run_steps and not L:
            continue  # a loop of no steps, which is the caller's
        if name == "linear causal" and L != S:
            continue  # refused: test_linear_messages.py
        if "Longformer" in name and max(L, S) < 3:
            continue  # there is no such token
        arrays = draw((B, L, D), (B, S, D), (B, S, D))
        o, *gradients = results(variant.run, module, arrays)
        assert o.shape[:2] == (B, L) and np.isfinite(o).all()
        for d, a in zip(gradients, arrays):
            assert np.shape(d) in ((), a.shape)
        assert all(np.isfinite(d).all() for d in gradients)
        if S == 0 and not name.startswith(("heads", "one key", "Luong's", "Bahdanau")):
            assert not o.any() and not np.any(gradients[0])
