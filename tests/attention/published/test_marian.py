"""Marian equals the reference implementation in logits, ids and text."""

import numpy as np
import pytest

from attention.published import marian
from minigrad import checkpoint, no_grad

from .marian_cases import RECORDED as G
from .marian_cases import TEXT, close, make_folder, text_folder


BANNED = [[word] for word in range(10, 31)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return marian.load(make_folder(tmp_path_factory.mktemp("marian")))


def test_logits_and_attentions_are_those_of_the_reference(model):
    with no_grad():
        logits, weights = model(
            G["source"], G["target"], G["lengths"], need_weights=True
        )
    np.testing.assert_allclose(logits.data, G["logits"], **close)
    np.testing.assert_allclose(np.stack(weights), G["cross"], **close)
    for p in weights:
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-6)
        assert (np.moveaxis(p, 3, 1)[~G["mask"]] == 0).all()


@pytest.mark.parametrize("search", ["greedy", "bans"])
def test_what_is_generated_is_what_the_reference_generates(search, tmp_path):
    generation = {"bad_words_ids": BANNED} if search == "bans" else {}
    model = marian.load(make_folder(tmp_path, generation))
    ids = model.generate(G["source"], 12)
    # at 12 ids the reference ends a sentence with EOS
    np.testing.assert_array_equal(ids[:, :11], G[search][:, :11])


def test_text_becomes_ids_and_ids_text_as_in_the_reference(tmp_path):
    model = marian.load(text_folder(tmp_path))
    for text, ids in TEXT["ids"]:
        assert model.tokenizer.encode(text) == ids, text
    for ids, text in TEXT["said"]:
        assert model.tokenizer.decode(ids) == text, ids
    ids = model.tokenizer.encode("the old dog")
    said = model.tokenizer.decode(model.generate([ids], 9, num_beams=3)[0])
    assert model.translate("the old dog", 9, 3) == said and said


def test_an_empty_batch_and_the_longest_sentence(model):
    assert len(model.generate(np.zeros((0, 3), int), 5)) == 0
    assert model.generate([[1, 2]], 65).shape[1] <= 65


def test_tables_and_positions_of_older_programs(tmp_path):
    path = make_folder(tmp_path) / "model.safetensors"
    weights = checkpoint.load(path)
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        weights[f"{name}.weight"] = weights["model.shared.weight"]
    angle = np.arange(64)[:, None] / 10000 ** (np.arange(8) / 8)
    P = np.concatenate([np.sin(angle), np.cos(angle)], -1).astype(np.float32)
    weights["model.encoder.embed_positions.weight"] = P
    checkpoint.save(path, weights)
    logits = marian.load(tmp_path)(G["source"], G["target"], G["lengths"])
    np.testing.assert_allclose(logits.data, G["logits"], **close)
