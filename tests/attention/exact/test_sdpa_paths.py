"""Exact attention by its definition, by the whole matrix, and tile by tile."""

import math
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention.exact.sdpa import (
    dense_attention,
    scaled_dot_product_attention,
    tiled_attention,
)
from attention.kernels import backend
from attention.masks import bigbird, causal, padding, sliding_window

B, H, L, S, E, EV = 2, 3, 71, 83, 5, 7  # a whole tile of queries and a ragged one

CASES = {
    "everything": {},
    "causal": {"is_causal": True},
    "causal, lower right": {"is_causal": True, "causal_align": "lower_right"},
    "window": {"window_size": (9, 3)},
    "causal window": {"is_causal": True, "window_size": (6, -1)},
    "padding, one example empty": {"mask_mod": padding([17, 0])},
    "bigbird": {"mask_mod": bigbird(8, 3, 1, 1, seed=0)},
    "both": {"mask_mod": causal & sliding_window(5, 0) | padding([3, 80])},
    "scale and softcap": {"scale": 0.7, "softcap": 2.0},
}


def inputs(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    shapes = (B, H, L, E), (B, H, S, E), (B, H, S, EV)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def allowed(options):
    """Who may attend to whom, pair by pair: (B, L, S)."""
    pairs = np.ones((B, L, S), bool)
    offset = S - L if options.get("causal_align") == "lower_right" else 0
    left, right = options.get("window_size", (-1, -1))
    for b, i, j in np.ndindex(B, L, S):
        if options.get("is_causal"):
            pairs[b, i, j] &= j <= i + offset
        if left >= 0:
            pairs[b, i, j] &= j >= i + offset - left
        if right >= 0:
            pairs[b, i, j] &= j <= i + offset + right
    if "mask_mod" in options:
        pairs &= options["mask_mod"].dense(B, H, L, S)[:, 0]
    return pairs


def by_definition(q, k, v, options):
    pairs = allowed(options)
    scale = options.get("scale", 1 / math.sqrt(E))
    o, lse = np.zeros((B, H, L, EV)), np.full((B, H, L), -np.inf)
    for b, h, i in np.ndindex(B, H, L):
        keys = np.flatnonzero(pairs[b, i])
        if not keys.size:
            continue
        s = np.array([scale * float(q[b, h, i] @ k[b, h, j]) for j in keys])
        if "softcap" in options:
            s = options["softcap"] * np.tanh(s / options["softcap"])
        p = np.exp(s - s.max())
        lse[b, h, i] = s.max() + math.log(p.sum())
        o[b, h, i] = (p / p.sum()) @ v[b, h, keys]
    return o, lse


@pytest.mark.parametrize("name", ["numpy", "numba"])
@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
@pytest.mark.parametrize("case", CASES)
def test_value_is_that_of_the_definition(case, path, name):
    q, k, v = inputs()
    o, lse = by_definition(q, k, v, CASES[case])
    with backend(name), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = path(q, k, v, return_lse=True, **CASES[case])
    np.testing.assert_allclose(found[0].data, o, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found[1].data, lse, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["numpy", "numba"])
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_the_two_paths_agree(case, name):
    rng = np.random.default_rng(1)
    g = rng.standard_normal((B, H, L, EV))
    gradients = []
    for path in (dense_attention, tiled_attention):
        tensors = [mg.Tensor(x, requires_grad=True) for x in inputs()]
        with backend(name):
            (path(*tensors, **CASES[case]) * g).sum().backward()
        gradients.append([t.grad for t in tensors])
    for dense, tiled in zip(*gradients):
        np.testing.assert_allclose(tiled, dense, rtol=1e-9, atol=1e-12)
        assert np.abs(dense).max() > 1e-2


def test_gradients_against_finite_differences():
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((1, n, 3)) for n in (4, 5, 5))
    for path in (dense_attention, tiled_attention):
        check = mg.gradcheck(lambda *x: path(*x, is_causal=True), [q, k, v])
        assert check.ok, check.message


@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
def test_what_is_masked_has_no_influence_not_even_a_nan(path):
    q, k, v = inputs()
    clean = path(q, k, v, mask_mod=padding([17, 40])).data
    k[0, :, 17:], v[0, :, 17:] = np.nan, np.nan
    np.testing.assert_array_equal(path(q, k, v, mask_mod=padding([17, 40])).data, clean)


def test_it_equals_the_peer():
    torch = pytest.importorskip("torch")
    q, k, v = inputs(np.float32)
    for causal_ in (False, True):
        want = torch.nn.functional.scaled_dot_product_attention(
            *map(torch.tensor, (q, k, v)), is_causal=causal_
        ).numpy()
        found = scaled_dot_product_attention(q, k, v, is_causal=causal_).data
        # both round in float32, in different orders
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=2e-6)
