"""T5's bias and ALiBi equal their definitions, as a matrix and by offset."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import minigrad as mg
from attention.template import attend
from attention.positions import (
    T5RelativeBias,
    alibi_bias,
    alibi_by_offset,
    alibi_slopes,
    t5_bucket,
)
from attention.softmax import masked_softmax

from ...minigrad.array_cases import draw

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ["upper_left", "lower_right"])
CLOSE = {"rtol": 0, "atol": 1e-13}


def query_position(i, L, S, align):
    return i + S - L if align == "lower_right" else i


def relative_bias(bidirectional=True, H=3):
    module = T5RelativeBias(H, 8, 6, bidirectional)
    module.table.data = draw((8, H))[0]
    return module


# T5's buckets


def bucket_by_formula(rel, bidirectional, num_buckets, max_distance):
    """With logarithms of 60 digits: what is whole is whole to the 50th."""
    nb, base, n = num_buckets, 0, max(-rel, 0)
    if bidirectional:
        nb, base, n = nb // 2, (nb // 2 if rel > 0 else 0), abs(rel)
    e = nb // 2
    if n < e:
        return base + n
    with localcontext(prec=60):
        far = (Decimal(n) / e).ln() / (Decimal(max_distance) / e).ln() * (nb - e)
        return base + min(nb - 1, e + math.floor(far + Decimal(10) ** -50))


@pytest.mark.parametrize(
    "bidirectional, num_buckets, max_distance",
    [(True, 32, 128), (False, 32, 128), (False, 9, 128), (True, 4, 2), (False, 2, 5)]
    + [(True, 19, 10), (False, 19, 256)],
)
def test_buckets_by_their_formula(bidirectional, num_buckets, max_distance):
    """(False, 9, 128) has whole quotients at which float64 logarithms fall short."""
    rel = np.arange(-300, 301)
    expected = [
        bucket_by_formula(int(r), bidirectional, num_buckets, max_distance) for r in rel
    ]
    found = t5_bucket(rel, bidirectional, num_buckets, max_distance)
    assert found.tolist() == expected


def test_the_known_buckets():
    both = {0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -15: 9, -16: 10, -32: 12,
            -64: 14, -128: 15, -10**6: 15, 1: 17, 7: 23, 8: 24, 11: 24, 16: 26,
            64: 30, 128: 31, 10**6: 31}  # fmt: skip
    past = {10**6: 0, 1: 0, 0: 0, -1: 1, -15: 15, -16: 16, -18: 16, -19: 17, -20: 17,
            -21: 18, -32: 21, -64: 26, -112: 30, -113: 31, -(10**6): 31}  # fmt: skip
    assert {r: int(t5_bucket(r)) for r in both} == both
    assert t5_bucket(np.array(list(past)), False).tolist() == list(past.values())


def test_buckets_of_any_integers():
    for dtype, least in (np.int8, -128), (np.uint8, 3), (np.uint64, 3):
        rel = np.array([[127, least], [0, 1]])  # negatives of the dtype overflow
        for bidirectional in (True, False):
            found = t5_bucket(rel.astype(dtype), bidirectional)
            np.testing.assert_array_equal(found, t5_bucket(rel, bidirectional))
    assert t5_bucket(np.zeros((0, 3), int)).shape == (0, 3)


# T5's bias


@every_size
@both_alignments
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_bias_by_loops(L, S, align, bidirectional):
    module = relative_bias(bidirectional)
    found = module(L, S, causal_align=align)
    v = module.by_offset(L, S, causal_align=align)
    assert found.shape == (3, L, S) and v.shape == (3, L + S - 1)
    for h, i, j in np.ndindex(3, L, S):
        rel = j - query_position(i, L, S, align)
        bucket = bucket_by_formula(rel, bidirectional, 8, 6)
        assert found.data[h, i, j] == module.table.data[bucket, h]
        assert found.data[h, i, j] == v.data[h, j - i + L - 1]


@every_size
@pytest.mark.parametrize("bidirectional", [True, False])
def test_gradients_of_t5_bias(L, S, bidirectional):
    module = relative_bias(bidirectional)
    result = mg.gradcheck_module(module, L, S)
    assert result.ok, result


def test_a_new_table_is_0_and_float32():
    table = T5RelativeBias(2).table
    assert table.shape == (32, 2) and table.dtype == np.float32 and not table.data.any()


# ALiBi


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
    for H, exponents in two.items():
        assert alibi_slopes(H).tolist() == [np.float32(2.0**a) for a in exponents]
    rest = [0.7071, 0.3536, 0.1768, 0.0884]
    np.testing.assert_allclose(alibi_slopes(12)[8:], rest, atol=5e-5)


@pytest.mark.parametrize("H", [*range(1, 18), 33, 71])
def test_slopes_for_any_number_of_heads(H):
    slopes = alibi_slopes(H, np.float64)
    np.testing.assert_allclose(slopes, slopes_of_the_paper(H), rtol=1e-13)
    assert slopes.shape == (H,) and alibi_slopes(H).dtype == np.float32


@every_size
@both_alignments
def test_alibi_by_loops(L, S, align):
    found = alibi_bias(12, L, S, align, np.float64)
    v = alibi_by_offset(12, L, S, align, np.float64)
    slopes = slopes_of_the_paper(12)
    assert found.shape == (12, L, S) and v.shape == (12, L + S - 1)
    for h, i, j in np.ndindex(12, L, S):
        distance = abs(query_position(i, L, S, align) - j)
        assert found[h, i, j] == pytest.approx(-slopes[h] * distance, rel=1e-14)
        assert found[h, i, j] == v[h, j - i + L - 1]
    assert alibi_bias(12, L, S, align).dtype == np.float32


@both_alignments
def test_under_a_causal_mask_the_position_of_the_key_is_enough(align):
    """There +m j and -m |i - j| differ by a number for each row, which cancels."""
    L, S, H = 5, 7, 6
    s = draw((2, H, L, S))[0]
    i, j = query_position(np.arange(L)[:, None], L, S, align), np.arange(S)
    by_key = alibi_slopes(H, np.float64)[:, None, None] * j
    bias = alibi_bias(H, L, S, align, np.float64)
    causal = [masked_softmax(s + b, mask=j <= i).data for b in (by_key, bias)]
    np.testing.assert_allclose(*causal, **CLOSE)
    free = [masked_softmax(s + b).data for b in (by_key, bias)]
    assert np.abs(free[0] - free[1]).max() > 0.1


# Both


def test_biases_in_attention():
    """They are added to the scores, and keep float32."""
    q, k, v = draw((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 2))
    for bias in relative_bias()(5, 7), alibi_bias(3, 5, 7, dtype=float):
        _, weights = attend(q, k, v, "dot", bias=bias)
        s = q @ k.swapaxes(-1, -2) + getattr(bias, "data", bias)
        np.testing.assert_allclose(weights.data, masked_softmax(s).data, **CLOSE)
    single = [x.astype(np.float32) for x in (q, k, v)]
    assert attend(*single, bias=alibi_bias(3, 5, 7))[0].dtype == np.float32


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_empty_biases(L, S):
    module = relative_bias()
    bias = module(L, S)
    assert bias.shape == alibi_bias(3, L, S).shape == (3, L, S)
    bias.backward(np.ones((3, L, S)))
    assert not module.table.grad.any()
