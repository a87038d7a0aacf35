"""Masked softmax equals its definition, in value and in gradient."""

import numpy as np
import pytest

from attention import definitions
from attention.softmax import masked_softmax

from .definition_cases import check

B, H, L, S = 2, 3, 4, 5


def draw(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


SOME = np.random.default_rng(1).random((B, H, L, S)) < 0.5
SOME[1, 2, 3] = False  # a query with nothing to attend to
pytestmark = pytest.mark.usefixtures("backend")  # numba and numpy


def test_lengths_are_read_by_their_axes():
    """(B,) has one length for each example, also where L = B."""
    scores = draw(3, 3, S)
    lens = np.array([1, 2, 3])
    by_example = masked_softmax(scores, lens).data
    by_query = masked_softmax(scores, np.tile(lens, (3, 1))).data
    assert (by_example > 0).sum(-1).tolist() == [[n] * 3 for n in (1, 2, 3)]
    assert (by_query > 0).sum(-1).tolist() == [[1, 2, 3]] * 3


@pytest.mark.parametrize(
    "mask", [SOME, SOME[:, :1, :1], SOME[..., :1], np.array(False)], ids=np.shape
)
def test_the_softmax_of_a_mask_is_its_definition(mask):
    """In values and gradients."""
    check(
        lambda s: masked_softmax(s, mask=mask, temperature=0.3),
        lambda s: definitions.softmax(s / 0.3, np.broadcast_to(mask, s.shape)),
        [draw(B, H, L, S)],
    )


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
    lens = np.array([[5, 2, 0, 3], [1, 5, 4, 5]])
    allowed = np.arange(S) < lens[..., None]  # (B, L, S)
    check(
        lambda scores, bias: masked_softmax(scores, lens, bias, temperature=0.6),
        lambda scores, bias: definitions.softmax((scores + bias) / 0.6, allowed),
        [draw(B, L, S), draw(*shape, seed=1)],
    )
