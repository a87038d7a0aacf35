"""Random features: their mean, their directions, large keys, causality."""

import numpy as np
import pytest

from attention import (
    performer_attention,
    random_directions,
    random_features,
)

from ...minigrad.array_cases import draw

N, S, Ev = 2, 9, 3


def close(x, y, atol=1e-12):
    np.testing.assert_allclose(x.data, y, rtol=0, atol=atol)


def draws(orthogonal, q, k, m, times=4000):
    """Return phi(q) . phi(k) of many draws of the directions."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(times):
        W = rng.standard_normal((m, len(q)))
        W = random_directions(m, len(q), rng).astype(float) if orthogonal else W
        a, b = random_features(np.stack([q, k]), W).data
        found.append(a @ b)
    return np.array(found)


def test_the_mean_of_random_features_is_exp():
    """Within 4 standard errors, and with the variance of the formula."""
    q, k = np.full((2, 8), 8**-0.5 / 2)  # of length 1/2
    mean, both = np.exp(q @ k), (q + k) @ (q + k)
    variance = np.exp(both + 2 * q @ k) - np.exp(2 * q @ k)
    independent, orthogonal = (draws(each, q, k, 8) for each in (False, True))
    for found in independent, orthogonal:
        assert abs(found.mean() - mean) < 4 * found.std() / np.sqrt(len(found))
    assert independent.var() * 8 == pytest.approx(variance, rel=0.1)
    assert orthogonal.var() < 0.95 * independent.var()


def test_orthogonal_directions_have_gaussian_lengths():
    W = random_directions(700, 16, np.random.default_rng(0)).astype(float)
    block = W[:16] / np.sqrt((W[:16] ** 2).sum(1, keepdims=True))
    np.testing.assert_allclose(block @ block.T, np.eye(16), atol=1e-6)
    assert (W * W).sum(1).mean() == pytest.approx(16, rel=0.1)
    assert (W * W).sum(1).std() == pytest.approx(np.sqrt(32), rel=0.1)


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scale", [1, 30, 1000])
def test_large_keys_neither_overflow_nor_underflow(scale, is_causal, dtype):
    """The weights of a query sum to 1, and a causal query 0 has only key 0."""
    q, k, v = (x.astype(dtype) for x in draw((S, 128), (S, 128), (S, Ev)))
    W = random_directions(16, 128, np.random.default_rng(0)).astype(dtype)
    weights = performer_attention(q, scale * k, np.eye(S, dtype=dtype), W, is_causal)
    close(weights.sum(-1), np.ones(S), 1e-5)
    if is_causal:
        o = performer_attention(q, scale * k, v, W, is_causal)
        close(o[0], v[0], 1e-5)


def test_later_keys_change_no_bit_of_a_causal_performer():
    q, k, v = draw((N, 90, 16), (N, 90, 16), (N, 90, Ev))
    W = random_directions(8, 16, np.random.default_rng(0)).astype(float)
    before = performer_attention(q, k, v, W, True).data
    for large in 0, 100:  # a key of 0 has a larger exponent than any other
        k[:, 40:], v[:, 40:] = large * k[:, 40:], 1e3
        after = performer_attention(q, k, v, W, True).data
        np.testing.assert_array_equal(after[:, :40], before[:, :40])
