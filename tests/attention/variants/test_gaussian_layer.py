"""GaussianAttention: the score of gaussian.py with a bandwidth that is learned."""

import numpy as np
import pytest

import minigrad as mg
from attention import GaussianAttention, attend
from attention import gaussian
from minigrad.optim import SGD

rng = np.random.default_rng(4)
q, k, v = (rng.standard_normal(shape) for shape in ((2, 3, 4), (2, 5, 4), (2, 5, 2)))


def test_it_is_the_score_with_its_bandwidth():
    layer = GaussianAttention(0.7)
    found = layer(q, k, v, valid_lens=[5, 2])
    score = lambda q, k: gaussian(q, k, 0.7)  # noqa: E731
    context, weights = attend(q, k, v, score, valid_lens=[5, 2])
    # the logarithm of the bandwidth is kept in float32
    np.testing.assert_allclose(found.data, context.data, rtol=1e-5)
    np.testing.assert_allclose(layer.attention_weights.data, weights.data, rtol=1e-5)


def test_gradients_into_the_bandwidth_too():
    result = mg.gradcheck_module(GaussianAttention(1.3), q, k, v)
    assert result.ok, result.message


def test_a_bandwidth_stays_above_zero_however_it_is_learned():
    """With each key its own neighbour, the error is least where h is 0: it shrinks."""
    layer, points = GaussianAttention(1.0), rng.standard_normal((9, 2))
    values = rng.standard_normal((9, 1))
    optimizer, widths = SGD(layer.parameters(), lr=0.05), []
    for _ in range(30):
        optimizer.zero_grad()
        ((layer(points, points, values) - values) ** 2).sum().backward()
        optimizer.step()
        widths.append(float(np.exp(layer.log_bandwidth.data)))
    assert 0 < widths[-1] < widths[0] / 2


@pytest.mark.parametrize("far", [-1e4, 1e4])
def test_a_step_that_went_too_far_ends_nothing(far):
    layer = GaussianAttention()
    layer.log_bandwidth.data = np.float32(far)
    found = layer(q, k, v)
    assert np.isfinite(found.data).all()
    assert repr(layer).startswith("GaussianAttention(bandwidth=")


def test_as_text():
    assert repr(GaussianAttention(0.5, 0.1)) == (
        "GaussianAttention(bandwidth=0.5, dropout=0.1)"
    )


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), 1e16])
def test_refuses(bandwidth):
    with pytest.raises(ValueError, match="^GaussianAttention: bandwidth is .*expected"):
        GaussianAttention(bandwidth)
    with pytest.raises(ValueError, match="^GaussianAttention: bandwidth has shape"):
        GaussianAttention(np.ones(3))
    with pytest.raises(TypeError, match="bandwidth is a Tensor; expected a number"):
        GaussianAttention(mg.Tensor(2.0))
