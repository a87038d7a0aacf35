"""Masked softmax equals its definition, in value and in gradient."""

import numpy as np
import pytest

from attention import definitions
from attention.softmax import masked_softmax
from minigrad import Tensor

from .definition_cases import check

B, H, L, S = 2, 3, 4, 5


def draw(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def allowed_by(lens, shape):
    """allowed[b, ..., i, j] = j < lens[b], or j < lens[b, i]"""
    allowed = np.zeros(shape, bool)
    for b, *heads, i, j in np.ndindex(shape):
        n = lens[b] if np.ndim(lens) == 1 else lens[b][i]
        allowed[(b, *heads, i, j)] = j < n
    return allowed


def masks():
    """Bool masks of every shape that broadcasts to (B, H, L, S)."""
    some = np.random.default_rng(1).random((B, H, L, S)) < 0.5
    some[1, 2, 3] = False  # a query with nothing to attend to
    return {
        "full": some,
        "keys": some[:, :1, :1],
        "pairs": some[0, 0],
        "queries": some[..., :1],
        "one": np.array(True),
        "none": np.array(False),
    }


LENS = [[2, 5], [0, 3], [[1, 2, 3, 4], [5, 0, 5, 1]]]
SHAPES = [(B, L, S), (B, 2, H, L, S)]


pytestmark = pytest.mark.usefixtures("backend")  # numba and numpy


@pytest.mark.parametrize("lens", LENS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lengths(shape, lens):
    scores = draw(*shape)
    expected = definitions.softmax(scores, allowed_by(lens, shape))
    for given in (lens, Tensor(lens), np.uint8(lens)):
        p = masked_softmax(Tensor(scores), given).data
        np.testing.assert_allclose(p, expected, rtol=1e-14)
        assert not p[expected == 0].any()


def test_lengths_are_read_by_their_axes():
    """(B,) has one length for each example, also where L = B."""
    scores = draw(3, 3, S)
    lens = np.array([1, 2, 3])
    by_example = masked_softmax(scores, lens).data
    by_query = masked_softmax(scores, np.tile(lens, (3, 1))).data
    assert (by_example > 0).sum(-1).tolist() == [[n] * 3 for n in (1, 2, 3)]
    assert (by_query > 0).sum(-1).tolist() == [[1, 2, 3]] * 3


@pytest.mark.parametrize("shape", [(B, H, L, S), (H, 1, S), (1,)], ids=str)
def test_a_float_mask_is_added(shape):
    scores, bias = draw(B, H, L, S), draw(*shape, seed=1)
    expected = definitions.softmax((scores + bias) / 0.7)
    p = masked_softmax(scores, mask=bias, temperature=0.7).data
    np.testing.assert_allclose(p, expected, rtol=1e-13)


@pytest.mark.parametrize("name", masks())
def test_the_operation_equals_its_definition(name):
    """In values and gradients."""
    allowed = np.broadcast_to(masks()[name], (B, H, L, S))
    check(
        lambda s: masked_softmax(s, mask=allowed, temperature=0.3),
        lambda s: definitions.softmax(s / 0.3, allowed),
        [draw(B, H, L, S)],
    )


def test_a_float_mask_of_minus_infinity_masks():
    scores, mask = draw(B, H, L, S), masks()["full"]
    p = masked_softmax(scores, mask=np.where(mask, 0, -np.inf)).data
    np.testing.assert_allclose(p, definitions.softmax(scores, mask), rtol=1e-14)


def test_a_float_mask_has_the_dtype_of_the_scores():
    scores = draw(L, S, dtype=np.float32)
    bias = np.where(np.arange(S) < 3, 0.0, -1e300)  # float64; -inf in float32
    p = masked_softmax(scores, mask=bias)
    assert p.dtype == np.float32
    assert not p.data[:, 3:].any()


def test_the_limits_of_the_temperature():
    scores = np.array([[1.0, 3.0, 3.0, -2.0]])
    allowed = np.array([True, True, True, False])
    cold = masked_softmax(scores, mask=allowed, temperature=1e-30).data
    hot = masked_softmax(scores, mask=allowed, temperature=1e30).data
    np.testing.assert_allclose(cold, [[0, 0.5, 0.5, 0]])  # ties share
    np.testing.assert_allclose(hot, [[1 / 3, 1 / 3, 1 / 3, 0]])
    wide = np.array([[1e38, -1e38, 3e38]], np.float32)
    for T in (1e-30, 1.0, 1e30):
        p = masked_softmax(wide, temperature=T).data
        assert p[0].argmax() == 2 and p.sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", [(L, S), (B, 1, S)], ids=str)
def test_gradients_of_scores_and_float_mask(shape):
    lens = [[5, 2, 0, 3], [1, 5, 4, 5]]
    check(
        lambda scores, bias: masked_softmax(scores, lens, bias, temperature=0.6),
        lambda scores, bias: definitions.softmax(
            (scores + bias) / 0.6, allowed_by(lens, (B, L, S))
        ),
        [draw(B, L, S), draw(*shape, seed=1)],
    )


def test_large_scores_and_infinities():
    inf = np.inf
    scores = np.array(
        [[1e4, -1e4, 0], [-1e4, -1e4, -1e4], [-inf, 0, 0], [-inf, -inf, -inf]]
    )
    p = masked_softmax(scores).data
    expected = [[1, 0, 0], [1 / 3] * 3, [0, 0.5, 0.5], [0, 0, 0]]
    np.testing.assert_allclose(p, expected, rtol=1e-15)
