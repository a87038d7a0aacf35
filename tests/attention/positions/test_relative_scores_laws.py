"""Laws of relative scores: distance alone counts; labml's form, caches, clipping."""

import math

import numpy as np
import pytest

from attention.positions import (
    shaw_scores,
    shaw_values,
    toeplitz,
    transformer_xl_distances,
    transformer_xl_scores,
)
from attention.positions.offsets import from_offsets, sum_offsets
from attention.scores import dot, scaled_dot

from .relative_scores_cases import (
    CLOSE,
    both_alignments,
    draw,
    every_size,
    shaw,
    xl,
)


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
