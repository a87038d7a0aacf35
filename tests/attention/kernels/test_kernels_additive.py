"""The additive score: one exponential a row, NaN, infinity, and tiles."""

import warnings

import numpy as np
import pytest

from attention import kernels
from attention.kernels import additive, additive_product

from .kernel_cases import (
    FLOATS,
    TANH_ERROR,
    additive_example,
    additive_results,
    close,
)


def exact_results(q, k, w, g):
    """e, dq, dk, dw in float64 and NumPy, whose definition is in tests/ops."""
    with kernels.backend("numpy"), np.errstate(invalid="ignore"):
        return additive_results(*(x.astype(float) for x in (q, k, w, g)))


def test_additive_by_one_exponential_a_row():
    """In float32, of numbers within LIMIT, where there are pairs enough."""
    pytest.importorskip("numba")
    limit = float(additive_product.LIMIT)
    with kernels.backend("numba"):
        for size, dtype, largest, applies in [
            ((2, 8, 8, 5), np.float32, limit, True),
            ((2, 8, 8, 5), np.float32, limit + 1e-3, False),
            ((2, 8, 8, 5), np.float32, np.nan, False),
            ((2, 8, 8, 5), np.float64, limit, False),
            ((2, 1, 60, 5), np.float32, limit, False),
        ]:
            for which in (0, 1):
                arrays = additive_example(*size, dtype)
                arrays[which][1, -1, 3] = largest
                assert (additive_product.forward(*arrays[:3]) is not None) == applies
                exact = exact_results(*arrays)
                for got, wanted in zip(additive_results(*arrays), exact):
                    close(got, wanted, dtype)


def test_additive_products_of_large_and_small_weights():
    """Both ends of every exponential, and weights of any size beside them."""
    pytest.importorskip("numba")
    q, k, w, g = additive_example(2, 12, 9, 6, np.float32)
    q, k = 9 * np.sign(q), 9 * np.sign(k)
    for size in (1e-30, 1e30):
        arrays = q, k, w * np.float32(size), g
        with kernels.backend("numba"):
            assert additive_product.forward(*arrays[:3]) is not None
            got = additive_results(*arrays)
        for value, wanted in zip(got, exact_results(*arrays)):
            largest = np.abs(wanted).max()
            np.testing.assert_allclose(value, wanted, rtol=0, atol=3e-6 * largest)


@pytest.mark.parametrize("size", [(2, 8, 8, 4), (2, 2, 8, 4)], ids=str)
def test_additive_of_infinite_weights_and_gradients(size):
    """Numba gives what NumPy gives, by one exponential a row or a tanh a pair."""
    pytest.importorskip("numba")
    for which in (2, 3):
        arrays = additive_example(*size, np.float32)
        arrays[which].reshape(-1)[0] = np.inf
        exact = exact_results(*arrays)
        with np.errstate(invalid="ignore"), kernels.backend("numba"):
            got = additive_results(*arrays)
        for value, wanted in zip(got, exact):
            close(value, wanted, np.float32)
            np.testing.assert_array_equal(np.isnan(value), np.isnan(wanted))


def test_additive_of_opposite_queries_and_keys():
    """By one exponential a row: a tanh is wrong by 4e-7, however small it is."""
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    q = rng.uniform(-9, 9, (1, 40, 1)).astype(np.float32)
    shift = 10.0 ** rng.uniform(-7, 0, (1, 40, 1))
    k, w = (shift - q).clip(-9, 9).astype(np.float32), np.ones(1, np.float32)
    with kernels.backend("numba"):
        e = additive_product.forward(q, k, w)
    exact = np.tanh(q.astype(float) + k.astype(float).swapaxes(1, 2))
    assert np.abs(e - exact).max() < TANH_ERROR


def test_additive_in_tiles(monkeypatch):
    """The NumPy form gives the same with tiles of any size."""
    arrays = additive_example(3, 5, 7, 4, float)
    exact = exact_results(*arrays)
    for tile in (1, 28, 150):
        monkeypatch.setattr(additive, "TILE", tile)
        with kernels.backend("numpy"):
            for got, wanted in zip(additive_results(*arrays), exact):
                close(got, wanted, float)


@pytest.mark.parametrize("dtype", FLOATS)
def test_additive_of_nan_and_infinity(backend, dtype):
    q, k, w, g = additive_example(2, 3, 5, 19, dtype)
    q[0, 0, 3], q[1, 2, :2] = np.inf, np.nan
    k[0, 4, 3], k[0, 1, 3], k[1, 0] = -np.inf, np.inf, 1e30
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = exact_results(q, k, w, g)
        got = additive_results(q, k, w, g)
    assert np.isnan(got[0][0, 0, 4]), "inf - inf"
    assert np.isfinite(got[0][0, 0, 1]), "tanh(inf) is 1"
    for value, wanted in zip(got, exact):
        np.testing.assert_array_equal(np.isnan(value), np.isnan(wanted))
        close(value, wanted, dtype)
