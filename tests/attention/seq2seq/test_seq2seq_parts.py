"""The reverser is a preset; dropout stands between the layers."""

import numpy as np
import pytest

from attention.seq2seq.cells import StackedCells
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.reverser import Reverser
from minigrad import Tensor, nn

from .seq2seq_cases import SPREAD, E, H, config, generator

# the reverser


@pytest.mark.parametrize("kind", ["additive", "dot", "general", "scaled"])
def test_a_reverser_draws_its_parameters_in_the_order_of_the_chapter(kind):
    rng, (V, E, H) = generator(), (29, 4, 8)
    m = Reverser(kind, embedding=E, hidden=H, rng=generator())
    order, attention = m.decoder.order, m.decoder.order.attention
    pairs = [
        (m.encoder.embed, nn.Embedding(V, E, 0, rng=rng)),
        (m.decoder.embed, nn.Embedding(V, E, 0, rng=rng)),
        (m.encoder.rnn, nn.GRU(E, H, rng=rng)),
        (order.cell.layers[0], nn.GRUCell(E + H, H, rng=rng)),
        (m.decoder.output, nn.Linear(2 * H, V, rng=rng)),
    ]
    for found, want in pairs:
        for x, y in zip(found.parameters(), want.parameters(), strict=True):
            np.testing.assert_array_equal(x.data, y.data)
    if kind == "general":
        wanted = {"W_a": 0.1 * rng.standard_normal((H, H))}
    elif kind == "additive":
        a, b = 1 / np.sqrt(2 * H), 1 / np.sqrt(H)
        W_q, W_k = np.split(rng.uniform(-a, a, (H, 2 * H)), 2, axis=1)
        wanted = {"W_q": W_q, "W_k": W_k, "w_v": rng.uniform(-b, b, H)}
    else:
        wanted = {}
    found = dict(attention.named_parameters())
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name].data, array.astype(np.float32))


@pytest.mark.parametrize(
    "kind, count",
    [("additive", 63_773), ("dot", 55_517), ("general", 59_613), ("scaled", 55_517)],
)
def test_parameter_counts_are_those_the_chapter_prints(kind, count):
    assert Reverser(kind, hidden=64).num_parameters() == count


# the parts


def test_dropout_stands_between_the_layers_alone():
    cells = StackedCells(E, H, layers=2, dropout=1.0, rng=generator())
    x = Tensor(generator(1).standard_normal((2, E)).astype(np.float32))
    zeros = Tensor(np.zeros((2, H), np.float32))
    top, low = cells(x, (zeros, zeros))
    np.testing.assert_allclose(low.data, cells.layers[0](x, zeros).data, atol=1e-6)
    np.testing.assert_allclose(top.data, cells.layers[1](zeros, zeros).data, atol=1e-6)


# the config


def test_a_config_is_restored_from_its_dict():
    c = config(**SPREAD["luong-fed-lstm-deep"])
    assert Seq2SeqConfig.from_dict(c.to_dict()) == c
