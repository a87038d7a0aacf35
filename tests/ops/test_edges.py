"""Edges: extremes, ties, corners, NaN, padding, chance, dtypes that change."""

import math
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.registry import OPS

inf, ln2 = math.inf, math.log(2)


def value_and_gradient(op, x, g=None, dtype=np.float64, **options):
    """y and dL/dx, with every warning and every floating-point flag an error."""
    t = Tensor(np.asarray(x, dtype), requires_grad=True)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        y = op(t, **options)
        y.backward(np.ones(y.shape) if g is None else np.asarray(g))
    assert y.dtype == t.grad.dtype == dtype
    return y.data, t.grad


def equal(found, expected, dtype):
    """To the last few digits; infinities and zeros exactly."""
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=0)


POINTS = [-inf, -1e4, -1e3, 1e3, 1e4, inf]
SATURATED = {
    "tanh": ([-1, -1, -1, 1, 1, 1], [0, 0, 0, 0, 0, 0]),
    "sigmoid": ([0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0]),
    "softplus": ([0, 0, 0, 1e3, 1e4, inf], [0, 0, 0, 1, 1, 1]),
    "relu": ([0, 0, 0, 1e3, 1e4, inf], [0, 0, 0, 1, 1, 1]),
    "elu": ([-1, -1, -1, 1e3, 1e4, inf], [0, 0, 0, 1, 1, 1]),
}
both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@both_precisions
@pytest.mark.parametrize("name", SATURATED)
def test_saturated(name, dtype):
    y, slope = value_and_gradient(OPS[name], POINTS, dtype=dtype)
    equal(y, SATURATED[name][0], dtype)
    equal(slope, SATURATED[name][1], dtype)


@both_precisions
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_saturated_gelu(approximate, dtype):
    y, slope = value_and_gradient(
        mg.gelu, POINTS[1:-1], dtype=dtype, approximate=approximate
    )
    equal(y, [0, 0, 1e3, 1e4], dtype)
    equal(slope, [0, 0, 1, 1], dtype)


ROWS = np.array([[1e4, 0, -1e4], [-inf, 0, ln2], [1e4, 1e4, -1e4]])
P = np.array([[1, 0, 0], [0, 1 / 3, 2 / 3], [0.5, 0.5, 0]])
LSE = np.array([1e4, math.log(3), 1e4 + ln2])
G = np.array([[0.5, -2, 3], [1, -3, 0.25], [-1, 2, 0.125]])


@both_precisions
def test_extreme_rows(dtype):
    options = {"axis": -1, "dtype": dtype}
    total = G.sum(1, keepdims=True)

    y, dx = value_and_gradient(mg.softmax, ROWS, G, **options)
    equal(y, P, dtype)
    equal(dx, P * (G - (G * P).sum(1, keepdims=True)), dtype)

    y, dx = value_and_gradient(mg.log_softmax, ROWS, G, **options)
    equal(
        y,
        [[0, -1e4, -2e4], *(ROWS - LSE[:, None])[1:2], [-ln2, -ln2, -2e4 - ln2]],
        dtype,
    )
    equal(dx, G - P * total, dtype)

    y, dx = value_and_gradient(mg.logsumexp, ROWS, G[0], **options)
    equal(y, LSE, dtype)
    equal(dx, P * G[0][:, None], dtype)


@both_precisions
def test_extreme_cross_entropy(dtype):
    y, dx = value_and_gradient(
        lambda z: mg.cross_entropy(z, np.array([1, 2, 0]), reduction="none"),
        ROWS,
        G[0],
        dtype,
    )
    equal(y, [1e4, math.log(1.5), ln2], dtype)
    equal(dx, (P - np.eye(3)[[1, 2, 0]]) * G[0][:, None], dtype)


def test_dropout_keeps_a_fraction_and_scales_it():
    x, p, n = np.full(100_000, 3.0), 0.3, 100_000
    y, dx = value_and_gradient(
        lambda x: mg.dropout(x, p, True, np.random.default_rng(5)), x
    )
    kept = y != 0
    np.testing.assert_allclose(y[kept], 3 / 0.7, rtol=1e-15)
    np.testing.assert_allclose(dx, kept / 0.7, rtol=1e-15)
    deviation = math.sqrt(n * p * (1 - p))  # of the number kept; five of them: 6e-7
    assert abs(kept.sum() - n * (1 - p)) < 5 * deviation


def test_dropout_of_everything():
    y, dx = value_and_gradient(lambda x: mg.dropout(x, 1.0), [1.0, 2.0])
    assert not y.any() and not dx.any()


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.int64(2), True])
@pytest.mark.parametrize("op", [mg.add, mg.sub, mg.mul, mg.div, mg.pow, mg.maximum])
def test_numbers_never_change_the_precision(op, number):
    x = Tensor(np.float32([1, 2]), requires_grad=True)
    for y in (op(x, number), op(number, x)):
        assert y.dtype == np.float32
        y.backward(np.ones(2))
        assert x.grad.dtype == np.float32
