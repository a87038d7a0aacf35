"""T5's bias and ALiBi equal their definitions, as a matrix and by offset."""

import numpy as np
import pytest

from attention import definitions
from attention.template import attend
from attention.positions import (
    FIRE,
    T5RelativeBias,
    alibi_bias,
    alibi_by_offset,
    alibi_slopes,
    t5_bucket,
)
from attention.positions.kerple import KERPLE
from attention.scores import dot, scaled_dot
from attention.softmax import masked_softmax

from ...minigrad.array_cases import draw
from ..definition_cases import check

SIZES = [(5, 7), (7, 5), (1, 1)]
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


@pytest.mark.parametrize(
    "bidirectional, num_buckets, max_distance",
    [(True, 32, 128), (False, 32, 128), (False, 9, 128), (True, 4, 2), (False, 2, 5)]
    + [(True, 19, 10), (False, 19, 256)],
)
def test_buckets_by_their_formula(bidirectional, num_buckets, max_distance):
    """(False, 9, 128) has whole quotients at which float64 logarithms fall short."""
    sizes = bidirectional, num_buckets, max_distance
    expected = [definitions.t5_bucket(offset, *sizes) for offset in range(-300, 301)]
    assert t5_bucket(np.arange(-300, 301), *sizes).tolist() == expected


@pytest.mark.parametrize("buckets, longest", [(32, 128), (9, 128), (19, 256)])
def test_far_buckets_begin_at_powers(buckets, longest):
    """The far half of the buckets are equally wide in log(distance)."""
    e = buckets // 2
    first = [e * (longest / e) ** (m / (buckets - e)) for m in range(buckets - e)]
    for m, start in enumerate(first):
        at = round(start) if abs(start - round(start)) < 1e-9 else int(start) + 1
        assert definitions.t5_bucket(-at, False, buckets, longest) >= e + m
        assert definitions.t5_bucket(1 - at, False, buckets, longest) < e + m


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
def test_t5_bias_by_its_buckets(L, S, align, bidirectional):
    module = relative_bias(bidirectional)
    found = module(L, S, causal_align=align)
    v = module.by_offset(L, S, causal_align=align).values
    assert found.shape == (3, L, S) and v.shape == (3, L + S - 1)
    for h, i, j in np.ndindex(3, L, S):
        rel = j - query_position(i, L, S, align)
        bucket = definitions.t5_bucket(rel, bidirectional, 8, 6)
        assert found.data[h, i, j] == module.table.data[bucket, h]
        assert found.data[h, i, j] == v.data[h, j - i + L - 1]


@every_size
@pytest.mark.parametrize("bidirectional", [True, False])
def test_t5_scores(L, S, bidirectional):
    """In values and in all gradients, of the table as well."""
    module = relative_bias(bidirectional)

    def scores(q, k, table):
        sizes = bidirectional, 8, 6
        each = [definitions.t5(*x, *sizes) for x in zip(q, k, table.T)]
        return np.stack(each)

    q, k = draw((3, L, 4), (3, S, 4))
    check(lambda q, k: dot(q, k) + module(L, S), scores, [q, k], [module.table])


def test_a_new_table_is_0_and_float32():
    table = T5RelativeBias(2).table
    assert table.shape == (32, 2) and table.dtype == np.float32 and not table.data.any()


# ALiBi


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
    np.testing.assert_allclose(slopes, definitions.alibi_slopes(H), rtol=1e-13)
    assert slopes.shape == (H,) and alibi_slopes(H).dtype == np.float32


@every_size
@both_alignments
def test_alibi_of_each_pair(L, S, align):
    found = alibi_bias(12, L, S, align, np.float64)
    v = alibi_by_offset(12, L, S, align, np.float64).values
    slopes = definitions.alibi_slopes(12)
    assert found.shape == (12, L, S) and v.shape == (12, L + S - 1)
    for h, i, j in np.ndindex(12, L, S):
        distance = abs(query_position(i, L, S, align) - j)
        assert found[h, i, j] == pytest.approx(-slopes[h] * distance, rel=1e-14)
        assert found[h, i, j] == v.data[h, j - i + L - 1]
    if align == "upper_left":
        q, k = draw((L, 4), (S, 4))
        scores = definitions.alibi(q, k, slopes[2])
        np.testing.assert_allclose(scaled_dot(q, k).data + found[2], scores, **CLOSE)
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


@pytest.mark.parametrize("c", [1e-3, 1e-6, 1e-9, 1e-30])
def test_small_factors_of_logarithms_in_float32(c):
    """FIRE tends to the part |i - j| / max(T, i), and KERPLE to a line."""
    fire, kerple = FIRE(2, 4, rng=np.random.default_rng(0)), KERPLE(1)
    y = np.log(np.expm1(c)).astype(np.float32)  # softplus gives c
    fire.y_c.data, kerple.x_a.data = y[None], y[None]
    c, y_T = np.logaddexp(0, y.astype(float)), np.logaddexp(0, fire.y_T.data)
    k, network = np.zeros((12, 1)), (fire.W_1.weight.data[:, 0], fire.W_1.bias.data)
    found, w_2 = fire(np.arange(12), 12).data, fire.W_2.weight.data
    for h in 0, 1:
        expected = definitions.fire(k, k, c, 4 * y_T, *network, w_2[h])
        np.testing.assert_allclose(found[h], expected, rtol=1e-5, atol=1e-6)
    expected = definitions.kerple(k, k, 1 / c, c)
    found = kerple.by_offset(12, 12).matrix(12, 12).data[0] / np.float32(c)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["y_c", "y_T"])
def test_a_factor_or_length_of_fire_that_is_0_has_the_values_of_a_small_one(name):
    fire = FIRE(2, 4, rng=np.random.default_rng(0))
    getattr(fire, name).data = np.float32([-20])
    small = fire(np.arange(5), 5).data
    getattr(fire, name).data = np.float32([-200])  # softplus gives 0
    found = fire(np.arange(5), 5)
    earlier = np.tri(5, dtype=bool)
    np.testing.assert_allclose(found.data[:, earlier], small[:, earlier], rtol=1e-5)
    found.sum().backward()
    assert all(np.isfinite(p.grad).all() for p in fire.parameters())


def test_fire_divides_distances_by_the_length_of_the_text():
    """The first key is as far for every query after T; before, far keys are nearer."""
    bias = FIRE(2, length=4, rng=np.random.default_rng(0))
    first = bias(np.arange(12), 12).data[:, :, 0]  # (H, L) of key 0
    np.testing.assert_allclose(first[:, 4:], first[:, 4:5] + np.zeros(8), rtol=1e-4)
    assert (np.abs(np.diff(first[:, :4])) > 1e-3).any()
    bias.W_1.weight.data = np.zeros_like(bias.W_1.weight.data)
    constant = bias(np.arange(12), 12).data  # changes no weight
    np.testing.assert_array_equal(constant, constant[:, :1, :1] + np.zeros((1, 12, 12)))
