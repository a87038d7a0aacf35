"""The Gaussian score and its layer: definition, gradients, relation to products."""

import math
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from attention import GaussianAttention, attend, gaussian
from attention.variants.gaussian import squared_distance
from minigrad import Tensor
from minigrad.optim import SGD

from ...minigrad.array_cases import draw

B, L, S, D, Ev = 2, 3, 5, 4, 6
close = dict(rtol=1e-11, atol=1e-12)  # the same sums of order one, in another order


def by_loops(q, k, h):
    """Compute -|q_i - k_j|^2 / (2 h^2), one pair and one coordinate at a time."""
    e = np.zeros((*q.shape[:-1], k.shape[-2]))
    for b, i, j in np.ndindex(e.shape):
        for a in range(q.shape[-1]):
            e[b, i, j] -= (q[b, i, a] - k[b, j, a]) ** 2 / (2 * h**2)
    return e


def test_definition():
    q, k = draw((B, L, D), (B, S, D))
    np.testing.assert_allclose(gaussian(q, k, 0.7).data, by_loops(q, k, 0.7), **close)
    np.testing.assert_allclose(gaussian(q, k).data, by_loops(q, k, 1), **close)


def test_attention_is_the_estimate_of_nadaraya_and_watson():
    """sum_j K(q - k_j) v_j / sum_j K(q - k_j), for numbers on a line."""
    x, y, at = np.array([0.0, 1, 3, 4]), np.array([2.0, -1, 5, 0]), np.array([0.5, 3.5])
    h, expected = 0.8, []
    for q in at:
        kernel = [math.exp(-((q - k) ** 2) / (2 * h**2)) for k in x]
        expected.append(sum(w * v for w, v in zip(kernel, y)) / sum(kernel))
    found, _ = attend(
        at[:, None], x[:, None], y[:, None], lambda q, k: gaussian(q, k, h)
    )
    np.testing.assert_allclose(found.data[:, 0], expected, **close)


def test_gradients():
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))
    each_query = np.random.default_rng(1).uniform(0.5, 2, (B, L, 1))
    for h in np.array(0.7), np.array([[[0.7]], [[1.9]]]), each_query:
        assert mg.gradcheck(gaussian, [q, k, h]).ok

    def context(q, k, v, h):
        return attend(q, k, v, lambda q, k: gaussian(q, k, h), valid_lens=[2, 5])[0]

    assert mg.gradcheck(context, [q, k, v, np.array(1.3)]).ok
    assert mg.gradcheck_module(GaussianAttention(1.3), q, k, v).ok


def test_gradients_by_loops():
    q, k, g = draw((B, L, D), (B, S, D), (B, L, S))
    leaves = [Tensor(a, requires_grad=True) for a in (q, k, np.array(0.7))]
    gaussian(*leaves).backward(g)
    dq, dk, dh, h = np.zeros(q.shape), np.zeros(k.shape), 0, 0.7
    for b, i, j in np.ndindex(g.shape):
        difference = q[b, i] - k[b, j]
        dq[b, i] -= g[b, i, j] * difference / h**2
        dk[b, j] += g[b, i, j] * difference / h**2
        dh += g[b, i, j] * (difference**2).sum() / h**3
    for leaf, d in zip(leaves, (dq, dk, dh)):
        np.testing.assert_allclose(leaf.grad, d, **close)


def test_keys_of_one_norm_give_dot_products_at_temperature_h_squared():
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))
    h = 0.7

    def both(k):
        near = attend(q, k, v, lambda q, k: gaussian(q, k, h))
        return near, attend(q, k, v, "dot", temperature=h**2)

    on_a_sphere = 2.5 * k / np.linalg.norm(k, axis=-1, keepdims=True)
    for near, dot in zip(*both(on_a_sphere)):
        np.testing.assert_allclose(near.data, dot.data, **close)
    near, dot = both(k)
    assert abs(near[1].data - dot[1].data).max() > 0.1


def test_narrow_and_wide_bandwidths():
    """At 0 only the nearest key counts, at infinity all keys count equally."""
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))
    _, sharp = attend(q, k, v, lambda q, k: gaussian(q, k, 1e-3))
    nearest = by_loops(q, k, 1).argmax(-1)
    np.testing.assert_allclose(sharp.data, np.eye(S)[nearest], atol=1e-12)
    _, flat = attend(q, k, v, lambda q, k: gaussian(q, k, 1e8))
    np.testing.assert_allclose(flat.data, 1 / S, rtol=1e-12)


def test_a_bandwidth_is_learned_only_if_examples_are_excluded_from_their_estimate():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 5, 40)
    y = 2 * np.sin(x) + 0.3 * rng.standard_normal(40)

    def slope(h, mask=None):
        """Return d(mean squared error)/dh."""
        h = Tensor(np.array(h), requires_grad=True)
        score = lambda q, k: gaussian(q, k, h)  # noqa: E731
        f, _ = attend(x[:, None], x[:, None], y[:, None], score, mask=mask)
        ((f - y[:, None]) ** 2).mean().backward()
        return float(h.grad)

    others = ~np.eye(40, dtype=bool)
    assert all(slope(h) > 0 for h in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6))
    assert slope(0.05, others) < 0 < slope(0.8, others)


def test_near_points_far_from_the_origin():
    """|q|^2 - 2 q.k + |k|^2 would give a multiple of 16 in float32, not 0.0625."""
    q = np.float32([[12345.0, -9876.0]])
    k = q + np.float32([[0.0, 0.25]])
    d = squared_distance(q, k).data
    np.testing.assert_array_equal(d, [[0.0625]])
    assert d.dtype == np.float32


def test_memory_has_no_array_of_pairs_and_coordinates():
    L, S, D = 60, 70, 80
    q, k = (Tensor(a) for a in draw((L, D), (S, D)))
    tracemalloc.start()
    squared_distance(q, k)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * L * S * 8  # an array (L, S, D) is 80 (L, S)


def test_the_result_has_the_dtype_of_queries_and_keys():
    q, k = draw((B, L, D), (B, S, D), dtype=np.float32)
    widths = 2, 2.0, np.float64(2), np.full((B, 1, 1), 2.0), Tensor(np.array(2.0), True)
    for h in widths:
        e = gaussian(q, k, h)
        assert e.dtype == np.float32
        np.testing.assert_allclose(e.data, by_loops(q, k, 2), rtol=1e-5)
    q = Tensor(q, requires_grad=True)
    gaussian(q, k, h).backward(np.ones((B, L, S)))
    assert q.grad.dtype == np.float32 and h.grad.dtype == np.float64


@pytest.mark.parametrize("shape", [(0, L, S), (B, 0, S), (B, L, 0), (B, 1, 1)])
def test_no_examples_queries_or_keys_and_a_single_key(shape):
    b, n, m = shape
    q, k, v = draw((b, n, D), (b, m, D), (b, m, Ev))
    context, weights = attend(q, k, v, gaussian)
    assert weights.shape == shape
    expected = v if shape == (B, 1, 1) else np.zeros(context.shape)
    np.testing.assert_array_equal(context.data, expected)


# the layer


def test_the_layer_is_the_score_with_its_bandwidth():
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))
    layer = GaussianAttention(0.7)
    found = layer(q, k, v, valid_lens=[5, 2])
    score = lambda q, k: gaussian(q, k, 0.7)  # noqa: E731
    context, weights = attend(q, k, v, score, valid_lens=[5, 2])
    # the logarithm of the bandwidth is a float32
    np.testing.assert_allclose(found.data, context.data, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer.attention_weights.data, weights.data, rtol=1e-5)
    assert repr(GaussianAttention(0.5, 0.1)) == (
        "GaussianAttention(bandwidth=0.5, dropout=0.1)"
    )


def test_a_learned_bandwidth_stays_positive():
    """If each key is its own neighbour, the error is smallest at h = 0: h shrinks."""
    points, values = draw((9, 2), (9, 1))
    layer = GaussianAttention(1.0)
    optimizer, widths = SGD(layer.parameters(), lr=0.05), []
    for _ in range(30):
        optimizer.zero_grad()
        ((layer(points, points, values) - values) ** 2).sum().backward()
        optimizer.step()
        widths.append(float(np.exp(layer.log_bandwidth.data)))
    assert 0 < widths[-1] < widths[0] / 2


@pytest.mark.parametrize("far", [-1e4, 1e4])
def test_an_extreme_parameter_gives_finite_contexts(far):
    layer = GaussianAttention()
    layer.log_bandwidth.data = np.float32(far)
    arrays = draw((B, L, D), (B, S, D), (B, S, Ev))
    assert np.isfinite(layer(*arrays).data).all()
    assert repr(layer).startswith("GaussianAttention(bandwidth=")
