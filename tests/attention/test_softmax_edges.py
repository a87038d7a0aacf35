"""Empty rows have weight 0, and what is masked has no influence, NaN or infinite."""

import numpy as np
import pytest

from attention.softmax import masked_softmax
from minigrad import Tensor

from .kernels.kernel_cases import BACKENDS, running
from .softmax_cases import B, L, S, draw


@pytest.fixture(params=BACKENDS, autouse=True)
def backend(request):
    with running(request.param):
        yield


def test_a_row_with_nothing_in_it():
    """Weights 0 and gradient 0, and the other rows as if it were not there."""
    scores, g = draw(B, L, S), draw(B, L, S, seed=1)
    leaf = Tensor(scores, requires_grad=True)
    p = masked_softmax(leaf, [[0, 5, 3, 0], [2, 0, 5, 1]])
    p.backward(g)
    empty = np.array([[1, 0, 0, 1], [0, 1, 0, 0]], bool)
    assert not p.data[empty].any() and not leaf.grad[empty].any()
    np.testing.assert_allclose(p.data[~empty].sum(-1), 1)
    assert leaf.grad[0, 1].any()


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_masked_has_no_influence(poison):
    scores, g = draw(B, L, S), draw(B, L, S, seed=1)
    mask = np.random.default_rng(4).random((B, L, S)) < 0.6

    def results(fill):
        leaf = Tensor(np.where(mask, scores, fill), requires_grad=True)
        p = masked_softmax(leaf, [3, 5], mask)
        p.backward(np.where(mask, g, fill))
        return p.data, leaf.grad

    for clean, foul in zip(results(0.0), results(poison)):
        np.testing.assert_array_equal(foul, clean)


def test_large_scores_and_infinities():
    inf, nan = np.inf, np.nan
    scores = np.array(
        [[1e4, -1e4, 0], [-1e4, -1e4, -1e4], [-inf, 0, 0], [-inf, -inf, -inf]]
    )
    p = masked_softmax(scores).data
    expected = [[1, 0, 0], [1 / 3] * 3, [0, 0.5, 0.5], [0, 0, 0]]
    np.testing.assert_allclose(p, expected, rtol=1e-15)
    p = masked_softmax(np.array([[nan, 0, 0], [inf, 0, 0], [0, 0, 0]])).data
    assert np.isnan(p[0]).all() and np.isnan(p[1, 0]) and not p[1, 1:].any()
    np.testing.assert_allclose(p[2], 1 / 3)


def test_shifting_a_row_changes_nothing():
    scores = draw(L, S)
    p = masked_softmax(scores, mask=scores > -0.5).data
    shifted = masked_softmax(scores + 1000.0, mask=scores > -0.5).data
    np.testing.assert_allclose(shifted, p, rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, L, S), (B, 0, S), (B, L, 0), (0,)], ids=str)
def test_empty_scores(shape):
    leaf = Tensor(np.zeros(shape), requires_grad=True)
    lens = np.zeros(shape[0], int) if len(shape) > 1 else None
    p = masked_softmax(leaf, lens, np.ones(shape, bool))
    p.backward(np.zeros(shape))
    assert p.shape == leaf.grad.shape == shape
