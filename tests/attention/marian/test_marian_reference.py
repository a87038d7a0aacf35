"""Marian equals the reference implementation in logits, ids and text."""

import copy
import dataclasses
import itertools

import numpy as np
import pytest

import attention.marian as marian
from minigrad import no_grad

from ...golden.marian_searches import MAX_LENGTH, SEARCHES
from .marian_cases import NAMES, RECORDED, TEXT, close, golden, loaded, text_folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return loaded(tmp_path_factory)


@pytest.mark.parametrize("name", NAMES)
def test_logits_and_attentions_are_those_of_the_reference(models, name):
    g = golden(name)
    with no_grad():
        output = models[name](
            g["source"], g["target"], g["mask"], return_attentions=True
        )
    np.testing.assert_allclose(output.logits.data, g["logits"], **close)
    np.testing.assert_allclose(np.stack(output.cross_attentions), g["cross"], **close)
    for p in output.cross_attentions:
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-6)
        assert (np.moveaxis(p, 3, 1)[~g["mask"]] == 0).all()


@pytest.mark.parametrize("name, search", [*itertools.product(NAMES, SEARCHES)])
def test_what_is_generated_is_what_the_reference_generates(models, name, search):
    g, settings = golden(name), {"max_length": MAX_LENGTH, **SEARCHES[search]}
    model = copy.copy(models[name])
    written = {"bad_words_ids", "renormalize_logits"} & set(settings)  # in the folder
    changes = {key: settings.pop(key) for key in written}
    model.config = dataclasses.replace(model.config, **changes)
    ids = model.generate(g["source"], **settings, source_mask=g["mask"])
    np.testing.assert_array_equal(ids, g[search])


def test_the_goldens_differ_where_the_searches_do():
    for name in NAMES:
        g = golden(name)
        assert len({g[search].tobytes() for search in SEARCHES}) >= 4
        assert len({row.tolist().index(0) for row in g["greedy"]}) >= 3  # lengths
    assert any((golden(n)["bans4"] != golden(n)["renewed"]).any() for n in NAMES)
    assert str(RECORDED["provenance"]).startswith("torch 2.13.0")


def test_without_a_mask_generate_excludes_padding(models):
    g = golden("shared")
    with_mask = models["shared"].generate(g["source"], 12, source_mask=g["mask"])
    np.testing.assert_array_equal(models["shared"].generate(g["source"], 12), with_mask)
    output = models["shared"](g["source"], g["target"])  # here all are words
    assert np.abs(output.logits.data - g["logits"]).max() > 1e-3


def test_text_becomes_ids_and_ids_text_as_in_the_reference(tmp_path):
    model = marian.load(text_folder(tmp_path))
    for text, ids in TEXT["ids"]:
        assert model.tokenizer.encode(text) == ids, text
    for ids, text in TEXT["said"]:
        assert model.tokenizer.decode(ids) == text, ids
    ids = model.tokenizer.encode("the old dog")
    said = model.tokenizer.decode(model.generate([ids], 9, num_beams=3)[0])
    assert model.translate("the old dog", 9, 3) == said and said
