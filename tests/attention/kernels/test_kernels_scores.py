"""The additive score, softmax, exp and tanh: NaN, infinity, masks, precision."""

import warnings

import numpy as np
import pytest

from attention import definitions, kernels, scores
from attention.kernels import additive_product
from attention.kernels.compiling import kernel, reads, writes
from attention.kernels.elementary import exp, tanh
from attention.softmax import softmax_over_allowed

from .kernel_cases import (
    FLOATS,
    additive_example,
    additive_results,
    close,
)

# -- the additive score ----------------------------------------------------------------


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


def test_additive_in_tiles(monkeypatch):
    """The NumPy form gives the same with tiles of any size."""
    arrays = additive_example(3, 5, 7, 4, float)
    exact = exact_results(*arrays)
    for tile in (1, 28, 150):
        monkeypatch.setattr(scores, "TILE", tile)
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


# -- softmax ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_nan_and_infinity(dtype):
    inf, nan = np.inf, np.nan
    x = np.array([
        [nan, 1, 2],
        [inf, 1, 2],
        [-inf, 1, 2],
        [1e4, -1e4, 0],
        [-1e4, -1e4, -1e4],
        [inf, nan, 1e4],
        [nan, nan, nan],
        [-inf, -inf, -inf],
    ], dtype)  # fmt: skip
    p, _ = softmax_over_allowed.raw(x)
    assert np.isnan(p[[0, 5, 6]]).all(), "NaN belongs to the sum"
    assert np.isnan(p[1, 0]) and not p[1, 1:].any(), "exp(2) / inf is 0"
    close(p[2], definitions.softmax(x[2].astype(float), np.ones(3, bool)), dtype)
    np.testing.assert_array_equal(p[3], [1, 0, 0])
    np.testing.assert_allclose(p[4], 1 / 3, rtol=1e-6)
    assert not p[7].any(), "nothing but exp(-inf)"


# -- exp and tanh ----------------------------------------------------------------------


# Relative errors of the polynomials: a little more than 2 units in the last place in
# tanh, 1 in exp.


@kernel
def exp_loop(start: int, stop: int, x: reads(1), y: writes(1)):
    for i in range(start, stop):
        y[i] = exp(x[i])


@kernel
def tanh_loop(start: int, stop: int, x: reads(1), y: writes(1)):
    for i in range(start, stop):
        y[i] = tanh(x[i])


def in_a_loop(loop, x):
    pytest.importorskip("numba")
    y = np.empty_like(x)
    with kernels.backend("numba"):
        loop.version(x.dtype)(0, len(x), x, y)
    return y


@pytest.mark.parametrize("dtype, bound", [(np.float32, 3e-7), (np.float64, 5e-16)])
def test_tanh_over_all_magnitudes(dtype, bound):
    x = np.concatenate([np.linspace(0, 25, 40_001), 10.0 ** np.linspace(-30, 0, 999)])
    x = np.concatenate([x, -x]).astype(dtype)
    t = in_a_loop(tanh_loop, x)
    exact = np.tanh(x.astype(np.longdouble))
    np.testing.assert_array_less(np.abs(t - exact), bound * np.abs(exact) + 1e-300)
    assert np.abs(t).max() == 1


@pytest.mark.parametrize("dtype, bound", [(np.float32, 2e-7), (np.float64, 3e-16)])
def test_exp_over_all_magnitudes(dtype, bound):
    x = np.concatenate([np.linspace(-86, 86, 40_001), 10.0 ** np.linspace(-9, 0, 999)])
    x = np.concatenate([x, -x[-999:]]).astype(dtype)
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(in_a_loop(exp_loop, x) / exact - 1).max() < bound
    least = np.array([-800, -np.inf], dtype)
    assert in_a_loop(exp_loop, least).tolist() == [0, 0]
