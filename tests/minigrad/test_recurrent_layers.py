"""GRU and LSTM as layers: gradients, empty batches, the weights of cells, dropout.

``tests/ops/recurrent.py`` compares the operations with loops.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn

from .recurrent_cases import LAYERS, STATES, B, D, H, T


@pytest.mark.parametrize("kind", ["gru", pytest.param("lstm", marks=pytest.mark.deep)])
def test_gradients_into_every_weight_and_state(kind):
    """Two layers, in both directions, of sequences of unequal length."""
    rng = np.random.default_rng(0)
    B, T, D, H, lengths = 2, 3, 2, 1, np.array([3, 2])
    layer = LAYERS[kind](D, H, 2, bidirectional=True, rng=rng)
    states = [rng.standard_normal((4, B, H)) for _ in STATES[kind]]
    state = tuple(states) if kind == "lstm" else states[0]
    result = mg.gradcheck_module(layer, rng.standard_normal((B, T, D)), state, lengths)
    assert result.ok, result.message
    assert len(result.rows) == 4 * 4 + 1 + len(states)


@pytest.mark.parametrize("kind", LAYERS)
def test_an_empty_batch(kind):
    layer = LAYERS[kind](D, H, 2, bidirectional=True)
    for lengths in (None, np.zeros(0, int), []):
        output, last = layer(Tensor(np.ones((0, T, D), np.float32)), lengths=lengths)
        output.sum().backward()
        assert output.shape == (0, T, 2 * H)
        assert all((p.grad == 0).all() for p in layer.parameters())


@pytest.mark.parametrize("cell, layer", [("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_cells_and_layers_share_weights(cell, layer):
    """A cell given the layer's weights does what the layer does."""
    layer = layer(D, H, rng=np.random.default_rng(0))
    step = (nn.GRUCell if cell == "gru" else nn.LSTMCell)(D, H)
    step.load_state_dict({n[:-3]: a for n, a in layer.state_dict().items()})
    x = np.random.default_rng(1).standard_normal((B, T, D)).astype(np.float32)
    output, _ = layer(x)
    state = None
    for t in range(T):
        state = step(x[:, t], state)
        h = state[0] if cell == "lstm" else state
        np.testing.assert_allclose(h.data, output.data[:, t], rtol=1e-5, atol=1e-6)


def test_dropout_acts_between_layers_in_training_only():
    layer = nn.GRU(D, H, 2, dropout=0.5, rng=np.random.default_rng(0))
    x = np.ones((B, T, D), np.float32)
    assert not np.array_equal(layer(x)[0].data, layer(x)[0].data)
    layer.eval()
    plain = nn.GRU(D, H, 2)
    plain.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(layer(x)[0].data, plain(x)[0].data)
    everything = nn.GRU(D, H, 2, dropout=1.0, rng=np.random.default_rng(0))
    above = nn.GRU(H, H)
    above.load_state_dict(
        {n[:-1] + "0": a for n, a in everything.state_dict().items() if "_l1" in n}
    )
    output, h_n = everything(x)
    zeros = np.zeros((B, T, H), np.float32)
    np.testing.assert_array_equal(output.data, above(zeros)[0].data)
    # neither what goes into the first layer nor the states of a layer are dropped
    np.testing.assert_array_equal(h_n.data[0], everything.eval()(x)[1].data[0])
    runs = [nn.GRU(D, H, 2, dropout=0.5, rng=np.random.default_rng(3)) for _ in "ab"]
    np.testing.assert_array_equal(*[run(x)[0].data for run in runs])
