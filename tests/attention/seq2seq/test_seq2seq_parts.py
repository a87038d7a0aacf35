"""The encoder-decoder and its parts: Reverser is a config, the cells and orders fit."""

import numpy as np
import pytest

from attention.seq2seq.cells import Cells
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from attention.seq2seq.reverser import KINDS, Reverser
from attention.tasks.reversal import random_batch
from attention.variants.steps import BahdanauStep, LuongStep
from minigrad import Tensor

from .seq2seq_cases import LENGTHS, SOURCE, TARGET, E, H, close, generator, model

# Reverser is one of them


def like(reverser, kind, **options):
    """The Seq2Seq with a Reverser's weights."""
    sizes = dict(embedding=reverser.embed_source.embedding_dim, hidden=reverser.hidden)
    m = Seq2Seq(Seq2SeqConfig(29, 29, **sizes, score=kind, **options))
    state = {}
    for name, value in reverser.state_dict().items():
        H = reverser.hidden
        if name == "W_a":
            state["decoder.order.attention.W_q"] = value[:, :H]
            state["decoder.order.attention.W_k"] = value[:, H:]
            continue
        for old, new in (
            ("embed_source", "encoder.embed"), ("embed_target", "decoder.embed"),
            ("encoder.", "encoder.rnn."), ("decoder.", "decoder.order.cell.layers.0."),
            ("output", "decoder.output"), ("v_a", "decoder.order.attention.w_v"),
            ("W_g", "decoder.order.attention.W_a"),
        ):  # fmt: skip
            if name.startswith(old):
                state[new + name.removeprefix(old)] = value
                break
    m.load_state_dict(state)
    return m


@pytest.mark.parametrize("mask_padding", [True, False])
@pytest.mark.parametrize("init", ["zero", "encoder"])
@pytest.mark.parametrize("kind", KINDS)
def test_reverser_is_a_config(kind, init, mask_padding):
    options = dict(decoder_init=init, mask_padding=mask_padding)
    reverser = Reverser(kind, embedding=4, hidden=8, rng=generator(), **options)
    m = like(reverser, kind, **options)
    batch = random_batch(generator(1), 5, 2, 6)
    arguments = batch.source, batch.target_in, batch.lengths
    np.testing.assert_array_equal(m(*arguments).data, reverser(*arguments).data)


@pytest.mark.parametrize(
    "kind, count",
    [("additive", 63_773), ("dot", 55_517), ("general", 59_613), ("scaled", 55_517)],
)
def test_parameter_counts_are_those_the_chapter_prints(kind, count):
    reverser = Reverser(kind, hidden=64)
    m = like(reverser, kind, decoder_init="zero")
    assert m.num_parameters() == reverser.num_parameters() == count


# The parts


@pytest.mark.parametrize("kind, each", [("gru", 1), ("lstm", 2)])
def test_cells_over_time_equal_cells_step_by_step(kind, each):
    cells = Cells(E, H, kind, layers=3, rng=generator())
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


def test_dropout_stands_between_the_layers_and_not_below():
    cells = Cells(E, H, layers=2, dropout=1.0, rng=generator())
    x = Tensor(generator(1).standard_normal((2, E)).astype(np.float32))
    zeros = Tensor(np.zeros((2, H), np.float32))
    top, low = cells(x, (zeros, zeros))
    np.testing.assert_array_equal(low.data, cells.layers[0](x, zeros).data)
    np.testing.assert_array_equal(top.data, cells.layers[1](zeros, zeros).data)


def test_the_orders_are_those_of_steps():
    """A plain BahdanauStep and LuongStep with the same weights say the same."""
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
