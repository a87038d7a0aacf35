"""Relative scores in attention, as score and as bias: masks, precision, memory."""

import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from attention import scaled_dot_product_attention
from attention.attend import attend
from attention.positions import (
    shaw_scores,
    shaw_values,
    transformer_xl_distances,
    transformer_xl_scores,
)
from attention.softmax import masked_softmax
from minigrad import Tensor

from .relative_scores_cases import CLOSE, draw, shaw, shaw_by_loops, values_by_loops, xl


def shaw_of(q, k, v, a_K, a_V, **options):
    context, p = attend(q, k, v, lambda q, k: shaw_scores(q, k, a_K), **options)
    return context + shaw_values(p, a_V), p


def xl_of(q, k, v, R, u, w, **options):
    score = lambda q, k: transformer_xl_scores(q, k, R, u, w)  # noqa: E731
    return attend(q, k, v, score, **options)


ATTENTION = {
    "shaw": (shaw_of, ((5, 3), (5, 4))),
    "transformer-xl": (xl_of, ((11, 3), (3,), (3,))),
}
both_of_them = pytest.mark.parametrize("name", ATTENTION)


def in_attention(name):
    f, shapes = ATTENTION[name]
    return f, draw((2, 5, 3), (2, 7, 3), (2, 7, 4), *shapes)


def test_as_the_score_of_attention_and_as_its_bias():
    for name, make in ("shaw", shaw_scores), ("transformer-xl", transformer_xl_scores):
        _, (q, k, v, *rest) = in_attention(name)
        rest = rest[:1] if name == "shaw" else rest
        context, weights = attend(q, k, v, lambda q, k: make(q, k, *rest))
        s = make(q, k, *rest)
        np.testing.assert_array_equal(weights.data, masked_softmax(s).data)
        found = scaled_dot_product_attention(
            q[:, None], k[:, None], v[:, None], scale=0.0, bias=mg.unsqueeze(s, 1)
        )
        np.testing.assert_allclose(found.data[:, 0], context.data, **CLOSE)


def test_the_output_of_shaw_by_loops():
    f, arrays = in_attention("shaw")
    q, k, v, a_K, a_V = arrays
    found, weights = f(*arrays)
    for b in range(2):
        e = np.exp(shaw_by_loops(q[b], k[b], a_K))
        p = e / e.sum(1, keepdims=True)
        np.testing.assert_allclose(weights.data[b], p, **CLOSE)
        np.testing.assert_allclose(
            found.data[b], values_by_loops(p, v[b], a_V), **CLOSE
        )


def outcome(name, arrays, **options):
    """Output, weights, and the gradient of every array."""
    f, _ = ATTENTION[name]
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    o, weights = f(*leaves, **options)
    o.backward(np.random.default_rng(7).normal(size=o.shape))
    return [o.data, weights.data, *(x.grad for x in leaves)]


@both_of_them
@pytest.mark.parametrize("other", [7.0, 1e6])
def test_a_masked_key_has_no_influence(name, other):
    """On outputs, weights and gradients, those of tables and vectors as well."""
    _, arrays = in_attention(name)
    seen = np.ones((5, 7), bool)
    seen[:, 3] = False
    for options in {"mask": seen}, {"valid_lens": np.array([3, 3])}:
        expected = outcome(name, arrays, **options)
        assert all(x.any() for x in expected)
        q, k, v, *rest = (x.copy() for x in arrays)
        k[:, 3], v[:, 3] = other, other
        found = outcome(name, [q, k, v, *rest], **options)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)


@both_of_them
def test_a_query_without_keys_has_output_0_and_gives_no_gradient(name):
    _, arrays = in_attention(name)
    seen = np.ones((2, 5, 7), bool)
    seen[:, 2] = False
    o, weights, dq, *_ = outcome(name, arrays, mask=seen)
    assert not (o[:, 2].any() or weights[:, 2].any() or dq[:, 2].any())
    for x in outcome(name, arrays, mask=np.zeros((5, 7), bool)):
        assert not x.any()


@pytest.mark.parametrize("L, S", [(5, 7), (70, 50)])
def test_float32_agrees_with_float64_and_stays(L, S):
    """D products of order one in each score: so many roundings of so much."""
    D = 8
    p, a_V = draw((L, S), (5, D))
    for f, arrays in [
        (shaw_scores, shaw(L, S, D=D)),
        (shaw_values, [abs(p) / S, a_V]),
        (transformer_xl_scores, xl(L, S, D=D)),
    ]:
        g = np.random.default_rng(3).normal(size=f(*arrays).shape)
        results = []
        for dtype in np.float64, np.float32:
            leaves = [Tensor(x.astype(dtype), requires_grad=True) for x in arrays]
            y = f(*leaves)
            y.backward(g.astype(dtype))
            assert y.dtype == dtype and all(x.grad.dtype == dtype for x in leaves)
            results.append([y.data, *(x.grad for x in leaves)])
        eps = np.finfo(np.float32).eps
        for exact, found in zip(*results):
            assert abs(found - exact).max() < 8 * eps * max(1, abs(exact).max())


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0), (1, 0), (0, 1)])
def test_empty_queries_and_keys(L, S):
    for align in "upper_left", "lower_right":
        assert shaw_scores(*shaw(L, S), causal_align=align).shape == (L, S)
        p, a_V = draw((L, S), (5, 4))
        o = shaw_values(p, a_V, align)
        assert o.shape == (L, 4) and not o.data.any()
    assert transformer_xl_scores(*xl(L, S)).shape == (L, S)
    assert len(transformer_xl_distances(L, S)) == max(L + S - 1, 0)
    arrays = shaw(5, 7, leading=(0, 3))
    assert shaw_scores(*arrays).shape == (0, 3, 5, 7)
    assert transformer_xl_scores(*xl(5, 7, leading=(0,))).shape == (0, 5, 7)


def test_no_array_has_a_vector_for_each_pair():
    """Nor a number for each pair and each row of the table."""
    L = S = 128
    D, k = 64, 32
    p, a_V = draw((L, S), (2 * k + 1, D))
    for f, arrays in [
        (shaw_scores, shaw(L, S, k, D)),
        (shaw_values, [p, a_V]),
        (transformer_xl_scores, xl(L, S, D)),
    ]:
        leaves = [Tensor(x, requires_grad=True) for x in arrays]
        tracemalloc.start()
        y = f(*leaves)
        y.backward(np.ones(y.shape))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < L * S * D * 8 / 4, f.__name__
