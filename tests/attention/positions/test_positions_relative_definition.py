"""T5's bias and ALiBi are their definitions in loops, as matrix and by offset."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.positions import alibi_bias, alibi_by_offset, alibi_slopes, t5_bucket

from .positions_relative_cases import (
    CLOSE,
    both_alignments,
    bucket_by_formula,
    draw,
    every_size,
    query_position,
    relative_bias,
)


@every_size
@both_alignments
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_bias_by_loops(L, S, align, bidirectional):
    module = relative_bias(bidirectional)
    found = module(L, S, causal_align=align)
    v = module.by_offset(L, S, causal_align=align)
    assert found.shape == (3, L, S) and v.shape == (3, L + S - 1)
    for h in range(3):
        for i in range(L):
            for j in range(S):
                rel = j - query_position(i, L, S, align)
                bucket = bucket_by_formula(rel, bidirectional, 8, 6)
                assert found.data[h, i, j] == module.table.data[bucket, h]
                assert found.data[h, i, j] == v.data[h, j - i + L - 1]


@every_size
@both_alignments
def test_the_gradient_of_the_table_counts_its_pairs(L, S, align):
    module, g = relative_bias(), draw(3, L, S, seed=1)
    module(L, S, align).backward(g)
    i = query_position(np.arange(L)[:, None], L, S, align)
    bucket = t5_bucket(np.arange(S) - i, True, 8, 6).ravel()
    for h in range(3):
        expected = np.bincount(bucket, g[h].ravel(), 8)
        np.testing.assert_allclose(module.table.grad[:, h], expected, **CLOSE)


@every_size
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_gradcheck(L, S, bidirectional):
    module = relative_bias(bidirectional)
    result = mg.gradcheck_module(module, L, S)
    assert result.ok, result


def slopes_of_the_paper(n):
    """A geometric sequence that starts at its own ratio; else from both neighbours."""
    a = math.log2(n)
    if a == int(a):
        start = 2.0 ** (-(2.0 ** -(a - 3)))
        return [start ** (h + 1) for h in range(n)]
    c = 2 ** math.floor(a)
    return slopes_of_the_paper(c) + slopes_of_the_paper(2 * c)[0::2][: n - c]


def test_the_known_slopes():
    two = {1: [-8], 2: [-4, -8], 4: [-2, -4, -6, -8], 8: range(-1, -9, -1)}
    two[6] = [-2, -4, -6, -8, -1, -3]
    two[12] = [*two[8], -0.5, -1.5, -2.5, -3.5]
    for H, exponents in two.items():
        expected = [np.float32(2.0**a) for a in exponents]
        assert alibi_slopes(H).tolist() == expected
    rest = [0.7071, 0.3536, 0.1768, 0.0884]
    np.testing.assert_allclose(alibi_slopes(12)[8:], rest, atol=5e-5)


@pytest.mark.parametrize("H", [*range(1, 34), 48, 71])
def test_slopes_for_any_number_of_heads(H):
    slopes = alibi_slopes(H, np.float64)
    np.testing.assert_allclose(slopes, slopes_of_the_paper(H), rtol=1e-13)
    assert slopes.shape == (H,) and len(set(slopes)) == H
    assert alibi_slopes(H).dtype == np.float32


@every_size
@both_alignments
def test_alibi_by_loops(L, S, align):
    found = alibi_bias(12, L, S, align, np.float64)
    v = alibi_by_offset(12, L, S, align, np.float64)
    slopes = slopes_of_the_paper(12)
    assert found.shape == (12, L, S) and v.shape == (12, L + S - 1)
    for h in range(12):
        for i in range(L):
            for j in range(S):
                distance = abs(query_position(i, L, S, align) - j)
                assert found[h, i, j] == pytest.approx(-slopes[h] * distance, rel=1e-14)
                assert found[h, i, j] == v[h, j - i + L - 1]
    single = alibi_bias(12, L, S, align)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, found.astype(np.float32))
