"""Marian: causality, steps, the best of all sentences, training, older files."""

import numpy as np
import pytest

import attention.marian as marian
from attention.marian.load import renamed
from minigrad import checkpoint, cross_entropy, no_grad

from .marian_cases import GOLDEN, NAMES, close, golden, loaded, make_folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return loaded(tmp_path_factory)


@pytest.mark.parametrize("name", NAMES)
def test_later_words_and_padding_change_nothing(models, name):
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
def test_word_by_word_is_the_full_pass(models, name):
    g, model = golden(name), models[name]
    rows = np.array([2, 0, 1, 1])
    with no_grad():
        state = model.start(g["source"], g["mask"])
        for t in range(3):
            logits = model.step(state, g["target"][:, t])
            np.testing.assert_allclose(logits, g["logits"][:, t], **close)
        state.select(rows)
        logits = model.step(state, g["target"][rows, 3])
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


@pytest.mark.parametrize("name", NAMES)
def test_training_lowers_the_loss(models, name, tmp_path):
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


def test_an_empty_batch_and_the_longest_sentence(models):
    model = models["shared"]
    assert model.generate(np.zeros((0, 3), int), 5).shape == (0, 1)
    assert model.generate(np.zeros((0, 3), int), 5, 2).shape == (0, 1)
    assert model.generate([[1, 2]], 65).shape[1] <= 65
    assert repr(model).startswith("Marian(\n  50 words, d_model=16\n")


def test_tables_and_positions_of_older_programs(models, tmp_path):
    g, path = golden("shared"), make_folder(tmp_path, "shared") / "model.safetensors"
    weights = checkpoint.load(path)
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        weights[f"{name}.weight"] = weights["model.shared.weight"]
    angle = np.arange(64)[:, None] / 10000 ** (np.arange(8) / 8)
    P = np.concatenate([np.sin(angle), np.cos(angle)], -1).astype(np.float32)
    weights["model.encoder.embed_positions.weight"] = P
    checkpoint.save(path, weights)
    logits = marian.load(tmp_path)(g["source"], g["target"], g["mask"]).logits
    np.testing.assert_allclose(logits.data, g["logits"], **close)

    arrays = checkpoint.load(GOLDEN / "marian_untied.safetensors")
    for side in ("encoder", "decoder"):
        arrays.pop(f"model.{side}.embed_tokens.weight")
    state = renamed(models["untied"].config, arrays)
    for name in ("source_embedding", "target_embedding"):
        np.testing.assert_array_equal(state[name], arrays["model.shared.weight"])
    np.testing.assert_array_equal(state["output_embedding"], arrays["lm_head.weight"])
