"""Greedy, beam search and sampling return complete rows, scores and weights."""

import numpy as np
import pytest

import minigrad as mg
from attention.tasks.batch import EOS, PAD, SOS
from attention.transformer.config import TransformerConfig
from attention.transformer.decoder_only import DecoderOnly

from .decoding_cases import (
    LENGTHS,
    MODELS,
    SOURCE,
    S,
    decoded,
    every_way,
    log_probability,
    tiny,
)


@pytest.mark.parametrize("way", every_way())
@pytest.mark.parametrize("name", MODELS)
def test_rows_end_once_and_hold_neither_pad_nor_sos(name, way):
    d = every_way()[way](MODELS[name](), SOURCE, LENGTHS, 6)
    assert d.ids.dtype == np.int64 and d.ids.shape == (4, d.lengths.max())
    for row, n in zip(d.ids.tolist(), d.lengths):
        said = row[:n]
        assert not {PAD, SOS} & set(said) and set(row[n:]) <= {PAD}
        assert EOS not in said[:-1] and (said[-1] == EOS or n == 6)
    if d.weights is not None:
        assert d.weights.shape == (*d.ids.shape, S)
        for b, n in enumerate(d.lengths):
            assert not d.weights[b, n:].any()
            assert not d.weights[b, :, LENGTHS[b] :].any()


@pytest.mark.parametrize("way", ["greedy", "sample"])
@pytest.mark.parametrize("name", ["table", "gru", "transformer"])
def test_scores_are_log_probabilities(name, way):
    model = MODELS[name]()
    d = every_way()[way](model, SOURCE, LENGTHS, 5)
    with mg.no_grad():
        for b, y in enumerate(decoded(d)):
            logp, looked = log_probability(model, SOURCE[b], LENGTHS[b], y)
            np.testing.assert_allclose(d.scores[b], logp, rtol=1e-4)
            np.testing.assert_allclose(d.weights[b, : len(y)], looked, atol=1e-5)


@pytest.mark.parametrize("way", every_way())
def test_a_model_is_decoded_without_dropout_and_its_mode_restored(way):
    model = tiny(dropout=0.5).train()
    model.encoder.eval()
    modes = [part.training for part in model.modules()]
    recorded = []
    step = model.step

    def recording(state, tokens):
        recorded.append([part.training for part in model.modules()])
        logits, state, weights = step(state, tokens)
        assert not logits.requires_grad and not weights.requires_grad
        return logits, state, weights

    model.step = recording
    d = every_way()[way](model, SOURCE, LENGTHS, 4)
    assert recorded and not any(map(any, recorded))
    assert [part.training for part in model.modules()] == modes
    if way in ("greedy", "beam"):
        plain = every_way()[way](tiny(), SOURCE, LENGTHS, 4)
        np.testing.assert_array_equal(d.ids, plain.ids)
    model.step = lambda state, tokens: 1 / 0
    with pytest.raises(ZeroDivisionError):
        every_way()[way](model, SOURCE, LENGTHS, 4)
    assert [part.training for part in model.modules()] == modes


@pytest.mark.parametrize("way", ["greedy", "beam"])
def test_a_prompt_is_continued(way):
    """The state of a prompt has logits already, and there is no SOS."""
    model = DecoderOnly(TransformerConfig(vocabulary=7, width=8, heads=2),
                        np.random.default_rng(0)).eval()  # fmt: skip
    d = every_way()[way](model, SOURCE, LENGTHS, 5)
    assert d.weights is None
    if way == "beam":
        return
    for b, n in enumerate(LENGTHS):
        ids = SOURCE[b, :n].tolist()
        for token in decoded(d)[b]:
            logits = model(np.array([ids])).data[0, -1].copy()
            logits[[PAD, SOS]] = -np.inf
            assert token == logits.argmax()
            ids.append(token)
