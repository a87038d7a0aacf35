"""float32: at most twice the error of a plain float32 program, thrice in gradients."""

import numpy as np
import pytest

from .variant_cases import VARIANTS, D, across, results, running

pytestmark = pytest.mark.deep
B = 2


@pytest.fixture
def backend(request):
    with running(request.param):
        yield request.param


def errors(variant, n, seed, size):
    """Return the largest errors of the variant and of the plain program."""
    rng, single = np.random.default_rng(seed), variant.module(np.float32, seed)
    exact = variant.module(np.float64, seed)
    for p, x in zip(exact.parameters(), single.parameters()):
        p.data = x.data.astype(float)
    arrays = [rng.standard_normal((B, n, D)).astype(np.float32) for _ in range(3)]
    arrays[0] *= np.float32(size)
    allowed = variant.pairs(B, n, n)
    wide = [a.astype(float) for a in arrays]
    expected = results(variant.plain, exact, wide, allowed)
    ours = results(variant.run, single, arrays)
    plain = results(variant.plain, single, arrays, allowed)
    assert all(x.dtype == np.float32 for x in ours)
    return [
        [np.abs(x - y).max() for x, y in zip(found, expected, strict=True)]
        for found in (ours, plain)
    ]


@across()
def test_float32_is_as_exact_as_a_plain_program(backend, name, size=3):
    """On average over some draws, because the largest error of one varies."""
    variant = VARIANTS[name]
    tiles = name.startswith(("tiled", "dense", "merge", "linear"))
    n, count = (140, 4) if tiles else (8, 40)
    draws = [errors(variant, n, seed, size) for seed in range(count)]
    ours, plain = np.mean(draws, axis=0)
    # a gradient that is 0, such as that of a shift of all scores, is rounding
    rounding = np.finfo(np.float32).eps
    for i, (error, bound) in enumerate(zip(ours, plain)):
        assert error <= (3 if i else 2) * max(bound, rounding), i
