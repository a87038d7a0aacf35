"""Scores of 1e4 and -1e4 equal a plain program in every variant."""

import warnings

import numpy as np
import pytest

from minigrad import Tensor

from .variant_cases import VARIANTS, D, across, running

every_variant = across()
B, L = 2, 9
IGNORE = {"all": "ignore"}


@pytest.fixture
def backend(request):
    with running(request.param):
        yield request.param


def results(variant, module, arrays, plain=False):
    """o, dq, dk, dv and the gradients of parameters; no warning unless plain."""
    for p in module.parameters():
        p.zero_grad()
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    with warnings.catch_warnings(), np.errstate(**IGNORE if plain else {}):
        warnings.simplefilter("error")
        if plain:
            o = variant.plain(module, *leaves, variant.pairs(B, L, L))
        else:
            o = variant.run(module, *leaves)
        g = np.random.default_rng(5).standard_normal(o.shape).astype(o.dtype)
        o.backward(g)
    return [o.data, *(x.grad for x in (*leaves, *module.parameters()))]


def example(name, dtype=float):
    variant, rng = VARIANTS[name], np.random.default_rng(0)
    arrays = [rng.standard_normal((B, L, D)).astype(dtype) for _ in range(3)]
    return variant, variant.module(dtype), arrays


def steepen(module, arrays):
    """Scores of some 1e4, of both signs."""
    arrays[0] *= 50
    arrays[1] *= 50
    for name, p in module.named_parameters():
        if name.split(".")[-1] in ("w_v", "v_a"):
            p.data = p.data * 5000


@every_variant
def test_large_scores(backend, name):
    variant, module, arrays = example(name)
    steepen(module, arrays)
    found = results(variant, module, arrays)
    expected = results(variant, module, arrays, plain=True)
    for x, y in zip(found, expected, strict=True):
        atol = 1e-10 * max(np.abs(y).max(), 1)
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=atol)


@every_variant
def test_large_scores_in_float32(backend, name):
    variant, module, arrays = example(name, np.float32)
    steepen(module, arrays)
    o, *gradients = results(variant, module, arrays)
    assert o.dtype == np.float32
    assert all(np.isfinite(x).all() for x in (o, *gradients))
    exact = variant.module()
    steepen(exact, example(name)[2])
    arrays = [x.astype(float) for x in arrays]
    (expected, *_), (plain, *_) = (
        results(variant, m, [a.astype(d) for a in arrays], plain=True)
        for m, d in ((exact, float), (module, np.float32))
    )
    # a score of 1e4 is rounded by up to 1e-3, a few times over; so are the weights
    bound = 2 * np.abs(plain - expected).max() + 1e4 * 16 * np.finfo(np.float32).eps
    assert np.abs(o - expected).max() <= bound
