"""Hard attention: the estimates over all choices, Gumbel noise, and torch."""

import numpy as np
import pytest

from attention import (
    best_baseline,
    definitions,
    gumbel_softmax,
    hard_weights,
    reinforce,
)
from attention.variants.hard import gumbel_noise
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..definition_cases import all_keys, close

S = 5
(E_, LOSS) = draw((S,), (S,))
P = definitions.softmax(E_)
EXACT = P * (LOSS - P @ LOSS)  # dJ/de


def estimate(j, baseline=0.0):
    """Return the gradients of scores and losses for the choice j, and the loss."""
    scores, losses = (Tensor(x, requires_grad=True) for x in (E_, LOSS))
    loss = reinforce(losses[j], scores, np.eye(S)[j], baseline)
    loss.backward()
    return scores.grad, losses.grad, loss.data


@pytest.mark.parametrize("baseline", [0.0, 0.7, -3.0])
def test_reinforce_over_all_choices_is_the_exact_gradient(baseline):
    """The mean with the probabilities p, without a single draw."""
    found = [estimate(j, baseline) for j in range(S)]
    close(sum(p * g for p, (g, _, _) in zip(P, found)), EXACT)
    for j, (g, dloss, loss) in enumerate(found):
        close(g, definitions.reinforce(P, j, LOSS[j], baseline))
        close(dloss, np.eye(S)[j])  # what is behind the choice keeps its gradient
        assert loss == LOSS[j]


def test_the_best_baseline_has_the_smallest_variance():
    def variance(b):
        each = [definitions.reinforce(P, j, LOSS[j], b) - EXACT for j in range(S)]
        return sum(p * (d * d).sum() for p, d in zip(P, each))

    best = float(best_baseline(P, LOSS).data)
    lowest = variance(best)
    for step in 1e-3, 0.1, 1.0:
        assert lowest < min(variance(best + step), variance(best - step))
    # a parabola: three of its points give its lowest one
    y = [variance(b) for b in (-1.0, 0.0, 1.0)]
    close(best, (y[0] - y[2]) / (2 * (y[0] - 2 * y[1] + y[2])))
    assert lowest < variance(P @ LOSS) < variance(0)


@pytest.mark.filterwarnings("error")
def test_the_best_baseline_of_one_possible_key_is_its_loss():
    close(best_baseline(np.eye(S), np.tile(LOSS, (S, 1))).data, LOSS)
    close(best_baseline(np.ones(1), LOSS[:1]).data, LOSS[0])
    close(best_baseline(np.zeros(S), LOSS).data, 0)


def test_the_best_baseline_of_a_nearly_certain_draw_is_not_a_rounding_error():
    p = np.array([1 - 1e-7, 1e-7])  # of two keys, b = p_0 l_1 + p_1 l_0
    for dtype in np.float32, np.float64:
        b = best_baseline(p.astype(dtype), np.array([1, 2], dtype)).data
        np.testing.assert_allclose(b, p[0] * 2 + p[1], rtol=1e-6)


def test_noise_draws_by_the_softmax():
    n, rng = 40_000, np.random.default_rng(0)
    s = np.broadcast_to(E_, (n, S))
    found = hard_weights(s, rng=rng).data.mean(0)
    np.testing.assert_array_less(abs(found - P), 4 * np.sqrt(P * (1 - P) / n))
    noise = gumbel_noise((n,), rng, float)
    assert abs(noise.mean() - np.euler_gamma) < 4 * np.pi / np.sqrt(6 * n)


def test_straight_through_has_the_values_of_a_choice_and_the_smooth_gradient():
    s, G, g = draw((7, S), (7, S), (7, S))
    outcomes = []
    for hard in False, True:
        leaf = Tensor(s, requires_grad=True)
        y = gumbel_softmax(leaf, all_keys(s), 0.5, G, hard=hard)
        y.backward(g)
        outcomes.append((y.data, leaf.grad))
    (y, smooth), (one, through) = outcomes
    close(through, smooth)
    close(smooth, y * (g - (y * g).sum(-1, keepdims=True)) / 0.5)
    close(one, hard_weights(s, noise=G).data)


@pytest.mark.filterwarnings("error")
def test_masked_keys_are_never_chosen():
    allowed = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
    s = np.zeros((2, S))
    s[:, 1] = 100
    for normalize in hard_weights, gumbel_softmax:
        leaf = Tensor(s, requires_grad=True)
        p = normalize(leaf, allowed, rng=np.random.default_rng(0))
        assert not p.data[~allowed].any()
        close(p.data.sum(-1), [1, 0])
    loss = reinforce(np.zeros(2), leaf, p.detach(), 1.0, allowed)
    loss.sum().backward()
    assert np.isfinite(leaf.grad).all() and not leaf.grad[~allowed].any()


def test_noise_comes_from_the_generator_that_is_passed():
    s = draw((7, S))[0]
    first, second, other = (
        hard_weights(s, rng=np.random.default_rng(seed)).data for seed in (1, 1, 2)
    )
    assert (first == second).all() and (first != other).any()
    with pytest.raises(TypeError, match="rng is of type int"):
        hard_weights(s, rng=1)
    with pytest.raises(ValueError, match="gumbel_softmax: tau is 0"):
        gumbel_softmax(s, tau=0)
