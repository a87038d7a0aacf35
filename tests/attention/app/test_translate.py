"""The command translate on sentences: its files, its output, its errors, its model."""

import io
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from attention import kernels
from attention.app.commands import translate_train
from attention.app.experiments import scoring, translation
from attention.app.pretrained import EN_FR
from attention.metrics.bleu import corpus_bleu
from attention.plotting import heatmaps
from attention.seq2seq import translator
from attention.tasks.grammar.sentence_pairs import Pair

from .app_cases import (
    TINY_TRANSLATOR,
    fits,
    joined,
    main,
    refused,
    results_of,
    scored,
    start,
    typed,
)

TRAIN = ["translate", "train", *TINY_TRANSLATOR]


@pytest.fixture
def trained(whole):
    """Return the folder of a run that learned next to nothing."""
    return whole("translate train")[0]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file of 36 pairs of sentences, in the working folder."""
    sources = [f"{a} {b} ." for a in "abcdef" for b in "abcdef"]
    (tmp_path / "pairs.txt").write_text("\n".join(f"{s}\t{s} !" for s in sources))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pairs.txt"


# train and score


def test_the_numbers_that_train_writes(trained):
    results = json.loads((trained / "results.json").read_text())
    assert len(results["losses"]) == 6
    assert [step for step, _ in results["validations"]] == [2, 4, 6]
    best = min(results["validations"], key=lambda validation: validation[1])
    assert [results["step"], results["validation"]] == best
    assert set(results["test"]["bleu"]) == {"all", "5-7", "8-10", "11-15"}
    assert results["test"]["sentences"]["all"] == len(results["said"]) == 200
    assert 0 <= results["test"]["aer"] <= 1


def test_score_prints_the_scores_of_train(trained, capsys):
    assert main("translate", "score", "--model", trained) == 0
    printed = capsys.readouterr().out
    results, model, test = scored(trained)
    report = scoring.score(model, test)
    outputs = report.pop("said")
    assert report == results
    assert "en-de: 200 pairs of the test set" in printed and fits(printed)
    assert scoring.table(report) in printed
    # a bucket, by its definition
    rows = [i for i, p in enumerate(test) if 8 <= len(p.source) <= 10]
    assert results["sentences"]["8-10"] == len(rows)
    assert results["bleu"]["8-10"] == corpus_bleu(
        [outputs[i] for i in rows], [list(test[i].target) for i in rows]
    )


def test_without_attention_there_is_no_figure(tmp_path, capsys):
    options = ["--attention", "none", "--test", 9, "--validation", 7, "--data-seed", 3]
    assert main(*TRAIN, *options, "--out", tmp_path) == 0
    printed = capsys.readouterr().out
    assert "no alignment error rate: the model has no attention" in printed
    assert fits(printed, tmp_path) and not (tmp_path / "alignment.png").exists()
    results = json.loads((tmp_path / "results.json").read_text())
    config = translation.Config(pairs=30, validation=7, test=9, data_seed=3)
    assert results["data"] == translation.load(config).checksum
    figure = tmp_path / "x.png"
    main("translate", "run", "--model", tmp_path, "--figure", figure, "the cat .")
    assert "nothing is drawn: the model has no attention" in capsys.readouterr().err
    assert not figure.exists()


def test_a_file_of_sentences(file, tmp_path, capsys):
    out = tmp_path / "model"
    file.write_text(file.read_text() + "\n\tx\n")
    assert main(*TRAIN, "--task", file.name, "--out", out) == 0
    printed = capsys.readouterr().out
    assert "36 pairs read. Line 37 was left out: " in joined(printed)
    assert "the right alignment is not known" in printed
    model = translator.load(out / "best.safetensors")
    assert "!" in model.target.words and "!" not in model.source.words
    before = results_of(out)
    os.mkdir("elsewhere")
    os.chdir("elsewhere")  # the model knows where its file is
    assert main("translate", "train", "--resume", out) == 0
    assert results_of(out) == before
    assert main("translate", "score", "--model", out) == 0
    file.write_text(file.read_text().replace("\ta", "\tb"))
    for verb in ["score", "--model"], ["train", "--resume"]:
        assert "are not those that the" in refused(capsys, "translate", *verb, out)
    file.unlink()
    error = refused(capsys, "translate", "score", "--model", out)
    assert f"no task and no file {file}" in error


@pytest.mark.deep
def test_weights_that_do_not_sum_to_one(tmp_path):
    """In local-p the Gaussian comes after the softmax."""
    assert main(*TRAIN, "--local", "p", "--window", "2", "--out", tmp_path) == 0
    results, model, test = scored(tmp_path)
    weights = scoring.reference_weights(model, test)
    assert max(w.sum(-1).max() for w in weights) < 0.99
    assert 0 <= results["aer"] <= 1
    assert (tmp_path / "alignment.png").exists()


def test_half_precision(trained, tmp_path):
    whole = translator.load(trained / "best.safetensors")
    path = tmp_path / "small.safetensors"
    translator.save(path, whole, half=True)
    assert path.stat().st_size < (trained / "best.safetensors").stat().st_size
    small = translator.load(path)
    for a, b in zip(small.model.parameters(), whole.model.parameters()):
        np.testing.assert_allclose(a.data, b.data, rtol=2**-11, atol=1e-7)


# run


def test_unknown_words_and_the_figure(tmp_path, capsys):
    figure = tmp_path / "new" / "where.png"
    sentence = "The xyz seees the xyz and Abc ."
    code = main("translate", "run", "--figure", figure, sentence)
    printed = capsys.readouterr()
    assert code == 0 and len(printed.out.splitlines()) == 1
    assert printed.err.splitlines() == [
        "'xyz' is not in the vocabulary; it is read as <unk>.",
        "'seees' is not in the vocabulary; it is read as <unk>. Did you mean 'sees'?",
        "'and' is not in the vocabulary; it is read as <unk>. Did you mean 'an'?",
        "'abc' is not in the vocabulary; it is read as <unk>.",
        f"attention weights of each word: {figure}",
    ]
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_figures_mark_the_words_that_were_read_as_unk(trained, tmp_path, monkeypatch):
    drawn = []

    def draw(weights, source, target, *options, **more):
        drawn.append((source, target))

    monkeypatch.setattr(heatmaps, "alignment_heatmap", draw)
    main("translate", "run", "--figure", tmp_path / "a.png", "the xyz sleeps .")
    assert drawn[0][0] == ["the", "xyz <unk>", "sleeps", "."]
    model = translator.load(trained / "best.safetensors")
    pair = Pair(("the", "xyz", "sleeps", "."), ("der", "xyz", "."), frozenset())
    data = SimpleNamespace(test=[pair])
    config = SimpleNamespace(attention="bahdanau")
    assert translate_train.draw_alignment(config, data, model, tmp_path / "b.png")
    for side, words in zip((model.source, model.target), drawn[1]):
        assert "xyz <unk>" in words
        assert [w.endswith(" <unk>") for w in words] == [
            w.removesuffix(" <unk>") not in side for w in words
        ]


@pytest.mark.parametrize(
    "sentence, expected",
    [
        ("the black cat sleeps .", "le chat noir dort."),
        ("The black cat does not sleep", "le chat noir ne dort pas."),
        ("she has seen the woman's books .", "elle a vu les livres de la femme."),
        ("he will give the apple to the girl .", "il va donner la pomme à la fille."),
    ],
)  # fmt: skip
def test_the_model_of_the_package_translates(sentence, expected, capsys):
    assert main("translate", "run", sentence) == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == expected
    assert ("'.' was added at the end" in printed.err) != sentence.endswith(".")


def test_sentences_from_stdin(tmp_path, monkeypatch, capsys):
    """One translation for each line, as each comes; a figure for each."""
    lines = ["the black cat sleeps .\n", "\n", "she has seen the apple ."]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(lines)))
    assert main("translate", "run", "--figure", tmp_path / "a.png", "-") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["le chat noir dort.", "", "elle a vu la pomme."]
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "a-2.png"}
    monkeypatch.setattr(sys, "stdin", None)  # closed
    assert main("translate", "run", "-") == 0


def test_the_document_of_a_sentence_and_of_lines(monkeypatch, capsys):
    def documents(text, *words):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert main("translate", "run", "--json", *words) == 0
        return json.loads(capsys.readouterr().out)

    sentence = "the xyz cat sleeps ."
    found = documents("", sentence)
    expected = translator.load(EN_FR).translate(sentence)
    assert found == {
        "text": expected.text, "source": expected.source, "target": expected.target,
        "weights": expected.weights.tolist(), "unknown": ["xyz"],
    }  # fmt: skip
    blank = {"text": "", "source": [], "target": [], "weights": None, "unknown": []}
    assert documents(f"\n{sentence}\n", "-") == [blank, found]
    assert documents("", "-") == []


def test_the_line_that_cannot_be_translated_is_named(trained, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("the cat .\na \udcff .\n"))
    assert main("translate", "run", "-") == 2
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1
    assert "translate run: Line 2: The text has a byte" in printed.err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_of_lines_who_leaves_sees_no_error(more):
    """The first line comes before the last is read; then the reader leaves."""
    process = start("translate", "run", *more, "-", stdin=subprocess.PIPE)
    process.stdin.write("the cat sleeps .\n")
    process.stdin.flush()
    assert "le chat dort." in process.stdout.readline()
    process.stdout.close()
    process.stdin.write("the cat sleeps .\n" * 3)
    process.stdin.close()
    assert process.wait(60) == 1 and process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.deep
def test_stdin_of_a_program():
    strict = {"PYTHONIOENCODING": "utf-8:strict"}
    process = start("translate", "run", "-", stdin=subprocess.PIPE, **strict)
    process.stdin.buffer.write(b"the \xff .\n")
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2 and "not UTF-8, after 'the '" in error


def test_words(trained, capsys):
    for words, names in (["--model", trained], "en de"), ([], "en fr"):
        assert main("translate", "words", *words) == 0
        printed = capsys.readouterr().out
        model = translator.load(trained / "best.safetensors" if words else EN_FR)
        languages = {"en": "English", "de": "German", "fr": "French"}
        expected = "".join(
            f"{languages[name]}, {len(side.words)} words "
            + "".join(f"{word} " for word in sorted(side.words))
            for name, side in zip(names.split(), (model.source, model.target))
        )
        assert joined(printed) == expected.strip() and fits(printed)


def test_words_that_begin_with_a_prefix(file, tmp_path, capsys):
    main("translate", "words", "Cat")
    english, french, _ = capsys.readouterr().out.split("\n\n")
    assert re.match(r"English, 2 of \d+ words\ncat cats$", english)
    main("translate", "words", "blak")
    printed = capsys.readouterr().out
    assert "English, 0 of 113 words\n(none). Did you mean 'black'?" in printed
    assert main(*TRAIN, "--task", file, "--out", tmp_path / "own") == 0
    capsys.readouterr()
    main("translate", "words", "--model", tmp_path / "own", "!")
    printed = joined(capsys.readouterr().out)
    assert printed == "source, 0 of 7 words (none). target, 1 of 8 words !"


def test_a_sentence_compiles_nothing(monkeypatch):
    seen = []

    def translate(self, text, beam):
        seen.append(kernels.backend())
        return translator.Translation(["a"], [], None, [])

    monkeypatch.setattr(translator.Translator, "translate", translate)
    pytest.importorskip("numba")
    with kernels.backend("numba"):
        assert main("translate", "run", "a .") == 0
    assert seen == ["numpy"]


def test_the_model_of_the_package_is_small_and_scores_as_recorded():
    origin = json.loads(EN_FR.with_suffix(".json").read_text())
    assert EN_FR.stat().st_size == origin["bytes"] < 350_000
    model = translator.load(EN_FR)
    assert not model.characters
    data = translation.load(typed(origin["command"]))
    assert data.checksum == origin["data"] == model.about["data"]
    report = scoring.score(model, data.test[:60])
    assert report["bleu"]["all"] > 90 and origin["test"]["bleu"]["all"] > 90
    assert report["aer"] < 0.7 * min(report["aer_uniform"], report["aer_diagonal"])


# errors


def test_what_it_refuses(trained, tmp_path, capsys):
    (tmp_path / "few").write_text("a b\tc d\n" * 5)
    (tmp_path / "best.safetensors").write_bytes(b"PK\x03\x04 cut off")
    train = ["train", "--out", tmp_path / "x"]
    run = ["run", "--figure", tmp_path / "x.png"]
    for arguments, sentence in [
        ([*train, "--task", tmp_path / "few"], "expected 6 or more: a tenth is for"),
        ([*run, "--model", tmp_path / "no", "a"], "There is no model"),
        ([*run, "--model", tmp_path, "a"], "best.safetensors cannot be loaded"),
        ([*run, "--model", trained, " "], "There is no word to translate"),
        ([*run, "the \udcff cat ."], "a byte that is not UTF-8, after 'the '"),
        (["run", "--figure", tmp_path / "a.xyz", "a"], "that ends with one of .jpg"),
        (["score", "--model", trained / "state/config.safetensors"], "no checkpoint of"),
    ]:
        error = refused(capsys, "translate", *arguments)
        assert sentence in error, error
    assert not (tmp_path / "x").exists()


def test_the_weights_of_references_are_those_of_one_after_the_other(trained):
    model = translator.load(trained / "best.safetensors")
    data = translation.load(translation.Config(**model.about["config"]))
    for pair, found in zip(
        data.test[:7], scoring.reference_weights(model, data.test[:7])
    ):
        source, target = model.source.encode(pair.source), [1]
        target += list(model.target.encode(pair.target))
        output = model.model.forced(source[None], np.array([target]))
        weights = output.weights.numpy()[0, : len(pair.target)]
        np.testing.assert_allclose(found, weights, rtol=1e-4, atol=1e-6)
