"""The softmax on both backends: NaN, infinity, and masked scores."""

import numpy as np
import pytest

from attention import definitions
from attention.kernels import softmax

from .kernel_cases import FLOATS, close, draw, softmax_results


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [3, 40])
def test_softmax_of_nan_and_infinity(backend, width, dtype):
    inf, nan = np.inf, np.nan
    x = np.zeros((8, width), dtype)
    x[:, :3] = [
        [nan, 1, 2],
        [inf, 1, 2],
        [-inf, 1, 2],
        [1e4, -1e4, 0],
        [-1e4, -1e4, -1e4],
        [inf, nan, 1e4],
        [nan, nan, nan],
        [-inf, -inf, -inf],
    ]
    x[[4, 6, 7], 3:] = x[[4, 6, 7], :1]
    p = softmax.forward(x, None, 1.0)
    assert np.isnan(p[[0, 5, 6]]).all(), "NaN belongs to the sum"
    assert np.isnan(p[1, 0]) and not p[1, 1:].any(), "exp(2) / inf is 0"
    close(p[2], definitions.softmax(x[2].astype(float), np.ones(width, bool)), dtype)
    np.testing.assert_array_equal(p[3], np.eye(width)[0])
    np.testing.assert_allclose(p[4], 1 / width, rtol=1e-6)
    assert not p[7].any(), "nothing but exp(-inf)"


@pytest.mark.parametrize("width", [3, 40])
def test_masked_scores_have_no_influence_on_softmax(backend, width):
    x, g = draw((4, width), (4, width))
    first = np.arange(width) < np.array([[2], [1], [0], [2]])
    for mask in np.arange(width) % 2 == 0, first:
        p, dx = softmax_results(x, g, mask)
        for poison in (np.nan, np.inf, -np.inf):
            foul, worse = np.where(mask, x, poison), np.where(mask, g, poison)
            close(softmax.forward(foul, mask, 1.0), p, float)
            close(softmax.backward(p, worse, 1.0), dx, float)
