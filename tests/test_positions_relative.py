"""Biases of relative positions: T5's buckets and ALiBi, as matrix and by offset."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.positions import (
    T5RelativeBias,
    alibi_bias,
    alibi_by_offset,
    alibi_slopes,
    t5_bucket,
    toeplitz,
)
from attention.softmax import masked_softmax
from minigrad import Tensor

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
ALIGNMENTS = ["upper_left", "lower_right"]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ALIGNMENTS)
CLOSE = {"rtol": 0, "atol": 1e-13}


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def query_position(i, L, S, align):
    return i + S - L if align == "lower_right" else i


# T5


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
    + [(True, 19, 10), (False, 19, 256), (False, 10, 160), (True, 64, 1024)],
)
def test_buckets_by_their_formula(bidirectional, num_buckets, max_distance):
    rel = np.arange(-300, 301)
    expected = [
        bucket_by_formula(int(r), bidirectional, num_buckets, max_distance) for r in rel
    ]
    found = t5_bucket(rel, bidirectional, num_buckets, max_distance)
    assert found.tolist() == expected
    assert found.dtype.kind == "i" and 0 <= found.min() <= found.max() < num_buckets


def test_the_known_buckets():
    both = {0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -15: 9, -16: 10, -32: 12,
            -64: 14, -128: 15, -10**6: 15, 1: 17, 7: 23, 8: 24, 11: 24, 16: 26,
            64: 30, 128: 31, 10**6: 31}  # fmt: skip
    past = {10**6: 0, 1: 0, 0: 0, -1: 1, -15: 15, -16: 16, -18: 16, -19: 17, -20: 17,
            -21: 18, -32: 21, -64: 26, -112: 30, -113: 31, -(10**6): 31}  # fmt: skip
    assert {r: int(t5_bucket(r)) for r in both} == both
    assert t5_bucket(np.array(list(past)), False).tolist() == list(past.values())
    assert 16 not in t5_bucket(np.arange(-999, 999))  # of j > i, and distance 0


def test_where_the_rounding_of_logarithms_would_decide():
    """4 2^k: whole quotients, at three of which float64 logarithms fall short."""
    n, e, K = [8, 16, 32, 64], 4, 5
    assert t5_bucket(-np.array(n), False, 9, 128).tolist() == [5, 6, 7, 8]
    quotients = [math.log(each / e) / math.log(128 / e) * K for each in n]
    assert [e + math.floor(q) for q in quotients] == [4, 5, 7, 7]


def test_buckets_of_any_integers():
    for dtype, least in (np.int8, -128), (np.uint8, 3), (np.uint64, 3):
        rel = np.array([[127, least], [0, 1]])  # negatives of the dtype overflow
        for bidirectional in (True, False):
            found = t5_bucket(rel.astype(dtype), bidirectional)
            np.testing.assert_array_equal(found, t5_bucket(rel, bidirectional))
    assert t5_bucket(np.zeros((0, 3), int)).shape == (0, 3)
    assert t5_bucket(Tensor([-1, 1])).tolist() == [1, 17]
    rel = -np.arange(1200)
    by_numpy = t5_bucket(rel, False, np.int64(32), np.int64(1000))  # no overflow
    np.testing.assert_array_equal(by_numpy, t5_bucket(rel, False, 32, 1000))


def test_buckets_as_in_the_models_that_have_them():
    """The formula as it is in common use, in float32, on the standard table."""
    torch = pytest.importorskip("torch")
    rel = torch.arange(-300, 301)
    for bidirectional in (True, False):
        nb, base, n = 32, 0, -torch.minimum(rel, torch.zeros_like(rel))
        if bidirectional:
            nb, base, n = 16, (rel > 0) * 16, rel.abs()
        far = torch.log(n.float() / (nb // 2)) / math.log(128 / (nb // 2)) * (nb // 2)
        far = torch.clamp(nb // 2 + far.long(), max=nb - 1)
        expected = base + torch.where(n < nb // 2, n, far)
        assert t5_bucket(rel.numpy(), bidirectional).tolist() == expected.tolist()


def relative_bias(bidirectional=True, H=3, seed=0):
    module = T5RelativeBias(H, 8, 6, bidirectional)
    module.table.data = draw(8, H, seed=seed)
    return module


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


def test_t5_gradcheck_through_attention():
    """Of queries, keys, values and table; products of the batch share the bias."""
    module = relative_bias()

    def attention(q, k, v, table):
        v_ = toeplitz(
            mg.swapaxes(table[t5_bucket(np.arange(-4, 7), True, 8, 6)], 0, 1), 5, 7
        )
        return attend(q, k, v, "dot", bias=v_)

    arrays = draw(2, 3, 5, 4), draw(2, 3, 7, 4, seed=1), draw(2, 3, 7, 2, seed=2)
    by_hand = attention(*arrays, module.table)[0].data
    np.testing.assert_array_equal(
        by_hand, attend(*arrays, "dot", bias=module(5, 7))[0].data
    )
    result = mg.gradcheck(attention, [*arrays, module.table.data])
    assert result.ok, result


def test_t5_table_of_zeros_is_no_bias():
    q, k, v = draw(2, 5, 4), draw(2, 7, 4, seed=1), draw(2, 7, 2, seed=2)
    module = T5RelativeBias(2)
    assert module.table.shape == (32, 2) and module.table.dtype == np.float32
    plain, biased = (attend(q, k, v, bias=b)[0].data for b in (None, module(5, 7)))
    np.testing.assert_array_equal(plain, biased)


def test_a_step_of_decoding_is_the_last_row():
    module = relative_bias(bidirectional=False)
    whole, step = module(7, 7).data, module(1, 7, causal_align="lower_right").data
    np.testing.assert_array_equal(step[:, 0], whole[:, -1])
    whole, step = alibi_bias(3, 7, 7), alibi_bias(3, 1, 7, causal_align="lower_right")
    np.testing.assert_array_equal(step[:, 0], whole[:, -1])


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_biases_of_nothing(L, S):
    module = relative_bias()
    bias = module(L, S)
    assert bias.shape == alibi_bias(3, L, S).shape == (3, L, S)
    bias.backward(np.ones((3, L, S)))
    assert not module.table.grad.any()


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


@both_alignments
def test_under_a_causal_mask_the_position_of_the_key_is_enough(align):
    """There +m j and -m |i - j| differ by a number for each row, which cancels."""
    L, S, H = 5, 7, 6
    s = draw(2, H, L, S)
    i, j = query_position(np.arange(L)[:, None], L, S, align), np.arange(S)
    row_constant = alibi_slopes(H, np.float64)[:, None, None] * j
    bias = alibi_bias(H, L, S, align, np.float64)
    short, full = (
        masked_softmax(s + b, mask=j <= i).data for b in (row_constant, bias)
    )
    np.testing.assert_allclose(short, full, **CLOSE)
    short, full = (masked_softmax(s + b).data for b in (row_constant, bias))
    assert np.abs(short - full).max() > 0.1


def test_alibi_is_symmetric_and_slopes_of_0_change_nothing():
    bias = alibi_bias(5, 7, 7)
    np.testing.assert_array_equal(bias, bias.swapaxes(1, 2))
    q, k, v = draw(5, 7, 4), draw(5, 7, 4, seed=1), draw(5, 7, 2, seed=2)
    plain, biased = (attend(q, k, v, bias=b)[0].data for b in (None, 0.0 * bias))
    np.testing.assert_array_equal(plain, biased)
    near = attend(q, k, v, bias=bias)[1].data
    assert (np.diagonal(near, axis1=1, axis2=2) > np.diagonal(
        attend(q, k, v)[1].data, axis1=1, axis2=2)).all()  # fmt: skip


def test_alibi_keeps_float32_scores():
    q = Tensor(draw(2, 5, 4).astype(np.float32), requires_grad=True)
    context, weights = attend(q, q, q, bias=alibi_bias(2, 5, 5))
    assert context.dtype == weights.dtype == np.float32


bias = T5RelativeBias(2)
REFUSED = {
    "t5_bucket": (TypeError, lambda: t5_bucket([0.5]), "float64", "integers"),
    "t5_bucket-few": (ValueError, lambda: t5_bucket(0, True, 3), "is 3", "at least 4"),
    "t5_bucket-one": (ValueError, lambda: t5_bucket(0, False, 1), "is 1", "least 2"),
    "t5_bucket-near": (
        ValueError,
        lambda: t5_bucket(0, True, 32, 8),
        "max_distance is 8",
        "more than 8",
    ),
    "t5_bucket-half": (TypeError, lambda: t5_bucket(0, True, 32.0), "is 32.0"),
    "t5_bucket-far": (TypeError, lambda: t5_bucket(0, True, 32, 1e2), "is 100.0"),
    "t5_bucket-layer": (ValueError, lambda: T5RelativeBias(2, 2), "num_buckets is 2"),
    "T5RelativeBias": (ValueError, lambda: bias(-1, 5), "(2, 32, 128)", "L is -1"),
    "T5RelativeBias-S": (ValueError, lambda: bias(5, 2.0), "S is 2.0", "keys"),
    "T5RelativeBias-align": (
        ValueError,
        lambda: bias(5, 5, causal_align="bottom_right"),
        "'bottom_right'",
        "'upper_left' or 'lower_right'",
    ),
    "alibi_slopes": (ValueError, lambda: alibi_slopes(0), "num_heads is 0"),
    "alibi_slopes-half": (ValueError, lambda: alibi_slopes(1.5), "num_heads is 1.5"),
    "alibi_bias": (ValueError, lambda: alibi_bias(2, 5, -1), "S is -1"),
    "alibi_bias-align": (ValueError, lambda: alibi_bias(2, 5, 5, True), "is True"),
    "toeplitz": (ValueError, lambda: toeplitz(np.ones((3, 5)), 3, 5), "(3, 5)", "7"),
    "toeplitz-number": (ValueError, lambda: toeplitz(1.0, 1, 1), "shape ()"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name):
    kind, attempt, *words = REFUSED[name]
    with pytest.raises(kind) as refusal:
        attempt()
    message = str(refusal.value)
    assert message.startswith(name.split("-")[0]) and message.endswith(".")
    for word in words:
        assert word in message, message
