"""Kernel regression against its definition, its laws and its gradients."""

import warnings

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.variants.gaussian import gaussian
from attention.variants.nadaraya_watson import KERNELS, nadaraya_watson
from minigrad import Tensor

from .kernel_regression_cases import (
    CALLS,
    COMPACT,
    FORMULA,
    SMOOTH,
    B,
    Ev,
    L,
    S,
    by_loops,
    close,
    draw,
    example,
    h,
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_estimate_is_its_definition(kernel, call):
    arrays, (options, allowed) = example(), CALLS[call]
    estimate, weights = nadaraya_watson(*arrays, kernel, h, **options)
    f, w = by_loops(kernel, *arrays, h, allowed)
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(estimate.data, f, **close)
    np.testing.assert_array_equal(weights.data == 0, w == 0)  # exactly
    if call == "all" and kernel in COMPACT:
        reach = (w > 0).sum(-1)
        assert reach.min() < 2 and reach.max() > 2  # the example shows something


def test_the_kernels_on_a_line():
    """K(u) beside K(1/4) of a second key, for u on both sides of 0 and at the edge."""
    v = np.array([[1.0], [0.0]])
    for kernel, K in FORMULA.items():
        for u in (-1.5, -1, -0.75, -0.5, 0, 0.25, 0.5, 1, 1.0001, 7):
            q, k = np.array([[0.0]]), np.array([[u], [0.25]])
            f, _ = nadaraya_watson(q * 2, k * 2, v, kernel, 2)
            expected = K(u) / (K(u) + K(0.25))
            np.testing.assert_allclose(f.data, [[expected]], rtol=1e-12)


def test_a_bandwidth_for_each_example_and_query():
    arrays = example()
    H = np.random.default_rng(1).uniform(1, 5, (B, L, 1))
    for kernel in KERNELS:
        _, weights = nadaraya_watson(*arrays, kernel, H)
        _, w = by_loops(kernel, *arrays, H)
        np.testing.assert_allclose(weights.data, w, **close)


def test_the_gaussian_is_that_of_attend():
    arrays = example()
    for options, _ in CALLS.values():
        found = nadaraya_watson(*arrays, bandwidth=0.7, **options)
        wanted = attend(*arrays, lambda q, k: gaussian(q, k, 0.7), **options)
        for a, b in zip(found, wanted):
            np.testing.assert_array_equal(a.data, b.data)


def test_the_gaussian_has_every_key_in_reach_however_far():
    """exp(-u^2 / 2) itself is 0 for all of these keys."""
    q, k, v = np.array([[0.0]]), np.array([[1000.0], [1001.0]]), np.array([[3.0], [5]])
    f, w = nadaraya_watson(q, k, v)
    np.testing.assert_array_equal(w.data, [[1, 0]])
    np.testing.assert_array_equal(f.data, [[3]])
    _, w = nadaraya_watson(q, k, v, "epanechnikov")
    np.testing.assert_array_equal(w.data, [[0, 0]])


# laws


def test_the_boxcar_is_the_mean_within_a_window():
    """Attention with equal scores, under a mask by distance."""
    n = 9
    x, v = np.arange(n)[:, None] * 1.0, draw((n, Ev))[0]
    near = abs(x - x.T) <= 2
    found = nadaraya_watson(x, x, v, "boxcar", 2)
    wanted = attend(x * 0, x * 0, v, "dot", mask=near)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a.data, b.data, **close)


def test_a_key_at_the_edge_is_in_the_boxcar_in_every_dtype():
    for dtype in np.float32, np.float64:
        for width in (0.1, 0.3, 0.7, 1e-15, 1e15, 3):
            q, k = np.zeros((1, 1), dtype), np.array([[width]], dtype)
            _, w = nadaraya_watson(q, k, k, "boxcar", width)
            assert w.data == 1
            _, w = nadaraya_watson(q, k * dtype(1.001), k, "boxcar", width)
            assert w.data == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_bandwidth_does(kernel):
    """To infinity: the mean of all values. On the examples themselves, to 0: theirs."""
    q, k, v = example()
    f, _ = nadaraya_watson(q, k, v, kernel, 1e9)
    mean = np.broadcast_to(v.mean(1, keepdims=True), f.shape)
    np.testing.assert_allclose(f.data, mean, rtol=1e-8, atol=1e-8)
    f, w = nadaraya_watson(k, k, v, kernel, 1e-3)
    np.testing.assert_array_equal(w.data, np.broadcast_to(np.eye(S), w.shape))
    np.testing.assert_array_equal(f.data, v)


@pytest.mark.parametrize("kernel", KERNELS)
def test_only_differences_count(kernel):
    """Moved by c, or stretched with h by a factor: the same; the sign means nothing."""
    q, k, v = example()
    _, w = nadaraya_watson(q, k, v, kernel, h)
    for a, b, factor in ((q + 5, k + 5, 1), (q * 3, k * 3, 3), (-q, -k, 1)):
        _, moved = nadaraya_watson(a, b, v, kernel, h * factor)
        np.testing.assert_allclose(moved.data, w.data, rtol=1e-10, atol=1e-12)


def test_a_float_mask_is_a_factor():
    q, k, v = example()
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


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kernel", SMOOTH)
def test_gradients_are_slopes(kernel, call):
    options, _ = CALLS[call]

    def estimate(q, k, v, h):
        return nadaraya_watson(q, k, v, kernel, h, **options)

    assert mg.gradcheck(estimate, [*example(), np.array(h)]).ok
    each = np.random.default_rng(1).uniform(3, 5, (B, L, 1))
    assert mg.gradcheck(estimate, [*example(), each]).ok


def test_gradients_of_the_boxcar_are_of_its_values_alone():
    q, k, v = example()
    assert mg.gradcheck(lambda v: nadaraya_watson(q, k, v, "boxcar", h)[0], [v]).ok
    leaves = [Tensor(a, requires_grad=True) for a in (q, k, v, np.array(h))]
    estimate, weights = nadaraya_watson(*leaves[:3], "boxcar", leaves[3])
    assert not weights.requires_grad
    (g,) = draw(estimate.shape, seed=9)
    estimate.backward(g)
    q, k, v, width = leaves
    assert q.grad is None and k.grad is None and width.grad is None
    np.testing.assert_allclose(v.grad, weights.data.swapaxes(1, 2) @ g, **close)


@pytest.mark.parametrize("kernel", SMOOTH)
def test_the_gradient_where_query_and_key_are_one_point_is_0(kernel):
    """As of the middle of the slopes of both sides: no NaN from sqrt, no warning."""
    q, v = np.zeros((1, 2)), np.array([[1.0], [0.0], [0.0]])
    k = np.array([[0.0, 0.0], [0.5, 0.0], [-0.5, 0.0]])  # alike on both sides of q
    leaves = [Tensor(a, requires_grad=True) for a in (q, k, v, np.array(2.0))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate, w = nadaraya_watson(*leaves[:3], kernel, leaves[3])
        estimate.backward(np.ones((1, 1)))
    K = [FORMULA[kernel](u) for u in (0, 0.25, 0.25)]
    np.testing.assert_allclose(w.data, [np.array(K) / sum(K)], rtol=1e-12)
    np.testing.assert_allclose(leaves[0].grad, 0, atol=1e-15)
    np.testing.assert_array_equal(leaves[1].grad[0], 0)
    assert (leaves[1].grad[1:, 0] != 0).all()
    step, slopes = 1e-6, []
    for side in (step, -step):
        moved, _ = nadaraya_watson(q + [side, 0], k, v, kernel, 2.0)
        slopes.append((moved.data - estimate.data).item() / side)
    np.testing.assert_allclose(np.mean(slopes), 0, atol=1e-9)
    assert (abs(slopes[0]) > 0.1) == (kernel == "triangular")  # it alone has a kink


@pytest.mark.parametrize("kernel", ["triangular", "epanechnikov"])
def test_the_gradient_at_the_edge_is_that_outside_of_it(kernel):
    """K = 0 there: the key counts for nothing, forward and backward."""
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


def test_a_bandwidth_is_learned_with_each_example_left_out():
    """The curve 2 sin x + x^0.8, by gradient descent on h alone."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 5, 40))[:, None]
    y = 2 * np.sin(x) + x**0.8 + 0.3 * rng.standard_normal(x.shape)
    others = ~np.eye(len(x), dtype=bool)
    for kernel in SMOOTH:
        width, errors = Tensor(np.array(2.0), requires_grad=True), []
        for _ in range(40):
            f, _ = nadaraya_watson(x, x, y, kernel, width, mask=others)
            error = ((f - y) ** 2).mean()
            errors.append(error.item())
            error.backward()
            width.data = width.data - 0.2 * width.grad
            width.zero_grad()
        assert errors[-1] < 0.6 * errors[0] and 0.1 < width.item() < 1.5
