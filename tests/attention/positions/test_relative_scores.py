"""Scores with relative positions (Shaw, Transformer-XL, DeBERTa) equal their loops."""

import math
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from attention import scaled_dot_product_attention
from attention.template import attend
from attention.positions import (
    disentangled_scores,
    shaw_scores,
    shaw_values,
    sinusoidal,
    transformer_xl_distances,
    transformer_xl_scores,
)
from minigrad import Tensor

from ...minigrad.array_cases import draw

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
every_size = pytest.mark.parametrize("L, S", SIZES)
some_sizes = pytest.mark.parametrize(
    "L, S",
    [SIZES[0], *(pytest.param(*size, marks=pytest.mark.deep) for size in SIZES[1:])],
)
both_alignments = pytest.mark.parametrize("align", ["upper_left", "lower_right"])
every_span = pytest.mark.parametrize("k", [1, 2, 9])
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of sums of order one


def by_loops(score, L, S, align, scale):
    """scale * score(row, j, i) of each pair; i is the position of the row's query."""
    s = np.zeros((L, S))
    for row, j in np.ndindex(L, S):
        i = row + S - L if align == "lower_right" else row
        s[row, j] = scale * score(row, j, i)
    return s


def shaw(L, S, k=2, D=3, leading=(), tables=()):
    return draw((*leading, L, D), (*leading, S, D), (*tables, 2 * k + 1, D))


def shaw_by_loops(q, k, a_K, align="upper_left", scale=None):
    (L, D), S, span = q.shape, len(k), len(a_K) // 2

    def score(row, j, i):
        return q[row] @ (k[j] + a_K[min(max(j - i, -span), span) + span])

    return by_loops(score, L, S, align, scale or 1 / math.sqrt(D))


def values_by_loops(p, v, a_V, align="upper_left"):
    """sum_j p_ij (v_j + a^V_d)"""
    (L, S), span = p.shape, len(a_V) // 2
    o = np.zeros((L, a_V.shape[1]))
    for row, j in np.ndindex(L, S):
        d = j - (row + S - L if align == "lower_right" else row)
        o[row] += p[row, j] * (v[j] + a_V[min(max(d, -span), span) + span])
    return o


def xl(L, S, D=3, leading=(), heads=()):
    return draw(
        (*leading, L, D), (*leading, S, D), (*heads, max(L + S - 1, 0), D),
        (*heads, D), (*heads, D),
    )  # fmt: skip


def xl_by_loops(q, k, R, u, w, align="upper_left", scale=None):
    (L, D), S = q.shape, len(k)
    row_of = dict(zip(transformer_xl_distances(L, S, align).tolist(), R, strict=True))

    def score(row, j, i):
        return (q[row] + u) @ k[j] + (q[row] + w) @ row_of[i - j]

    return by_loops(score, L, S, align, scale or 1 / math.sqrt(D))


def deberta(L, S, D=3, k=2, leading=(), tables=()):
    table = (*tables, 2 * k, D)
    return draw((*leading, L, D), (*leading, S, D), table, table)


def deberta_by_loops(q, k, q_r, k_r, align="upper_left", scale=None):
    (L, D), S, span = q.shape, len(k), len(k_r) // 2

    def d(i, j):
        return min(max(i - j + span, 0), 2 * span - 1)

    def score(row, j, i):
        return q[row] @ k[j] + q[row] @ k_r[d(i, j)] + k[j] @ q_r[d(j, i)]

    return by_loops(score, L, S, align, scale or 1 / math.sqrt(3 * D))


# Definitions


@every_size
@both_alignments
@every_span
@pytest.mark.parametrize("function, definition, make", [
    (shaw_scores, shaw_by_loops, shaw),
    (disentangled_scores, deberta_by_loops, deberta),
], ids=["shaw", "deberta"])  # fmt: skip
def test_scores_by_loops(function, definition, make, L, S, align, k):
    arrays = make(L, S, k=k)
    for scale in None, 0.5:
        found = function(*arrays, scale, align).data
        np.testing.assert_allclose(found, definition(*arrays, align, scale), **CLOSE)


@every_size
@both_alignments
@every_span
def test_the_values_of_shaw_by_loops(L, S, align, k):
    p, v, a_V = draw((L, S), (S, 4), (2 * k + 1, 4))
    found = p @ v + shaw_values(p, a_V, align).data
    np.testing.assert_allclose(found, values_by_loops(p, v, a_V, align), **CLOSE)


@every_size
@both_alignments
def test_transformer_xl_by_loops(L, S, align):
    arrays = xl(L, S)
    for scale in None, 0.5:
        found = transformer_xl_scores(*arrays, scale).data
        np.testing.assert_allclose(found, xl_by_loops(*arrays, align, scale), **CLOSE)


@pytest.mark.parametrize("tables", [(3,), ()])
def test_batches_and_heads(tables):
    """(B, H, L, D) with tables and vectors of each head, or one for all."""
    p, zero = draw((2, 3, 5, 7), seed=1)[0], np.zeros((7, 3))
    for function, definition, arrays in (
        (shaw_scores, shaw_by_loops, shaw(5, 7, leading=(2, 3), tables=tables)),
        (transformer_xl_scores, xl_by_loops, xl(5, 7, leading=(2, 3), heads=tables)),
        (disentangled_scores, deberta_by_loops,
         deberta(5, 7, leading=(2, 3), tables=tables)),
        (lambda p, _, a: shaw_values(p, a), lambda p, _, a: values_by_loops(p, zero, a),
         [p, p, *draw((*tables, 5, 3))]),
    ):  # fmt: skip
        found = function(*arrays).data
        for b, h in np.ndindex(2, 3):
            shared = [x[h] if tables else x for x in arrays[2:]]
            expected = definition(arrays[0][b, h], arrays[1][b, h], *shared)
            np.testing.assert_allclose(found[b, h], expected, **CLOSE)


# Gradients


@some_sizes
@both_alignments
def test_gradients(L, S, align):
    for function, arrays in (
        (shaw_scores, shaw(L, S, leading=(2, 2), tables=(2,), D=2)),
        (disentangled_scores, deberta(L, S, leading=(2, 2), tables=(2,), D=2)),
    ):
        result = mg.gradcheck(lambda *t: function(*t, None, align), arrays)
        assert result.ok, result
    arrays = draw((2, 2, L, S), (2, 5, 3))
    result = mg.gradcheck(lambda *t: shaw_values(*t, align), arrays)
    assert result.ok, result


@some_sizes
def test_gradients_of_transformer_xl(L, S):
    arrays = xl(L, S, leading=(2, 3), heads=(3,))
    result = mg.gradcheck(transformer_xl_scores, arrays)
    assert result.ok, result


def test_gradients_through_attention():
    q, k, a_K, v, a_V = draw((2, 5, 3), (2, 7, 3), (5, 3), (2, 7, 4), (5, 4))
    mask = np.tri(5, 7, 1, dtype=bool)
    assert mg.gradcheck(
        lambda q, k, v, *tables: shaw_of(q, k, v, *tables, mask=mask)[0],
        [q, k, v, a_K, a_V],
    ).ok
    encoding = sinusoidal(transformer_xl_distances(5, 7), 6, dtype=float)

    def attention(q, k, v, W_kR, u, w):
        return xl_of(q, k, v, mg.linear(encoding, W_kR), u, w, mask=mask)[0]

    assert mg.gradcheck(attention, [q, k, v, *draw((3, 6), (3,), (3,), seed=1)]).ok


# In attention


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


def test_scores_may_be_the_bias_of_exact_attention():
    f, (q, k, v, *rest) = in_attention("transformer-xl")
    context, _ = f(q, k, v, *rest)
    s = transformer_xl_scores(q, k, *rest)
    found = scaled_dot_product_attention(
        q[:, None], k[:, None], v[:, None], scale=0.0, bias=mg.unsqueeze(s, 1)
    )
    np.testing.assert_allclose(found.data[:, 0], context.data, **CLOSE)


def results(name, arrays, **options):
    """Output, weights, and the gradient of every array."""
    f, _ = ATTENTION[name]
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    o, weights = f(*leaves, **options)
    o.backward(np.random.default_rng(7).normal(size=o.shape))
    return [o.data, weights.data, *(x.grad for x in leaves)]


@both_of_them
def test_a_masked_key_has_no_influence(name):
    """On outputs, weights and gradients, those of tables and vectors as well."""
    _, arrays = in_attention(name)
    mask = np.ones((5, 7), bool)
    mask[:, 3] = False
    for options in {"mask": mask}, {"valid_lens": np.array([3, 3])}:
        expected = results(name, arrays, **options)
        assert all(x.any() for x in expected)
        q, k, v, *rest = (x.copy() for x in arrays)
        k[:, 3], v[:, 3] = 7.0, 1e6
        found = results(name, [q, k, v, *rest], **options)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@both_of_them
def test_a_query_without_keys_has_output_and_gradient_0(name):
    _, arrays = in_attention(name)
    mask = np.ones((2, 5, 7), bool)
    mask[:, 2] = False
    o, weights, dq, *_ = results(name, arrays, mask=mask)
    assert not (o[:, 2].any() or weights[:, 2].any() or dq[:, 2].any())


# Precision, empty sizes, memory


def all_scores(L, S, k=2, D=8):
    p, a_V = draw((L, S), (2 * k + 1, D))
    return [
        (shaw_scores, shaw(L, S, k, D)),
        (shaw_values, [abs(p) / max(S, 1), a_V]),
        (transformer_xl_scores, xl(L, S, D)),
        (disentangled_scores, deberta(L, S, D, k)),
    ]


def test_float32_agrees_with_float64_and_stays():
    """D products of order one in each score: so many roundings of so much."""
    for f, arrays in all_scores(70, 50):
        g = np.random.default_rng(3).normal(size=f(*arrays).shape)
        found = []
        for dtype in np.float64, np.float32:
            leaves = [Tensor(x.astype(dtype), requires_grad=True) for x in arrays]
            y = f(*leaves)
            y.backward(g.astype(dtype))
            assert y.dtype == dtype and all(x.grad.dtype == dtype for x in leaves)
            found.append([y.data, *(x.grad for x in leaves)])
        eps = np.finfo(np.float32).eps
        for exact, single in zip(*found):
            assert abs(single - exact).max() < 8 * eps * max(1, abs(exact).max())


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_empty_queries_and_keys(L, S):
    for f, arrays in all_scores(L, S):
        y = f(*arrays)
        assert y.shape == ((L, 8) if f is shaw_values else (L, S))
        assert not y.data.any()


def test_no_array_has_a_vector_for_each_pair():
    L = S = 128
    D = 64
    for f, arrays in all_scores(L, S, 32, D):
        leaves = [Tensor(x, requires_grad=True) for x in arrays]
        tracemalloc.start()
        y = f(*leaves)
        y.backward(np.ones(y.shape))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < L * S * D * 8 / 4, f.__name__
