"""The reverser is a preset; stacked cells and steps fit together."""

import numpy as np
import pytest

from attention.seq2seq.cells import StackedCells
from attention.seq2seq.reverser import KINDS, Reverser
from attention.variants.steps import BahdanauStep, LuongStep
from minigrad import Tensor, nn

from .seq2seq_cases import LENGTHS, SOURCE, TARGET, E, H, close, generator, model

# the reverser


@pytest.mark.parametrize("kind", KINDS)
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
        wanted = {"W_a": rng.uniform(-a, a, (H, 2 * H)), "v_a": rng.uniform(-b, b, H)}
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


@pytest.mark.parametrize("kind, each", [("gru", 1), ("lstm", 2)])
def test_cells_over_time_equal_cells_step_by_step(kind, each):
    cells = StackedCells(E, H, kind, layers=3, rng=generator())
    rng = generator(1)
    x = rng.standard_normal((2, 4, E)).astype(np.float32)
    state = tuple(Tensor(rng.standard_normal((2, H)).astype(np.float32))
                  for _ in range(3 * each))  # fmt: skip
    output, last = cells.run(Tensor(x), state)
    for t in range(4):
        state = cells(Tensor(x[:, t]), state)
        np.testing.assert_allclose(output.data[:, t], state[0].data, atol=1e-6)
    for a, b in zip(last, state, strict=True):
        np.testing.assert_allclose(a.data, b.data, atol=1e-6)


def test_dropout_stands_between_the_layers_alone():
    cells = StackedCells(E, H, layers=2, dropout=1.0, rng=generator())
    x = Tensor(generator(1).standard_normal((2, E)).astype(np.float32))
    zeros = Tensor(np.zeros((2, H), np.float32))
    top, low = cells(x, (zeros, zeros))
    np.testing.assert_array_equal(low.data, cells.layers[0](x, zeros).data)
    np.testing.assert_array_equal(top.data, cells.layers[1](zeros, zeros).data)


def test_the_steps_are_those_of_the_variants():
    """A plain BahdanauStep and LuongStep with the same weights agree."""
    for name, kind in (("bahdanau-general-two-sides", BahdanauStep),
                       ("luong-fed", LuongStep)):  # fmt: skip
        m = model(name)
        assert type(m.decoder.order) is kind
        cell = m.decoder.order.cell.layers[0]
        step = kind(E, H, m.config.memory, m.decoder.order.attention)
        step.cell = cell
        if kind is LuongStep:
            step.W_c = m.decoder.order.W_c
        memory, last, lengths = m.encode(SOURCE, LENGTHS)
        state = step.start(m.bridge(last)[0])
        keys = step.attention.precompute(memory)
        expected = m(SOURCE, TARGET, LENGTHS).data
        for t, tokens in enumerate(TARGET.T):
            x = m.decoder.embed(tokens)
            state, output, _ = step(x, state, keys, memory, lengths)
            logits = m.decoder.output(output).data
            np.testing.assert_allclose(logits, expected[:, t], **close)
