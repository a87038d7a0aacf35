"""Kernel regression with nobody in reach, NaN, padding, no batch, and its messages."""

import warnings

import numpy as np
import pytest

from attention.variants.nadaraya_watson import KERNELS, nadaraya_watson
from minigrad import Tensor

from .kernel_regression_cases import (
    COMPACT,
    B,
    D,
    Ev,
    L,
    S,
    by_loops,
    close,
    draw,
    example,
    h,
)

# nobody in reach; what is not finite


@pytest.mark.parametrize("kernel", COMPACT)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_query_with_no_key_in_reach(kernel, dtype):
    q, k, v = example(dtype=dtype)
    q[0, 1] += 100
    leaves = [Tensor(a, requires_grad=True) for a in (q, k, v, np.array(h))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate, w = nadaraya_watson(*leaves[:3], kernel, leaves[3])
        (estimate[0, 1] * 3).sum().backward()
    assert (w.data[0, 1] == 0).all() and (estimate.data[0, 1] == 0).all()
    assert (w.data[0, 0] != 0).any()
    for leaf in leaves:
        assert leaf.grad is None or (leaf.grad == 0).all()
    assert (leaves[2].grad == 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("filling", [7.0, np.nan, np.inf])
def test_padding_has_no_influence_and_may_be_nan(kernel, filling):
    q, k, v = example()

    def run(k, v):
        leaves = [Tensor(a, requires_grad=True) for a in (q, k, v, np.array(h))]
        estimate, _ = nadaraya_watson(*leaves[:3], kernel, leaves[3], valid_lens=[2, 5])
        estimate.backward(draw(estimate.shape, seed=9)[0])
        grads = [x.grad for x in leaves if x.grad is not None]
        return [estimate.data, *grads]

    other_k, other_v = k.copy(), v.copy()
    other_k[0, 2:] = other_v[0, 2:] = filling
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a, b in zip(run(k, v), run(other_k, other_v), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kernel", KERNELS)
def test_nan_gives_nan_to_those_that_see_it(kernel):
    """A point of NaN is nowhere, which is not the same as out of reach."""
    q, k, v = example()
    q[0, 1], k[1, 2] = np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate, _ = nadaraya_watson(q, k, v, kernel, h)
    expected = np.zeros((B, L), bool)
    expected[0, 1] = expected[1] = True
    np.testing.assert_array_equal(np.isnan(estimate.data).all(-1), expected)
    np.testing.assert_array_equal(np.isnan(estimate.data).any(-1), expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_stays_float32(kernel):
    q, k, v = example(dtype=np.float32)
    f, w = by_loops(kernel, q, k, v, h)
    widths = h, np.float64(h), np.full((B, 1, 1), h), Tensor(np.array(h), True)
    for width in widths:
        leaf = Tensor(q, requires_grad=True)
        estimate, weights = nadaraya_watson(leaf, k, Tensor(v, True), kernel, width)
        assert estimate.dtype == weights.dtype == np.float32
        np.testing.assert_allclose(weights.data, w, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(estimate.data, f, rtol=1e-4, atol=1e-5)
        estimate.backward(np.ones(estimate.shape))
        assert leaf.grad is None or leaf.grad.dtype == np.float32


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(0, L, S), (B, 0, S), (B, L, 0), (B, 1, 1), (1, 7)])
def test_nothing_and_a_single_key_and_no_batch(kernel, shape):
    *b, n, m = shape
    q, k, v = draw((*b, n, D), (*b, m, D), (*b, m, Ev))
    estimate, weights = nadaraya_watson(q, k, v, kernel, 1e3)
    f, w = by_loops(kernel, q, k, v, 1e3)
    assert estimate.shape == (*b, n, Ev) and weights.shape == shape
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(estimate.data, f, **close)


points = np.zeros((3, 4)), np.zeros((5, 4)), np.zeros((5, 2))
BAD = [
    (
        (*points, "epanechikov"),
        ValueError,
        "nadaraya_watson: kernel is 'epanechikov'; expected 'gaussian', 'boxcar', "
        "'triangular', 'epanechnikov'.",
    ),
    (
        (*points, np.ones(3)),
        ValueError,
        "nadaraya_watson: kernel is array([1., 1., 1.]); expected 'gaussian', "
        "'boxcar', 'triangular', 'epanechnikov'.",
    ),
    (
        (*points, "boxcar", 0.0),
        ValueError,
        "nadaraya_watson: bandwidth is 0.0; expected a positive number, from 1e-15 to "
        "1e15.",
    ),
    (
        (*points, "triangular", np.ones(4)),
        ValueError,
        "nadaraya_watson: bandwidth has shape (4,); expected one that broadcasts to "
        "the scores, (3, 5).",
    ),
    (
        (*points, "epanechnikov", "wide"),
        TypeError,
        "nadaraya_watson: bandwidth is 'wide'; expected a positive number, or an array "
        "of them.",
    ),
    (
        (np.zeros((3, 2)), *points[1:], "boxcar"),
        ValueError,
        "squared_distance: queries have shape (3, 2) and keys (5, 4); expected "
        "(…, L, D) and (…, S, D), points of one space. Numbers x on a line are "
        "x[:, None].",
    ),
]


@pytest.mark.parametrize("arguments, kind, message", BAD)
def test_messages(arguments, kind, message):
    with pytest.raises(kind) as error:
        nadaraya_watson(*arguments)
    assert str(error.value) == message
