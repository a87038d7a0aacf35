"""The distribution function behind gelu: against math.erfc; its table derived anew."""

import math
from decimal import Decimal

import numpy as np
import pytest

from minigrad.ops import normal
from minigrad.ops.normal import normal_cdf

GRID = np.linspace(-8, 8, 20_001)


def exact(x):
    """Phi(x) by math.erfc, one number at a time."""
    return np.array([exact_number(v) for v in x.tolist()])


def exact_number(x):
    """erfc(-x / sqrt(2)) / 2, with a step along its slope for the rounding of z.

    Half an ulp of z is 2 z^2 = x^2 half ulps of erfc: 64 at the ends of the grid.
    """
    z = -x * math.sqrt(0.5)
    lost = float(-Decimal(x) * Decimal(0.5).sqrt() - Decimal(z))
    return 0.5 * math.erfc(z) - math.exp(-z * z) / math.sqrt(math.pi) * lost


@pytest.mark.parametrize(
    "dtype, absolute, relative", [(np.float64, 3e-16, 3e-15), (np.float32, 2e-7, 2e-6)]
)
def test_largest_error_is_the_documented_one(dtype, absolute, relative):
    # relative: exp(-x^2 / 2) alone has x^2 / 2 = 32 times half an ulp at |x| = 8
    x = GRID.astype(dtype)
    y, wanted = normal_cdf(x), exact(x)
    assert y.dtype == dtype
    error = np.abs(y - wanted)
    assert error.max() < absolute
    assert (error / wanted).max() < relative


def test_far_out_and_special_values():
    for dtype in (np.float32, np.float64):
        x = np.array([-np.inf, -1e30, -1e4, -0.0, 0.0, 1e4, 1e30, np.inf], dtype)
        with np.errstate(all="raise", under="ignore"):
            y = normal_cdf(x)
        assert y[[0, 1, 2, 5, 6, 7]].tolist() == [0, 0, 0, 1, 1, 1]
        np.testing.assert_allclose(y[3:5], 0.5, rtol=np.finfo(dtype).eps)
        assert np.isnan(normal_cdf(np.array(np.nan, dtype)))


@pytest.mark.parametrize(
    "n", [0, 1, normal.BLOCK + 1, pytest.param(normal.BLOCK, marks=pytest.mark.deep)]
)
def test_blocks_leave_no_seam(n):
    x = np.random.default_rng(n).normal(size=(2, n)).astype(np.float64)[:, ::-1]
    wanted = exact(x.ravel()).reshape(x.shape)
    np.testing.assert_allclose(normal_cdf(x), wanted, atol=4e-16, rtol=0)
