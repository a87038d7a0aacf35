"""Relative scores equal their loops, and their gradients finite differences."""

import math

import numpy as np

import minigrad as mg
from attention.attend import attend
from attention.positions import (
    shaw_scores,
    shaw_values,
    sinusoidal,
    transformer_xl_distances,
    transformer_xl_scores,
)
from minigrad import Tensor

from .relative_scores_cases import (
    CLOSE,
    both_alignments,
    by_distance,
    draw,
    every_size,
    every_span,
    position,
    shaw,
    shaw_by_loops,
    values_by_loops,
    xl,
    xl_by_loops,
)


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
