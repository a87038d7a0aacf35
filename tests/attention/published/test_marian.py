"""Marian equals the reference implementation in logits, ids and text."""

import numpy as np
import pytest

from attention.published import marian
from minigrad import checkpoint, no_grad

from .marian_cases import (
    GOLDEN, NAMES, TEXT, close, golden, loaded, make_folder, text_folder,
)  # fmt: skip


BANNED = [[word] for word in range(10, 31)]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return loaded(tmp_path_factory)


@pytest.mark.parametrize("name", NAMES)
def test_logits_and_attentions_are_those_of_the_reference(models, name):
    g = golden(name)
    with no_grad():
        logits, weights = models[name](
            g["source"], g["target"], g["lengths"], need_weights=True
        )
    np.testing.assert_allclose(logits.data, g["logits"], **close)
    np.testing.assert_allclose(np.stack(weights), g["cross"], **close)
    for p in weights:
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-6)
        assert (np.moveaxis(p, 3, 1)[~g["mask"]] == 0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("search", ["greedy", "bans"])
def test_what_is_generated_is_what_the_reference_generates(name, search, tmp_path):
    g, generation = golden(name), {"bad_words_ids": BANNED} if search == "bans" else {}
    model = marian.load(make_folder(tmp_path, name, generation))
    ids = model.generate(g["source"], 12, lengths=g["lengths"])
    # at 12 ids the reference ends a sentence with EOS
    np.testing.assert_array_equal(ids[:, :11], g[search][:, :11])


def test_without_lengths_generate_excludes_padding(models):
    g = golden("shared")
    told = models["shared"].generate(g["source"], 12, lengths=g["lengths"])
    np.testing.assert_array_equal(models["shared"].generate(g["source"], 12), told)
    logits = models["shared"](g["source"], g["target"])  # here all are words
    assert np.abs(logits.data - g["logits"]).max() > 1e-3


def test_text_becomes_ids_and_ids_text_as_in_the_reference(tmp_path):
    model = marian.load(text_folder(tmp_path))
    for text, ids in TEXT["ids"]:
        assert model.tokenizer.encode(text) == ids, text
    for ids, text in TEXT["said"]:
        assert model.tokenizer.decode(ids) == text, ids
    ids = model.tokenizer.encode("the old dog")
    said = model.tokenizer.decode(model.generate([ids], 9, num_beams=3)[0])
    assert model.translate("the old dog", 9, 3) == said and said


def test_an_empty_batch_and_the_longest_sentence(models):
    model = models["shared"]
    assert len(model.generate(np.zeros((0, 3), int), 5)) == 0
    assert model.generate([[1, 2]], 65).shape[1] <= 65


def test_tables_and_positions_of_older_programs(models, tmp_path):
    g, path = golden("shared"), make_folder(tmp_path, "shared") / "model.safetensors"
    weights = checkpoint.load(path)
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        weights[f"{name}.weight"] = weights["model.shared.weight"]
    angle = np.arange(64)[:, None] / 10000 ** (np.arange(8) / 8)
    P = np.concatenate([np.sin(angle), np.cos(angle)], -1).astype(np.float32)
    weights["model.encoder.embed_positions.weight"] = P
    checkpoint.save(path, weights)
    logits = marian.load(tmp_path)(g["source"], g["target"], g["lengths"])
    np.testing.assert_allclose(logits.data, g["logits"], **close)

    arrays = checkpoint.load(GOLDEN / "marian_untied.safetensors")
    for side in ("encoder", "decoder"):
        arrays.pop(f"model.{side}.embed_tokens.weight")
    state = marian.state_of(models["untied"].config, arrays)
    for name in ("encoder.embedding", "decoder.embedding"):
        np.testing.assert_array_equal(state[name], arrays["model.shared.weight"])
    np.testing.assert_array_equal(state["output.weight"], arrays["lm_head.weight"])
