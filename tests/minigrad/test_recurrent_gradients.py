"""GRU and LSTM: gradients of layers and cells equal finite differences.

``tests/ops/recurrent.py`` compares the operations with loops, and has the zoo of their
wrong backwards.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn

from .recurrent_cases import LAYERS, RAGGED, STATES, B, D, H, T


@pytest.mark.parametrize(
    "layers, both, lengths",
    [(1, False, None), (2, False, None), (1, True, RAGGED), (2, True, RAGGED)],
)
@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_into_every_weight_and_state(kind, layers, both, lengths):
    rng = np.random.default_rng(0)
    layer = LAYERS[kind](D, H, layers, both, rng=rng)
    x = rng.standard_normal((B, T, D))
    states = [rng.standard_normal((layers * (1 + both), B, H)) for _ in STATES[kind]]
    state = tuple(states) if kind == "lstm" else states[0]
    result = mg.gradcheck_module(layer, x, state, lengths)
    assert result.ok, result.message
    assert len(result.rows) == layers * (1 + both) * 4 + 1 + len(states)


@pytest.mark.parametrize("layer", [nn.GRUCell, nn.LSTMCell])
def test_gradients_of_cells(layer):
    rng = np.random.default_rng(0)
    h, c = rng.standard_normal((2, B, H))
    state = (h, c) if layer is nn.LSTMCell else h
    result = mg.gradcheck_module(
        layer(D, H, rng=rng), rng.standard_normal((B, D)), state
    )
    assert result.ok, result.message
