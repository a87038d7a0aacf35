"""T5's buckets are those of their formula, for integers of any size and dtype."""

import math

import numpy as np
import pytest

from attention.positions import t5_bucket
from minigrad import Tensor

from .positions_relative_cases import bucket_by_formula


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
