"""Initial values have the distribution that each layer promises."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn

from .nn_cases import NAMES, Model

SIZE = 300  # parameters are SIZE wide, so that moments are known to about 1 / SIZE


def uniform_within(bound, values):
    """U(-bound, bound): its range, and its mean and variance within 5 deviations."""
    n = values.size
    assert np.abs(values).max() <= bound
    assert np.abs(values).max() > bound * (1 - 20 / n)
    assert abs(values.mean()) < 5 * bound / math.sqrt(3 * n)
    # var(u^2) = b^4 (1/5 - 1/9)
    assert abs((values**2).mean() - bound**2 / 3) < 5 * bound**2 * math.sqrt(4 / 45 / n)


@pytest.mark.parametrize(
    "layer, bound",
    [
        (lambda r: nn.Linear(100, SIZE, rng=r), 0.1),
        (lambda r: nn.GRU(7, SIZE, 2, bidirectional=True, rng=r), SIZE**-0.5),
        (lambda r: nn.LSTM(7, SIZE, rng=r), SIZE**-0.5),
        (lambda r: nn.GRUCell(7, SIZE, rng=r), SIZE**-0.5),
        (lambda r: nn.LSTMCell(7, SIZE, rng=r), SIZE**-0.5),
    ],
)
def test_initial_values_are_uniform(layer, bound):
    for parameter in layer(np.random.default_rng(0)).parameters():
        # in float32 the bound may be exceeded by rounding
        uniform_within(bound * (1 + 1e-7), parameter.data.astype(np.float64))


def test_initial_embedding_is_normal():
    values = nn.Embedding(SIZE, SIZE, rng=np.random.default_rng(0)).weight.data
    n = values.size
    assert abs(values.mean()) < 5 / math.sqrt(n)
    assert abs((values**2).mean() - 1) < 5 * math.sqrt(2 / n)
    assert abs((values**4).mean() - 3) < 5 * math.sqrt(96 / n)


def test_initial_layer_norm_is_the_identity():
    layer = nn.LayerNorm(4)
    assert (layer.weight.data == 1).all() and (layer.bias.data == 0).all()


def test_xavier_and_kaiming():
    rng = np.random.default_rng(0)
    weight = nn.Parameter(np.empty((200, 100)))
    assert nn.init.xavier_uniform_(weight, rng=rng) is weight
    uniform_within(math.sqrt(6 / 300), weight.data)
    nn.init.xavier_uniform_(weight, gain=2, rng=rng)
    uniform_within(2 * math.sqrt(6 / 300), weight.data)
    nn.init.kaiming_uniform_(weight, rng=rng)
    uniform_within(math.sqrt(6 / 100), weight.data)
    nn.init.kaiming_uniform_(weight, math.sqrt(5), rng)
    uniform_within(0.1, weight.data)


def test_the_same_generator_gives_the_same_model():
    first, second = (Model(np.random.default_rng(5)).state_dict() for _ in range(2))
    for name in NAMES:
        np.testing.assert_array_equal(first[name], second[name])
    mg.manual_seed(5)
    first = Model().state_dict()
    mg.manual_seed(5)
    second = Model().state_dict()
    assert not np.array_equal(
        first["embed.weight"], Model().state_dict()["embed.weight"]
    )
    for name in NAMES:
        np.testing.assert_array_equal(first[name], second[name])
