"""Shaw's and Transformer-XL's scores: by loops, their gradients, what they refuse."""

import math
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from attention import scaled_dot_product_attention
from attention.attend import attend
from attention.positions import (
    shaw_scores,
    shaw_values,
    sinusoidal,
    toeplitz,
    transformer_xl_distances,
    transformer_xl_scores,
)
from attention.positions.offsets import from_offsets, sum_offsets
from attention.scores import dot, scaled_dot
from attention.softmax import masked_softmax
from minigrad import Tensor

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ["upper_left", "lower_right"])
every_span = pytest.mark.parametrize("k", [0, 1, 2, 9])
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of sums of order one


def draw(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def position(row, L, S, align):
    return row + S - L if align == "lower_right" else row


def shaw(L, S, k=2, D=3, leading=(), tables=()):
    return draw((*leading, L, D), (*leading, S, D), (*tables, 2 * k + 1, D))


def shaw_by_loops(q, k, a_K, align="upper_left", scale=None):
    (L, D), S, span = q.shape, len(k), len(a_K) // 2
    s = np.zeros((L, S))
    for row in range(L):
        for j in range(S):
            d = j - position(row, L, S, align)
            s[row, j] = q[row] @ (k[j] + a_K[min(max(d, -span), span) + span])
    return s * (1 / math.sqrt(D) if scale is None else scale)


def values_by_loops(p, v, a_V, align="upper_left"):
    """sum_j p_ij (v_j + a^V_d)"""
    (L, S), span = p.shape, len(a_V) // 2
    o = np.zeros((L, a_V.shape[1]))
    for row in range(L):
        for j in range(S):
            d = j - position(row, L, S, align)
            o[row] += p[row, j] * (v[j] + a_V[min(max(d, -span), span) + span])
    return o


def xl(L, S, D=3, leading=(), heads=()):
    return draw(
        (*leading, L, D), (*leading, S, D), (*heads, max(L + S - 1, 0), D),
        (*heads, D), (*heads, D),
    )  # fmt: skip


def xl_by_loops(q, k, R, u, w, align="upper_left", scale=None):
    """R is {i - j: its row}, so that nothing depends on their order."""
    (L, D), S = q.shape, len(k)
    s = np.zeros((L, S))
    for row in range(L):
        for j in range(S):
            i = position(row, L, S, align)
            s[row, j] = (q[row] + u) @ k[j] + (q[row] + w) @ R[i - j]
    return s * (1 / math.sqrt(D) if scale is None else scale)


def by_distance(R, L, S, align="upper_left"):
    """{i - j: its row}, for all distances that there are."""
    at = transformer_xl_distances(L, S, align).tolist()
    everywhere = {position(row, L, S, align) - j for row in range(L) for j in range(S)}
    assert sorted(everywhere, reverse=True) == at and len(R) == len(at)
    return dict(zip(at, R))


# the definitions


@every_size
@both_alignments
@every_span
def test_shaw_by_loops(L, S, align, k):
    arrays = shaw(L, S, k)
    found = shaw_scores(*arrays, causal_align=align).data
    np.testing.assert_allclose(found, shaw_by_loops(*arrays, align), **CLOSE)
    found = shaw_scores(*arrays, 0.5, align).data
    np.testing.assert_allclose(found, shaw_by_loops(*arrays, align, 0.5), **CLOSE)


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
    q, k, R, u, w = arrays = xl(L, S)
    rows = by_distance(R, L, S, align)
    for scale in None, 0.5:
        found = transformer_xl_scores(*arrays, scale).data
        expected = xl_by_loops(q, k, rows, u, w, align, scale)
        np.testing.assert_allclose(found, expected, **CLOSE)


@every_size
@both_alignments
def test_both_are_what_a_vector_for_each_pair_gives(L, S, align):
    """With the array (L, S, D) that the library never makes."""
    q, k, a = shaw(L, S, leading=(2,))
    ahead = np.arange(S) - position(np.arange(L), L, S, align)[:, None]  # j - i
    each = a[np.clip(ahead, -2, 2) + 2]  # (L, S, D)
    expected = np.einsum("bid,bijd->bij", q, k[:, None] + each) / math.sqrt(3)
    found = shaw_scores(q, k, a, causal_align=align).data
    np.testing.assert_allclose(found, expected, **CLOSE)
    (p,) = draw((2, L, S), seed=1)
    found = shaw_values(p, a, align).data
    np.testing.assert_allclose(found, np.einsum("bij,ijd->bid", p, each), **CLOSE)

    at, D = transformer_xl_distances(L, S, align), 4
    q, k, W, u, w = draw((2, L, D), (2, S, D), (D, 6), (D,), (D,))
    each = sinusoidal(-ahead, 6, dtype=float) @ W.T  # (L, S, D)
    expected = (q + u) @ k.swapaxes(1, 2) + np.einsum("bid,ijd->bij", q + w, each)
    R = mg.linear(sinusoidal(at, 6, dtype=float), W)
    found = transformer_xl_scores(q, k, R, u, w).data
    np.testing.assert_allclose(found, expected / math.sqrt(D), **CLOSE)


def test_batches_and_heads():
    """(B, H, L, D) with tables and vectors of each head, or one for all."""
    for tables in (3,), ():
        q, k, a = shaw(5, 7, leading=(2, 3), tables=tables)
        s, (p,) = shaw_scores(q, k, a).data, draw((2, 3, 5, 7), seed=1)
        o = shaw_values(p, a).data
        arrays = xl(5, 7, leading=(2, 3), heads=tables)
        t, zero = transformer_xl_scores(*arrays).data, np.zeros((7, 3))
        for b in range(2):
            for h in range(3):
                q_h, k_h = q[b, h], k[b, h]
                table = a[h] if tables else a
                expected = shaw_by_loops(q_h, k_h, table)
                np.testing.assert_allclose(s[b, h], expected, **CLOSE)
                expected = values_by_loops(p[b, h], zero, table)
                np.testing.assert_allclose(o[b, h], expected, **CLOSE)
                R, u, w = (x[h] if tables else x for x in arrays[2:])
                q_h, k_h = arrays[0][b, h], arrays[1][b, h]
                expected = xl_by_loops(q_h, k_h, by_distance(R, 5, 7), u, w)
                np.testing.assert_allclose(t[b, h], expected, **CLOSE)


# gradients


@every_size
@both_alignments
def test_gradcheck_of_shaw(L, S, align):
    arrays = shaw(L, S, leading=(2, 3), tables=(3,))
    result = mg.gradcheck(lambda *t: shaw_scores(*t, causal_align=align), arrays)
    assert result.ok, result


@every_size
@both_alignments
def test_gradcheck_of_the_values_of_shaw(L, S, align):
    arrays = draw((2, 3, L, S), (3, 5, 4))
    result = mg.gradcheck(lambda *t: shaw_values(*t, align), arrays)
    assert result.ok, result


@every_size
def test_gradcheck_of_transformer_xl(L, S):
    """Of queries, keys, distances and both vectors; with and without a batch."""
    for leading, heads in ((), ()), ((2, 3), (3,)):
        arrays = xl(L, S, leading=leading, heads=heads)
        result = mg.gradcheck(transformer_xl_scores, arrays)
        assert result.ok, result


def test_gradcheck_through_attention():
    q, k, a_K, v, a_V = draw((2, 5, 3), (2, 7, 3), (5, 3), (2, 7, 4), (5, 4))
    mask = np.tri(5, 7, 1, dtype=bool)

    def attention(q, k, a_K, v, a_V):
        score = lambda q, k: shaw_scores(q, k, a_K)  # noqa: E731
        context, p = attend(q, k, v, score, mask)
        return context + shaw_values(p, a_V)

    assert mg.gradcheck(attention, [q, k, a_K, v, a_V]).ok
    W_kR, u, w = draw((3, 6), (3,), (3,), seed=1)

    def attention(q, k, v, W_kR, u, w):
        R = mg.linear(sinusoidal(transformer_xl_distances(5, 7), 6, dtype=float), W_kR)
        score = lambda q, k: transformer_xl_scores(q, k, R, u, w)  # noqa: E731
        return attend(q, k, v, score, mask)[0]

    assert mg.gradcheck(attention, [q, k, v, W_kR, u, w]).ok


def test_rows_that_no_pair_has_get_no_gradient():
    q, k, a = (Tensor(x, requires_grad=True) for x in shaw(3, 4, k=9))
    shaw_scores(q, k, a).backward(np.ones((3, 4)))
    reached = np.arange(-9, 10)
    reached = (-2 <= reached) & (reached <= 3)
    assert a.grad[reached].any(1).all() and not a.grad[~reached].any()


# laws


def test_without_positions_both_are_the_scaled_product():
    q, k, a = shaw(5, 7)
    expected = scaled_dot(q, k).data
    np.testing.assert_allclose(shaw_scores(q, k, 0 * a).data, expected, **CLOSE)
    found = transformer_xl_scores(q, k, np.zeros((11, 3)), *np.zeros((2, 3)))
    np.testing.assert_allclose(found.data, expected, **CLOSE)
    assert not shaw_values(q @ k.T, 0 * a).data.any()


@every_size
def test_transformer_xl_in_the_form_of_labml(L, S):
    """(q + u) . k + q . R + S, where S is a number for each distance, here w . R."""
    q, k, R, u, w = xl(L, S, leading=(2,))
    content = dot(q + u, k).data
    each = from_offsets(q @ R.T, S, 1 - L).data + toeplitz(R @ w, L, S).data
    found = transformer_xl_scores(q, k, R, u, w).data
    np.testing.assert_allclose(found, (content + each) / math.sqrt(3), **CLOSE)


@every_size
@both_alignments
def test_where_nothing_is_clipped_shaw_is_transformer_xl_without_u_and_w(L, S, align):
    q, k, a = shaw(L, S, k=9)
    at = transformer_xl_distances(L, S, align)
    R = a[9 - at]  # the row of j - i
    found = shaw_scores(q, k, a, causal_align=align).data
    expected = transformer_xl_scores(q, k, R, *np.zeros((2, 3))).data
    np.testing.assert_allclose(found, expected, **CLOSE)


@every_size
@both_alignments
def test_of_equal_tokens_both_see_the_distance_alone(L, S, align):
    q, k, a = shaw(1, 1)
    q, k = np.repeat(q, L, 0), np.repeat(k, S, 0)
    R, u, w = draw((L + S - 1, 3), (3,), (3,), seed=1)
    for s in shaw_scores(q, k, a, None, align), transformer_xl_scores(q, k, R, u, w):
        np.testing.assert_allclose(s.data[1:, 1:], s.data[:-1, :-1], **CLOSE)
        assert L == S == 1 or np.ptp(s.data) > 0.01  # and do see it


def test_a_part_of_a_sequence_is_scored_alike_wherever_it_stands():
    q, k, a = shaw(9, 9)
    table, u, w = draw((33, 3), (3,), (3,), seed=1)

    def both(q, k):
        R = table[transformer_xl_distances(len(q), len(k)) + 16]
        return shaw_scores(q, k, a).data, transformer_xl_scores(q, k, R, u, w).data

    for whole, part in zip(both(q, k), both(q[3:7], k[3:7])):
        np.testing.assert_allclose(whole[3:7, 3:7], part, **CLOSE)


def test_the_last_queries_of_a_sequence_are_those_beside_a_cache():
    q, k, a = shaw(9, 9)
    table, u, w = draw((33, 3), (3,), (3,), seed=1)
    R = table[transformer_xl_distances(9, 9) + 16]
    whole = shaw_scores(q, k, a).data, transformer_xl_scores(q, k, R, u, w).data
    for L in 1, 4:
        R = table[transformer_xl_distances(L, 9, "lower_right") + 16]
        found = shaw_scores(q[-L:], k, a, causal_align="lower_right").data
        np.testing.assert_allclose(found, whole[0][-L:], **CLOSE)
        found = transformer_xl_scores(q[-L:], k, R, u, w).data
        np.testing.assert_allclose(found, whole[1][-L:], **CLOSE)


def test_what_is_farther_away_than_k_is_as_far_as_k():
    (q,), (k,), a = shaw(1, 1, k=2)
    s = shaw_scores(np.tile(q, (12, 1)), np.tile(k, (12, 1)), a).data
    assert len(set(s[11, :10])) == len(set(s[0, 2:])) == 1  # one number
    assert len({*s[11], *s[0]}) == len(a)
    p = np.full((12, 12), 1 / 12)
    expected = (10 * a[0] + a[1] + a[2]) / 12
    np.testing.assert_allclose(shaw_values(p, a).data[11], expected, **CLOSE)


@pytest.mark.parametrize(
    "L, S, n, first", [(5, 7, 3, -1), (7, 5, 23, -9), (1, 7, 1, 2)]
)
def test_laying_out_and_summing_are_transposes(L, S, n, first):
    x, p = draw((2, L, n), (2, L, S))
    laid, summed = from_offsets(x, S, first).data, sum_offsets(p, n, first).data
    assert np.vdot(laid, p) == pytest.approx(np.vdot(x, summed), rel=1e-12)


# in attention


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
@pytest.mark.parametrize("bad", [7.0, np.nan, np.inf])
def test_a_masked_key_changes_nothing(name, bad):
    """No bit of outputs, weights and gradients, those of tables and vectors too."""
    _, arrays = in_attention(name)
    seen = np.ones((5, 7), bool)
    seen[:, 3] = False
    for options in {"mask": seen}, {"valid_lens": np.array([3, 3])}:
        expected = outcome(name, arrays, **options)
        assert all(x.any() for x in expected)
        q, k, v, *rest = (x.copy() for x in arrays)
        k[:, 3], v[:, 3] = bad, bad
        found = outcome(name, [q, k, v, *rest], **options)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)


@both_of_them
def test_a_query_that_may_attend_to_nothing_has_no_output_and_gives_no_gradient(name):
    _, arrays = in_attention(name)
    seen = np.ones((2, 5, 7), bool)
    seen[:, 2] = False
    o, weights, dq, *gradients = outcome(name, arrays, mask=seen)
    assert not (o[:, 2].any() or weights[:, 2].any() or dq[:, 2].any())
    arrays[0][:, 2] = np.nan
    again = outcome(name, arrays, mask=seen)
    for x, y in zip(again, [o, weights, dq, *gradients], strict=True):
        np.testing.assert_array_equal(x, y)
    for x in outcome(name, arrays, mask=np.zeros((5, 7), bool)):
        assert not x.any()


def test_a_weight_of_nan_stays_in_its_row():
    p, a = draw((5, 7), (3, 4))
    right, alone = shaw_values(p, a).data, p.copy()
    alone[2] = 0
    p[2, 3] = np.nan
    p, a, alone, b = (Tensor(x, requires_grad=True) for x in (p, a, alone, a))
    o, g = shaw_values(p, a), draw((5, 4), seed=1)[0]
    o.backward(g)
    shaw_values(alone, b).backward(g)
    assert np.isnan(o.data[2]).all()
    others = np.arange(5) != 2
    np.testing.assert_array_equal(o.data[others], right[others])
    np.testing.assert_allclose(a.grad, b.grad, **CLOSE)
    np.testing.assert_array_equal(p.grad[others], alone.grad[others])


# sizes and precision


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
def test_nothing_is_nothing(L, S):
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


# what they refuse


def shaw_with(**shapes):
    right = {"q": (5, 3), "k": (7, 3), "a": (5, 3)} | shapes
    return shaw_scores(*(np.ones(shape) for shape in right.values()))


def values_with(p=(5, 7), a=(5, 4), **options):
    return shaw_values(np.ones(p), np.ones(a), **options)


def xl_with(**shapes):
    right = {"q": (5, 3), "k": (7, 3), "R": (11, 3), "u": (3,), "w": (3,)} | shapes
    return transformer_xl_scores(*(np.ones(shape) for shape in right.values()))


NAMES = {
    "shaw_scores": shaw_with,
    "shaw_values": values_with,
    "transformer_xl_scores": xl_with,
    "transformer_xl_distances": transformer_xl_distances,
}
REFUSED = [
    ("shaw_scores", {"k": (7, 4)}, "(5, 3)", "(7, 4)", "one width D"),
    ("shaw_scores", {"a": (5, 4)}, "(5, 3)", "(5, 4)", "one width D"),
    ("shaw_scores", {"a": (4, 3)}, "(4, 3)", "2k + 1 rows"),
    ("shaw_scores", {"a": (0, 3)}, "(0, 3)", "2k + 1 rows"),
    ("shaw_scores", {"q": (3,)}, "queries have shape (3,)", "(..., L, D)"),
    ("shaw_scores", {"a": (3,)}, "relative_keys (3,)", "(..., 2k + 1, D)"),
    ("shaw_scores", {"q": (2, 5, 3), "a": (3, 5, 3)}, "axes must be alike"),
    ("shaw_values", {"a": (4, 4)}, "(4, 4)", "2k + 1 rows"),
    ("shaw_values", {"p": (7,)}, "weights have shape (7,)", "(..., L, S)"),
    ("shaw_values", {"p": (2, 5, 7), "a": (3, 5, 4)}, "axes must be alike"),
    ("shaw_values", {"causal_align": "left"}, "'left'", "'lower_right'"),
    ("transformer_xl_scores", {"k": (7, 4)}, "(7, 4)", "one width D"),
    ("transformer_xl_scores", {"u": (4,)}, "content_bias (4,)", "one width D"),
    ("transformer_xl_scores", {"w": (1,)}, "position_bias (1,)", "one width D"),
    (
        "transformer_xl_scores",
        {"R": (12, 3)},
        "relative_keys (12, 3)",
        "expected 11 relative_keys",
        "transformer_xl_distances(5, 7)",
    ),
    ("transformer_xl_scores", {"q": (3,)}, "queries have shape (3,)", "(..., L, D)"),
    ("transformer_xl_scores", {"u": ()}, "content_bias ()", "(..., D)"),
    (
        "transformer_xl_scores",
        {"q": (2, 5, 3), "w": (3, 3)},
        "position_bias (3, 3)",
        "axes must be alike",
    ),
    ("transformer_xl_distances", {"L": 5, "S": 7, "causal_align": 1}, "is 1;"),
    ("transformer_xl_distances", {"L": -1, "S": 7}, "L is -1", "queries"),
    ("transformer_xl_distances", {"L": 1, "S": 0.5}, "S is 0.5", "keys"),
]


@pytest.mark.parametrize("name, given, words", [(n, g, w) for n, g, *w in REFUSED])
def test_refusal(name, given, words):
    with pytest.raises(ValueError) as refusal:
        NAMES[name](**given)
    message = str(refusal.value)
    assert message.startswith(f"{name}: ") and message.endswith(".")
    for word in words:
        assert word in message, message


def test_the_alignment_of_scores_is_one_of_two():
    with pytest.raises(ValueError, match="^shaw_scores: causal_align is 'left'; exp"):
        shaw_scores(*shaw(5, 7), causal_align="left")


@pytest.mark.parametrize(
    "f, arrays, arguments",
    [
        (shaw_scores, shaw(5, 7), "queries keys relative_keys"),
        (shaw_values, draw((5, 7), (5, 4)), "weights relative_values"),
        (
            transformer_xl_scores,
            xl(5, 7),
            "queries keys relative_keys content_bias position_bias",
        ),
    ],
)
def test_what_holds_no_fractions_is_refused_by_name(f, arrays, arguments):
    for place, name in enumerate(arguments.split()):
        others = list(arrays)
        for wrong, word in (
            (None, "is None"),
            (["a"], "of type list"),
            (np.ones(arrays[place].shape, int), "is int64; expected floating-point"),
        ):
            others[place] = wrong
            with pytest.raises(TypeError) as refusal:
                f(*others)
            message = str(refusal.value)
            assert message.startswith(f"{f.__name__}: {name} ") and word in message


def test_what_the_two_operations_refuse():
    for f, letter in (from_offsets, "n"), (sum_offsets, "S"):
        with pytest.raises(ValueError, match=rf"^{f.__name__}: .*, L, {letter}\)\.$"):
            f(np.ones(3), 3, 0)
    with pytest.raises(
        ValueError, match="^from_offsets: 0 offsets for 5 queries and 7"
    ):
        from_offsets(np.ones((5, 0)), 7, 0)
    with pytest.raises(ValueError, match="^sum_offsets: 0 offsets for 5 queries and 7"):
        sum_offsets(np.ones((5, 7)), 0, 0)
