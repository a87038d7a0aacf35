"""The softmax and its gradient equal their definition on both backends."""

import math

import numpy as np
import pytest

from attention.kernels import softmax

from .kernel_cases import FLOATS, close, draw, softmax_results


def softmax_definition(x, g, mask=None, temperature=1.0):
    """p and dx, one row at a time."""
    shape, S = (math.prod(x.shape[:-1]), x.shape[-1]), x.shape[-1]
    rows, cotangents = x.reshape(shape).astype(float), g.reshape(shape).astype(float)
    masks = np.broadcast_to(True if mask is None else mask, x.shape).reshape(shape)
    p, dx = np.zeros(shape), np.zeros(shape)
    for r, row in enumerate(rows):
        allowed = [j for j in range(S) if masks[r, j]]
        largest = max((row[j] for j in allowed), default=0)
        total = 0.0
        for j in allowed:
            p[r, j] = math.exp((row[j] - largest) / temperature)
            total += p[r, j]
        for j in allowed:
            p[r, j] /= total
        mean = sum(p[r, n] * cotangents[r, n] for n in allowed)
        for j in allowed:
            dx[r, j] = p[r, j] * (cotangents[r, j] - mean) / temperature
    return p.reshape(x.shape), dx.reshape(x.shape)


_allowed = np.random.default_rng(3).random((2, 3, 4, 5)) < 0.6
_allowed[1, 0, 2] = False

MASKS = {
    "free": ((2, 3, 4, 5), {}),
    "long": ((3, 1100), {}),
    "odd": ((2, 67), {"temperature": 0.3}),
    "one-row": ((7,), {}),
    "no-rows": ((0, 5), {"mask": np.ones(5, bool)}),
    "no-keys": ((3, 0), {}),
    "empty-rows": ((3, 4), {"mask": np.arange(4) < np.array([[0], [4], [1]])}),
    "mask": ((2, 3, 4, 5), {"mask": _allowed}),
    "mask-of-keys": ((2, 3, 4, 5), {"mask": _allowed[:, :1, :1]}),
    "mask-of-pairs": ((2, 3, 4, 5), {"mask": _allowed[0, 1]}),
    "mask-of-heads": ((2, 3, 4, 5), {"mask": _allowed[:1, :, :1, :1]}),
    "mask-of-all": ((2, 3, 4, 5), {"mask": np.array(False)}),
    "hot": ((2, 3, 4, 5), {"mask": _allowed, "temperature": 2.5}),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", MASKS)
def test_softmax_is_its_definition(backend, name, dtype):
    shape, options = MASKS[name]
    x, g = draw(shape, shape, dtype=dtype)
    p, dx = softmax_results(x, g, **options)
    exact, slope = softmax_definition(x, g, **options)
    close(p, exact, dtype)
    close(dx, slope, dtype)
    assert not p[exact == 0].any() and not dx[exact == 0].any(), "masked: exactly 0"


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
    close(p[2], softmax_definition(x[2], 0 * p[3])[0], dtype)
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
