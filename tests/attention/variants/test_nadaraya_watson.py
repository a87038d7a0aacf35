"""Kernel regression: its definition, the four kernels, gradients at kinks."""

import warnings

import numpy as np
import pytest

from attention import definitions
from attention.variants.nadaraya_watson import KERNELS, nadaraya_watson
from minigrad import Tensor

from ...minigrad.array_cases import draw

B, L, S, D, Ev = 2, 3, 5, 4, 6
h = 2.7  # some keys are in reach of a query, and some are not
close = dict(rtol=1e-11, atol=1e-12)  # the same sums of order one, in another order
SMOOTH = ["gaussian", "triangular", "epanechnikov"]  # except at kinks


def test_the_gaussian_has_every_key_in_reach():
    """exp(-u^2 / 2) itself is 0 for all of these keys."""
    q, k, v = np.array([[0.0]]), np.array([[1000.0], [1001.0]]), np.array([[3.0], [5]])
    f, w = nadaraya_watson(q, k, v)
    np.testing.assert_array_equal(w.data, [[1, 0]])
    np.testing.assert_array_equal(f.data, [[3]])
    _, w = nadaraya_watson(q, k, v, "epanechnikov")
    np.testing.assert_array_equal(w.data, [[0, 0]])


def test_a_key_at_the_edge_is_in_the_boxcar_in_every_dtype():
    for dtype in np.float32, np.float64:
        for width in (0.1, 0.3, 0.7, 1e-15, 1e15, 3):
            q, k = np.zeros((1, 1), dtype), np.array([[width]], dtype)
            _, w = nadaraya_watson(q, k, k, "boxcar", width)
            assert w.data == 1
            _, w = nadaraya_watson(q, k * dtype(1.001), k, "boxcar", width)
            assert w.data == 0


def test_a_float_mask_is_a_factor():
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))
    for kernel in KERNELS:
        _, w = nadaraya_watson(q, k, v, kernel, h)
        factor = np.array([1, 2, 0.5, 3, 0])
        with np.errstate(divide="ignore"):
            _, found = nadaraya_watson(q, k, v, kernel, h, mask=np.log(factor))
        wanted = w.data * factor
        total = wanted.sum(-1, keepdims=True)
        wanted = wanted / np.where(total == 0, 1, total)
        np.testing.assert_allclose(found.data, wanted, **close)


# gradients


@pytest.mark.parametrize("kernel", SMOOTH)
def test_the_gradient_where_query_and_key_are_equal_is_0(kernel):
    """The mean of the slopes on both sides, without NaN from sqrt or a warning."""
    q, v = np.zeros((1, 2)), np.array([[1.0], [0.0], [0.0]])
    k = np.array([[0.0, 0.0], [0.5, 0.0], [-0.5, 0.0]])  # the same on both sides of q
    leaves = [Tensor(a, requires_grad=True) for a in (q, k, v, np.array(2.0))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate, w = nadaraya_watson(*leaves[:3], kernel, leaves[3])
        estimate.backward(np.ones((1, 1)))
    K = definitions.KERNELS[kernel](np.array([0, 0.25, 0.25]))
    np.testing.assert_allclose(w.data, [K / K.sum()], rtol=1e-12)
    np.testing.assert_allclose(leaves[0].grad, 0, atol=1e-15)
    np.testing.assert_array_equal(leaves[1].grad[0], 0)
    assert (leaves[1].grad[1:, 0] != 0).all()


@pytest.mark.parametrize("kernel", ["triangular", "epanechnikov"])
def test_the_gradient_at_u_1_is_0(kernel):
    """K = 0 there: the result is the same without the key."""
    q, v = np.zeros((1, 2)), np.array([[1.0], [5.0], [3.0]])
    k = np.array([[0.5, 0.5], [0.0, 2.0], [-1.5, 0.0]])  # the second one at u = 1

    def run(some):
        arrays = q, k[some], v[some], np.array(2.0)
        leaves = [Tensor(a, requires_grad=True) for a in arrays]
        estimate, _ = nadaraya_watson(*leaves[:3], kernel, leaves[3])
        estimate.backward(np.ones((1, 1)))
        return estimate.data, [leaf.grad for leaf in leaves]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (f, (dq, dk, dv, dh)), (without, rest) = run([0, 1, 2]), run([0, 2])
    np.testing.assert_array_equal(dk[1], 0)
    np.testing.assert_array_equal(dv[1], 0)
    np.testing.assert_allclose(f, without, **close)
    for a, b in zip((dq, dk[[0, 2]], dv[[0, 2]], dh), rest):
        np.testing.assert_allclose(a, b, **close)
