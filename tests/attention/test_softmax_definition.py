"""Masked softmax is its definition, written as plain loops."""

import numpy as np
import pytest

from attention.softmax import masked_softmax
from minigrad import Tensor

from .kernels.kernel_cases import BACKENDS, running
from .softmax_cases import B, H, L, S, allowed_by, draw, masks, weights

LENS = [[2, 5], [0, 3], [[1, 2, 3, 4], [5, 0, 5, 1]]]
SHAPES = [(B, L, S), (B, H, L, S), (B, 2, H, L, S)]


@pytest.fixture(params=BACKENDS, autouse=True)
def backend(request):
    with running(request.param):
        yield


@pytest.mark.parametrize("lens", LENS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lengths(shape, lens):
    scores = draw(*shape)
    expected = weights(scores, allowed_by(lens, shape))
    for given in (lens, tuple(lens), np.array(lens), Tensor(lens), np.uint8(lens)):
        p = masked_softmax(Tensor(scores), given).data
        np.testing.assert_allclose(p, expected, rtol=1e-14)
        assert not p[expected == 0].any()


def test_lengths_of_single_queries():
    """Scores (B, S), of one query each."""
    scores = draw(B, S)
    allowed = np.array([[j < n for j in range(S)] for n in (2, 5)])
    expected = weights(scores, allowed)
    np.testing.assert_allclose(masked_softmax(scores, [2, 5]).data, expected)


def test_one_number_a_query_is_told_by_the_axes_alone():
    """Where L = B, (B,) still means one length for each example."""
    scores = draw(3, 3, S)
    lens = np.array([1, 2, 3])
    by_example = masked_softmax(scores, lens).data
    by_query = masked_softmax(scores, np.tile(lens, (3, 1))).data
    assert (by_example > 0).sum(-1).tolist() == [[n] * 3 for n in (1, 2, 3)]
    assert (by_query > 0).sum(-1).tolist() == [[1, 2, 3]] * 3


def test_the_example_of_the_chapter():
    """Scores (2, 2, 4) with valid_lens [2, 3] and [[1, 3], [2, 4]]."""
    scores = draw(2, 2, 4, dtype=np.float32)
    for lens in ([2, 3], [[1, 3], [2, 4]]):
        p = masked_softmax(scores, lens).data
        assert p.dtype == np.float32
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-6)
        np.testing.assert_array_equal(p > 0, allowed_by(lens, p.shape))
    assert masked_softmax(scores, [[1, 3], [2, 4]]).data[0, 0, 0] == 1


@pytest.mark.parametrize("name", masks())
def test_bool_masks(name):
    scores, mask = draw(B, H, L, S), masks()[name]
    allowed = np.broadcast_to(mask, scores.shape)
    p = masked_softmax(scores, mask=mask).data
    np.testing.assert_allclose(p, weights(scores, allowed), rtol=1e-14)
    np.testing.assert_array_equal(p > 0, allowed)
    as_tensor = masked_softmax(scores, mask=Tensor(mask)).data
    np.testing.assert_array_equal(as_tensor, p)


def test_a_mask_and_lengths_must_both_allow():
    scores, mask = draw(B, H, L, S), masks()["full"]
    both = mask & allowed_by([2, 4], scores.shape)
    p = masked_softmax(scores, [2, 4], mask).data
    np.testing.assert_allclose(p, weights(scores, both), rtol=1e-14)


@pytest.mark.parametrize("shape", [(B, H, L, S), (L, S), (H, 1, S), (1,)], ids=str)
def test_a_float_mask_is_added(shape):
    scores, bias = draw(B, H, L, S), draw(*shape, seed=1)
    everything = np.ones(scores.shape, bool)
    expected = weights(scores + bias, everything, 0.7)
    p = masked_softmax(scores, mask=bias, temperature=0.7).data
    np.testing.assert_allclose(p, expected, rtol=1e-13)


def test_a_float_mask_of_minus_infinity_masks():
    scores, mask = draw(B, H, L, S), masks()["full"]
    p = masked_softmax(scores, mask=np.where(mask, 0, -np.inf)).data
    np.testing.assert_array_equal(p, masked_softmax(scores, mask=mask).data)


def test_a_float_mask_has_the_dtype_of_the_scores():
    scores = draw(L, S, dtype=np.float32)
    bias = np.where(np.arange(S) < 3, 0.0, -1e300)  # float64; -inf in float32
    for mask in (bias, Tensor(bias)):
        p = masked_softmax(scores, mask=mask)
        assert p.dtype == np.float32
        assert not p.data[:, 3:].any()


def test_the_order_of_temperature_and_mask():
    scores = draw(L, S)
    bias = draw(L, S, seed=1)
    everything = np.ones((L, S), bool)
    for T in (0.1, 1, 30.0, np.float32(2)):
        p = masked_softmax(scores, mask=bias, temperature=T).data
        expected = weights(scores + bias, everything, float(T))
        np.testing.assert_allclose(p, expected, rtol=1e-13)


def test_the_limits_of_the_temperature():
    scores = np.array([[1.0, 3.0, 3.0, -2.0]])
    allowed = np.array([True, True, True, False])
    cold = masked_softmax(scores, mask=allowed, temperature=1e-30).data
    hot = masked_softmax(scores, mask=allowed, temperature=1e30).data
    np.testing.assert_array_equal(cold, [[0, 0.5, 0.5, 0]])  # ties share
    np.testing.assert_array_equal(hot, [[1 / 3, 1 / 3, 1 / 3, 0]])
    wide = np.array([[1e38, -1e38, 3e38]], np.float32)
    for T in (1e-30, 1.0, 1e30):
        p = masked_softmax(wide, temperature=T).data
        assert p[0].argmax() == 2 and p.sum() == 1


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -1])
def test_any_axis(axis):
    scores = draw(3, 4, 5)
    mask = np.random.default_rng(2).random((3, 4, 5)) < 0.7
    expected = np.moveaxis(
        weights(np.moveaxis(scores, axis, -1), np.moveaxis(mask, axis, -1)), -1, axis
    )
    p = masked_softmax(scores, mask=mask, axis=axis).data
    np.testing.assert_allclose(p, expected, rtol=1e-13)
    bias = draw(4, 1, seed=3)  # fewer axes than the scores
    p = masked_softmax(scores, mask=bias, axis=axis).data
    other = masked_softmax(scores + bias, axis=axis).data
    np.testing.assert_array_equal(p, other)
    lower = masked_softmax(scores, mask=mask[0], axis=axis).data
    full = np.broadcast_to(mask[0], mask.shape)
    np.testing.assert_array_equal(
        lower, masked_softmax(scores, mask=full, axis=axis).data
    )


def test_lengths_along_another_axis():
    """Keys first, queries last: (B, S, L)."""
    scores = draw(B, L, S)
    for lens in LENS:
        p = masked_softmax(scores.swapaxes(1, 2), lens, axis=1).data
        np.testing.assert_array_equal(p.swapaxes(1, 2), masked_softmax(scores, lens))
