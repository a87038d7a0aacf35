"""The loss of coverage is its definition, up to its edges and ties."""

import numpy as np
import pytest

from attention.variants.coverage import coverage_loss
from minigrad import Tensor

from .coverage_cases import B, L, S, by_loops, close, example, layer


def loss_by_loops(weights, coverages, counts):
    """The mean over the steps that count, then over the examples."""
    losses = []
    for b in range(len(weights)):
        steps = [
            sum(min(a, c) for a, c in zip(weights[b, t], coverages[b, t]))
            for t in range(len(counts[b]))
            if counts[b][t]
        ]
        losses.append(sum(steps) / len(steps) if steps else 0.0)
    return sum(losses) / len(losses)


@pytest.mark.parametrize(
    "options, counts",
    [
        ({}, [[1, 1, 1, 1], [1, 1, 1, 1]]),
        ({"target_lens": [4, 2]}, [[1, 1, 1, 1], [1, 1, 0, 0]]),
        ({"target_lens": [0, 3]}, [[0, 0, 0, 0], [1, 1, 1, 0]]),
        ({"mask": [[True, False, True, True], [False] * 4]}, [[1, 0, 1, 1], [0] * 4]),
        (
            {"target_lens": [3, 4], "mask": [[False, True, True, True], [True] * 4]},
            [[0, 1, 1, 0], [1, 1, 1, 1]],
        ),
    ],
)
def test_the_loss_is_its_definition(options, counts):
    _, weights, coverages = by_loops(layer(), *example(), [5, 3])
    expected = loss_by_loops(weights, coverages, counts)
    loss = coverage_loss(weights, coverages, **options)
    assert loss.shape == ()
    np.testing.assert_allclose(loss.item(), expected, **close)
    assert 0 <= loss.item() <= 1


def test_the_loss_from_its_edges():
    a = np.array([[[0.2, 0.8], [0.2, 0.8]]])
    c = np.array([[[0.0, 0.0], [0.2, 0.8]]])
    assert coverage_loss(a, c).item() == 0.5  # nothing at first, all of it again then
    assert coverage_loss(a, 0 * c).item() == 0
    for shape in (0, L, S), (B, 0, S), (B, L, 0):
        assert coverage_loss(np.zeros(shape), np.zeros(shape)).item() == 0


def test_of_equals_each_has_half_of_the_gradient():
    a = Tensor([[[0.5, 0.2, 0.3]]], requires_grad=True)
    c = Tensor([[[0.5, 0.9, 0.1]]], requires_grad=True)
    coverage_loss(a, c).backward()
    np.testing.assert_array_equal(a.grad, [[[0.5, 1, 0]]])
    np.testing.assert_array_equal(c.grad, [[[0.5, 0, 1]]])


def test_steps_that_do_not_count_have_no_influence_and_may_be_nan():
    weights, coverages = np.random.default_rng(0).random((2, B, L, S))
    results = []
    for filling in None, np.nan:
        if filling is not None:
            weights[1, 2:] = coverages[1, 2:] = filling
        a, c = (Tensor(x, requires_grad=True) for x in (weights, coverages))
        loss = coverage_loss(a, c, [4, 2])
        loss.backward()
        results.append([loss.data, a.grad, c.grad])
    for clean, other in zip(*results):
        np.testing.assert_array_equal(clean, other)
    assert (results[0][1][1, 2:] == 0).all()
