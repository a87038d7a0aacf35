"""The Gaussian kernel against its definition, and its relation to the dot product."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.variants.gaussian import gaussian, squared_distance
from minigrad import Tensor

B, L, S, D, Ev = 2, 3, 5, 4, 6
close = dict(rtol=1e-12, atol=1e-13)  # the same sums of order one, in another order


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def by_loops(q, k, h):
    """-|q_i - k_j|^2 / (2 h^2), one pair and one coordinate at a time."""
    e = np.zeros((*q.shape[:-1], k.shape[-2]))
    for b, i, j in np.ndindex(e.shape):
        for a in range(q.shape[-1]):
            e[b, i, j] -= (q[b, i, a] - k[b, j, a]) ** 2 / (2 * h**2)
    return e


def test_the_score_is_its_definition():
    q, k = draw((B, L, D), (B, S, D))
    np.testing.assert_allclose(gaussian(q, k, 0.7).data, by_loops(q, k, 0.7), **close)
    np.testing.assert_allclose(gaussian(q, k).data, by_loops(q, k, 1), **close)


def test_the_estimate_of_nadaraya_and_watson():
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


def test_gradients_into_queries_keys_and_bandwidth():
    q, k = draw((B, L, D), (B, S, D))
    assert mg.gradcheck(gaussian, [q, k, np.array(0.7)]).ok
    assert mg.gradcheck(
        gaussian, [q, k, np.array([[[0.7]], [[1.9]]])]
    ).ok  # each its own
    h = np.random.default_rng(1).uniform(0.5, 2, (B, L, 1))
    assert mg.gradcheck(gaussian, [q, k, h]).ok  # one for each query


def test_the_gradients_are_those_on_the_page():
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


@pytest.mark.parametrize("valid_lens", [None, [2, 5], [[1, 3, 5], [4, 0, 2]]])
def test_gradients_through_the_template(valid_lens):
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))

    def context(q, k, v, h):
        return attend(q, k, v, lambda q, k: gaussian(q, k, h), valid_lens=valid_lens)[0]

    assert mg.gradcheck(context, [q, k, v, np.array(1.3)]).ok


def test_with_keys_of_one_norm_it_is_the_dot_product_at_temperature_h_squared():
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))
    h = 0.7

    def both(k):
        near = attend(q, k, v, lambda q, k: gaussian(q, k, h))
        return near, attend(q, k, v, "dot", temperature=h**2)

    on_a_sphere = 2.5 * k / np.linalg.norm(k, axis=-1, keepdims=True)
    for near, dot in zip(*both(on_a_sphere)):
        np.testing.assert_allclose(near.data, dot.data, **close)
    near, dot = both(k)  # and only then
    assert abs(near[1].data - dot[1].data).max() > 0.1


def test_what_bandwidth_does():
    """To 0: the nearest key alone. To infinity: all alike."""
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev))
    _, sharp = attend(q, k, v, lambda q, k: gaussian(q, k, 1e-3))
    nearest = by_loops(q, k, 1).argmax(-1)
    np.testing.assert_allclose(sharp.data, np.eye(S)[nearest], atol=1e-12)
    _, flat = attend(q, k, v, lambda q, k: gaussian(q, k, 1e8))
    np.testing.assert_allclose(flat.data, 1 / S, rtol=1e-12)


def test_on_the_examples_themselves_the_bandwidth_wants_to_be_0():
    """Unless each is left out of its own estimate: then a narrow one is too narrow."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 5, 40)
    y = 2 * np.sin(x) + 0.3 * rng.standard_normal(40)

    def slope(h, mask=None):
        """d(mean squared error)/dh"""
        h = Tensor(np.array(h), requires_grad=True)
        score = lambda q, k: gaussian(q, k, h)  # noqa: E731
        f, _ = attend(x[:, None], x[:, None], y[:, None], score, mask=mask)
        ((f - y[:, None]) ** 2).mean().backward()
        return float(h.grad)

    others = ~np.eye(40, dtype=bool)
    assert all(slope(h) > 0 for h in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6))
    assert slope(0.05, others) < 0 < slope(0.8, others)


def test_near_points_far_from_the_origin_keep_their_distance():
    """|q|^2 - 2 q.k + |k|^2 would give multiples of 16 here, in float32, for 0.06."""
    q = np.float32([[12345.0, -9876.0]])
    k = q + np.float32([[0.0, 0.25]])
    d = squared_distance(q, k).data
    np.testing.assert_array_equal(d, [[0.0625]])
    assert d.dtype == np.float32


def test_no_array_of_all_pairs_and_coordinates():
    L, S, D = 60, 70, 80
    q, k = (Tensor(a) for a in draw((L, D), (S, D)))
    tracemalloc.start()
    squared_distance(q, k)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * L * S * 8  # a handful of (L, S), where (L, S, D) has eighty


def test_float32_stays_float32():
    q, k = draw((B, L, D), (B, S, D), dtype=np.float32)
    for h in (
        2,
        2.0,
        np.float64(2),
        np.array(2.0),
        np.full((B, 1, 1), 2.0),
        Tensor(np.array(2.0), requires_grad=True),
        mg.nn.Parameter(np.float32(2)),
    ):
        e = gaussian(q, k, h)
        assert e.dtype == np.float32
        np.testing.assert_allclose(e.data, by_loops(q, k, 2), rtol=1e-5)
    q = Tensor(q, requires_grad=True)
    h = Tensor(np.array(2.0), requires_grad=True)
    gaussian(q, k, h).backward(np.ones((B, L, S)))
    assert q.grad.dtype == np.float32 and h.grad.dtype == np.float64


@pytest.mark.parametrize("shape", [(0, L, S), (B, 0, S), (B, L, 0), (B, 1, 1)])
def test_nothing_and_a_single_key(shape):
    b, n, m = shape
    q, k, v = draw((b, n, D), (b, m, D), (b, m, Ev))
    context, weights = attend(q, k, v, gaussian)
    assert weights.shape == shape
    if shape == (B, 1, 1):
        np.testing.assert_array_equal(weights.data, 1)
        np.testing.assert_array_equal(context.data, v)
    else:
        assert (context.data == 0).all()


def test_padding_has_no_influence_and_may_be_nan():
    q, k, v, g = draw((B, L, D), (B, S, D), (B, S, Ev), (B, L, Ev))

    def run(k, v):
        leaves = [Tensor(a, requires_grad=True) for a in (q, k, v, np.array(1.3))]
        score = lambda q, k: gaussian(q, k, leaves[3])  # noqa: E731
        context, _ = attend(*leaves[:3], score, valid_lens=[2, 5])
        context.backward(g)
        return [context.data, *(leaf.grad for leaf in leaves)]

    clean = run(k, v)
    for filling in (7.0, np.nan):
        other_k, other_v = k.copy(), v.copy()
        other_k[0, 2:] = other_v[0, 2:] = filling
        for a, b in zip(clean, run(other_k, other_v)):
            np.testing.assert_array_equal(a, b)


def test_infinity_and_nan_give_what_they_give_without_a_warning():
    q, k = np.array([[0.0], [np.inf], [np.nan]]), np.array([[1.0], [np.inf]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        e = gaussian(q, k).data
    expected = [[-0.5, -np.inf], [-np.inf, np.nan], [np.nan, np.nan]]
    np.testing.assert_array_equal(e, expected)


BAD = [
    (
        (np.zeros(3), np.zeros((5, 1))),
        ValueError,
        "squared_distance: queries have shape (3,) and keys (5, 1); expected (…, L, D) "
        "and (…, S, D), points of one space. Numbers x on a line are x[:, None].",
    ),
    (
        (np.zeros((3, 2)), np.zeros((5, 4))),
        ValueError,
        "squared_distance: queries have shape (3, 2) and keys (5, 4); expected "
        "(…, L, D) and (…, S, D), points of one space. Numbers x on a line are "
        "x[:, None].",
    ),
    (
        (np.zeros((2, 3, 4)), np.zeros((3, 5, 4))),
        ValueError,
        "squared_distance: queries have shape (2, 3, 4) and keys (3, 5, 4); before the "
        "last two, the axes must be alike, or 1, or missing.",
    ),
    (
        (np.zeros((3, 4)), np.zeros((5, 4)), 0.0),
        ValueError,
        "gaussian: bandwidth is 0.0; expected a positive number, from 1e-15 to 1e15.",
    ),
    (
        (np.zeros((3, 4)), np.zeros((5, 4)), np.array([[1.0], [np.nan], [2.0]])),
        ValueError,
        "gaussian: bandwidth is nan; expected a positive number, from 1e-15 to 1e15.",
    ),
    (
        (np.zeros((3, 4)), np.zeros((5, 4)), np.ones(4)),
        ValueError,
        "gaussian: bandwidth has shape (4,); expected one that broadcasts to the "
        "scores, (3, 5).",
    ),
    (
        (np.zeros((3, 4)), np.zeros((5, 4)), "wide"),
        TypeError,
        "gaussian: bandwidth is 'wide'; expected a positive number, or an array of "
        "them.",
    ),
]


@pytest.mark.parametrize("arguments, kind, message", BAD)
def test_messages(arguments, kind, message):
    with pytest.raises(kind) as error:
        gaussian(*arguments)
    assert str(error.value) == message
