"""Marian keeps its laws: causality, steps, the best of all sentences, training."""

import numpy as np
import pytest

import attention.marian as marian
from attention.marian.model import Decoding
from minigrad import cross_entropy, no_grad

from .marian_cases import NAMES, close, golden, loaded, make_folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return loaded(tmp_path_factory)


@pytest.mark.parametrize("name", NAMES)
def test_the_future_and_the_padding_change_nothing(models, name):
    g, model = golden(name), models[name]
    target = g["target"].copy()
    target[:, 4:] = 7
    source = np.where(g["mask"], g["source"], 7)
    with no_grad():
        one = model(g["source"], g["target"], g["mask"]).logits.data
        two = model(source, target, g["mask"]).logits.data
    np.testing.assert_allclose(one[:, :4], two[:, :4], rtol=0, atol=1e-6)
    assert np.abs(one[:, 4:] - two[:, 4:]).max() > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_word_by_word_is_all_at_once(models, name):
    g, model = golden(name), models[name]
    rows = np.array([2, 0, 1, 1])
    with no_grad():
        decoding = model.start(g["source"], g["mask"])
        assert isinstance(decoding, Decoding)
        for t in range(3):
            logits = decoding.step(g["target"][:, t])
            np.testing.assert_allclose(logits, g["logits"][:, t], **close)
        decoding.select(rows)
        logits = decoding.step(g["target"][rows, 3])
    np.testing.assert_allclose(logits, g["logits"][rows, 3], **close)


def test_a_beam_as_wide_as_all_finds_the_best_of_all(models):
    """Every sentence of at most three words, by the definition of its score."""
    model, c = models["separate"], models["separate"].config
    source, V, a = golden("separate")["source"][:1], c.decoder_vocab_size, 0.7
    allowed = [w for w in range(V) if [w] not in list(c.bad_words_ids)]

    def logp(rows):  # of the word that follows each row
        with no_grad():
            rows = np.array(rows)
            x = model(np.repeat(source, len(rows), 0), rows).logits.data[:, -1]
        x = x.astype(float)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    start, found = c.decoder_start_token_id, []
    going = [(0.0, [start])]
    for n in (1, 2):
        follow = logp([row for _, row in going])
        found += [(s + p[0], [*r, 0]) for (s, r), p in zip(going, follow)]
        going = [
            (s + p[w], [*r, w])
            for (s, r), p in zip(going, follow)
            for w in allowed
            if w != 0
        ]
    found += [(s, [*row, 0]) for s, row in going]  # EOS is forced, and costs nothing
    best = max(found, key=lambda one: one[0] / (len(one[1]) - 1) ** a)[1]
    for early_stopping in (False, "never"):
        ids = model.generate(
            source, 4, 2000, length_penalty=a, early_stopping=early_stopping
        )
        assert ids[0].tolist() == best


def test_a_beam_of_one_sentence_is_that_of_the_batch(models):
    g, model = golden("untied"), models["untied"]
    for b, n in enumerate(g["mask"].sum(-1)):
        alone = model.generate(g["source"][b : b + 1, :n], 12, 4)[0]
        np.testing.assert_array_equal(alone, g["beam4"][b, : len(alone)])


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_trained_on(models, name, tmp_path):
    g, model = golden(name), marian.load(make_folder(tmp_path, name))
    losses = []
    for _ in range(2):
        model.zero_grad()
        logits = model(g["source"], g["target"][:, :-1], g["mask"]).logits
        loss = cross_entropy(logits.reshape(-1, logits.shape[-1]),
                             g["target"][:, 1:].reshape(-1))  # fmt: skip
        loss.backward()
        losses.append(float(loss))
        for parameter in model.parameters():
            assert np.isfinite(parameter.grad).all() and parameter.grad.any()
            parameter.data = parameter.data - 0.01 * parameter.grad
    assert losses[1] < losses[0]


def test_no_sentence_and_the_longest(models):
    model = models["shared"]
    assert model.generate(np.zeros((0, 3), int), 5).shape == (0, 1)
    assert model.generate(np.zeros((0, 3), int), 5, 2).shape == (0, 1)
    assert model.generate([[1, 2]], 65).shape[1] <= 65
    assert repr(model).startswith("Marian(\n  50 words, d_model=16\n")
