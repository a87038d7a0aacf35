"""Sinusoidal positions equal their formula; learned positions are rows of a table."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention import definitions
from attention.positions import LearnedPositions, frequencies, sinusoidal
from minigrad import Tensor


# float64: a few roundings, and angles up to 1000 with an ulp of 1e-13
CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("n, d", [(1, 1), (5, 7), (7, 8), (1000, 3), (0, 4)])
@pytest.mark.parametrize("base", [10000.0, 7.0])
def test_sinusoidal_by_its_formula(n, d, base):
    found = sinusoidal(n, d, base=base, dtype=np.float64)
    expected = definitions.sinusoidal(np.arange(n), d, base)
    np.testing.assert_allclose(found, expected, **CLOSE)


def test_sinusoidal_at_given_positions():
    positions = np.array([[3.0, -2.5, 0.0], [1e3, 7, 3]])
    found = sinusoidal(positions, 5, dtype=np.float64)
    expected = [definitions.sinusoidal(row, 5) for row in positions]
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("k", [1, -3])
def test_a_step_of_k_is_one_rotation_everywhere(k, d=7):
    """PE[p + k] = R(k) PE[p], with an R(k) that does not depend on p."""
    p = np.arange(50, 60)
    here, there = (sinusoidal(x, d, dtype=np.float64) for x in (p, p + k))
    for i, w in enumerate(frequencies(d)[: d // 2]):
        R = [
            [math.cos(k * w), math.sin(k * w)],
            [-math.sin(k * w), math.cos(k * w)],
        ]
        pair = slice(2 * i, 2 * i + 2)
        np.testing.assert_allclose(
            there[:, pair], here[:, pair] @ np.transpose(R), **CLOSE
        )


def test_the_sum_with_embeddings_keeps_their_dtype():
    x = Tensor(np.ones((2, 5, 7), np.float32), requires_grad=True)
    for y in (x + sinusoidal(5, 7), sinusoidal(5, 7) + x):
        assert isinstance(y, Tensor) and y.dtype == np.float32 and y.requires_grad


def test_angles_are_exact_at_large_positions():
    """In float32 the angle alone would be off by up to half a spacing."""
    assert 0.03 < np.spacing(np.float32(1e6)) / 2 < 0.032
    found = sinusoidal([1_000_003], 2)[0]
    expected = [math.sin(1_000_003), math.cos(1_000_003)]
    np.testing.assert_allclose(found, expected, rtol=1e-7)  # rounded to float32


def table(n_max=7, d=3):
    return LearnedPositions(n_max, d, rng=np.random.default_rng(0))


def test_learned_positions_are_rows_of_the_table():
    layer = table()
    weight = layer.weight.data
    assert weight.shape == (7, 3) and weight.dtype == np.float32
    assert dict(layer.named_parameters()).keys() == {"weight"}
    np.testing.assert_array_equal(layer(5).data, weight[:5])
    np.testing.assert_array_equal(layer(7).data, weight)
    ids = np.array([[6, 0, 0], [1, 2, 6]], np.uint8)
    np.testing.assert_array_equal(layer(ids).data, weight[ids])
    assert layer(0).shape == (0, 3) and layer([]).shape == (0, 3)
    assert (table().weight.data == weight).all()  # of the same seed


def test_learned_positions_start_small():
    weight = LearnedPositions(500, 100, rng=np.random.default_rng(1)).weight.data
    # 50 000 draws: the deviation is known to 0.3 %, five of that is 1.6 %
    np.testing.assert_allclose(weight.std(), 0.02, rtol=0.016)


def test_gradients_of_learned_positions():
    """Of rows that are used several times, once, and never."""
    result = mg.gradcheck_module(table(), np.array([[6, 0, 0], [1, 2, 6]]))
    assert result.ok, result
