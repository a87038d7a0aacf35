"""The command translate: what it writes, prints and refuses; the model that ships."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from attention.app.commands import translate, translate_train
from attention.app.experiments import scoring, translation
from attention.app.pretrained import EN_FR
from attention.seq2seq import translator
from attention.seq2seq.bleu import corpus_bleu
from attention.tasks.grammar import MOST

ROOT = pathlib.Path(__file__).resolve().parents[3]
TINY = "--pairs 30 --hidden 6 --embedding 5 --batch 10 --steps 6 --validate-every 2"
TINY = TINY.split()


def main(*arguments):
    parser = argparse.ArgumentParser(prog="attention translate")
    translate.add_arguments(parser)
    return translate.run(parser.parse_args([str(a) for a in arguments]))


def joined(text):
    """Sentences as they were before they were wrapped."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run that learned next to nothing."""
    out = tmp_path_factory.mktemp("a folder") / "model"
    assert main("train", *TINY, "--out", out) == 0
    return out


def test_train_writes_what_it_says(trained):
    names = {path.name for path in trained.iterdir()}
    assert names == {
        "best.npz", "last.npz", "metrics.jsonl", "results.json", "alignment.png"
    }  # fmt: skip
    lines = [
        json.loads(x) for x in (trained / "metrics.jsonl").read_text().split("\n")[:-1]
    ]
    assert [x["step"] for x in lines if "loss" in x] == [1, 2, 3, 4, 5, 6]
    validations = [x for x in lines if "validation" in x]
    assert [x["step"] for x in validations] == [2, 4, 6]
    results = json.loads((trained / "results.json").read_text())
    assert results["config"]["pairs"] == 30 and results["config"]["seed"] == 1
    assert results["versions"]["numpy"] == np.__version__
    best = min(validations, key=lambda x: x["validation"])
    assert (results["step"], results["validation"]) == tuple(best.values())
    assert set(results["test"]["bleu"]) == {"all", "5-7", "8-10", "11-15"}
    assert results["test"]["sentences"]["all"] == len(results["said"]) == 200
    assert 0 <= results["test"]["aer"] <= 1
    assert (trained / "alignment.png").read_bytes().startswith(b"\x89PNG")


def test_score_says_what_train_said(trained, capsys):
    assert main("score", "--model", trained) == 0
    printed = capsys.readouterr().out
    results = json.loads((trained / "results.json").read_text())["test"]
    model = translator.load(trained / "best.npz")
    data = translation.load(translation.Config(**model.about["config"]))
    report = scoring.score(model, data.test)
    said = report.pop("said")
    assert report == results
    assert scoring.table(report) in printed
    assert max(map(len, printed.splitlines())) <= 80
    for name in "aer", "aer_uniform", "aer_diagonal":
        assert f"{results[name]:.3f}" in printed
    # the buckets, by their definition
    rows = [i for i, p in enumerate(data.test) if 8 <= len(p.source) <= 10]
    assert results["sentences"]["8-10"] == len(rows)
    want = corpus_bleu(
        [said[i] for i in rows], [list(data.test[i].target) for i in rows]
    )
    assert results["bleu"]["8-10"] == want


def test_run_names_unknown_words_and_draws(tmp_path, capsys):
    figure = tmp_path / "new" / "where.png"
    code = main("run", "--figure", figure, "The xyz sees the xyz and Abc .")
    printed = capsys.readouterr()
    assert code == 0 and len(printed.out.splitlines()) == 1
    assert printed.err.splitlines() == [
        "'xyz' is not in the vocabulary; it is read as <unk>.",
        "'and' is not in the vocabulary; it is read as <unk>.",
        "'abc' is not in the vocabulary; it is read as <unk>.",
        f"where each word looked: {figure}",
    ]
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_without_attention_there_is_no_figure(tmp_path, capsys):
    assert main("train", *TINY, "--attention", "none", "--out", tmp_path) == 0
    assert not (tmp_path / "alignment.png").exists()
    assert (
        "no alignment error rate: the model has no attention" in capsys.readouterr().out
    )
    figure = tmp_path / "x.png"
    main("run", "--model", tmp_path, "--figure", figure, "the cat sleeps .")
    assert "no figure: the model has no attention" in capsys.readouterr().err
    assert not figure.exists()


def test_from_a_file(tmp_path, capsys):
    text = tmp_path / "pairs.txt"
    words = "one two three four five six seven".split()
    lines = [f"{a} {b}.\t{b.upper()} {a} !" for a in words for b in words]
    text.write_text("\n".join([*lines, "no tab"]), encoding="utf-8")
    out = tmp_path / "model"
    assert main("train", "--task", text, *TINY, "--out", out) == 0
    printed = capsys.readouterr().out
    assert "49 pairs read. Line 50 was left out: it has no tab." in printed
    assert "the right alignment is not known" in printed
    assert "SIX" not in " ".join(translator.load(out / "best.npz").target.words)
    assert main("score", "--model", out) == 0
    text.write_text("\n".join(lines[3:]), encoding="utf-8")
    for arguments in ("score", "--model", out), ("train", "--resume", out):
        assert main(*arguments) == 2
        assert "are not those that the" in joined(capsys.readouterr().err)


def test_two_aligned_files_from_any_folder(tmp_path, monkeypatch, capsys):
    words = "one two three four five six".split()
    sources = [f"{a} {b} ." for a in words for b in words]
    (tmp_path / "a.en").write_text("\n".join(sources))
    (tmp_path / "a.xx").write_text("\n".join(f"{s} !" for s in sources))
    (tmp_path / "elsewhere").mkdir()
    out, task = tmp_path / "model", ["--task", "a.en", "--target", "a.xx"]
    monkeypatch.chdir(tmp_path)
    assert main("train", *task, *TINY, "--out", out) == 0
    model = translator.load(out / "best.npz")
    assert "!" in model.target.words and "!" not in model.source.words
    assert main("train", *task, "--resume", out) == 0  # as it was typed before
    monkeypatch.chdir(tmp_path / "elsewhere")
    before = numbers(out)
    assert main("train", "--resume", out) == 0 and numbers(out) == before
    assert main("score", "--model", out) == 0
    # they were moved
    moved = [tmp_path / "elsewhere" / name for name in ("b.en", "b.xx")]
    for old, new in zip(("a.en", "a.xx"), moved):
        (tmp_path / old).rename(new)
    capsys.readouterr()
    assert main("score", "--model", out) == 2
    assert f"no file {tmp_path / 'a.en'}" in joined(capsys.readouterr().err)
    assert main("score", "--model", out, "--task", "b.en", "--target", "b.xx") == 0
    assert "b.en, 4 sentences that were" in capsys.readouterr().out
    assert main("score", "--model", out, "--task", "b.en", "--target", "b.en") == 2
    assert "are not those that the model was" in joined(capsys.readouterr().err)


def test_a_file_of_too_few_pairs(tmp_path, capsys):
    lines = [f"a{i} b\tc{i} d" for i in range(translation.FEWEST)]
    text = tmp_path / "pairs.txt"
    for n, said in (1, "holds 1 pair; "), (4, "holds 4 pairs; "), (5, "holds 5 pairs"):
        text.write_text("\n".join(lines[:n]))
        found = refused(["train", *TINY, "--task", text, "--out", tmp_path], capsys)
        assert said in found and f"expected {translation.FEWEST} or more" in found
    text.write_text("\n".join(lines))
    assert main("train", *TINY, "--task", text, "--out", tmp_path / "x") == 0


def test_printed_lines_fit(tmp_path, capsys):
    words = "one two three four five six seven".split()
    lines = [f"{a} {b} .\t{b} {a}" for a in words for b in words]
    text = tmp_path / ("a long name" * 8)
    text.write_text("\n".join([*lines, *["no tab"] * 9]))
    for attention in "none", "luong":
        options = [*TINY, "--attention", attention]
        assert main("train", "--task", text, *options, "--out", tmp_path / "x") == 0
        printed = capsys.readouterr().out.replace(str(tmp_path), "DIR")
        lines = [line for line in printed.splitlines() if "a long name" not in line]
        assert max(map(len, lines)) <= 80, printed
        (said,) = [line for line in lines if line.startswith("no alignment error")]
        assert ("has no attention" in said) == (attention == "none")
        assert ("is not known" in said) == (attention == "luong")


def test_weights_that_do_not_sum_to_one(tmp_path, capsys):
    """Those of local-p: the Gaussian comes after the softmax."""
    export = tmp_path / "small.safetensors"
    options = [*TINY, "--local", "p", "--window", "2", "--export", export]
    assert main("train", *options, "--out", tmp_path) == 0
    results = json.loads((tmp_path / "results.json").read_text())["test"]
    model = translator.load(tmp_path / "best.npz")
    data = translation.load(translation.Config(**model.about["config"]))
    weights = scoring.looked_at(model, data.test)
    assert max(w.sum(-1).max() for w in weights) < 0.99
    rates = rates_by_definition(data.test, weights)
    assert {k: results[k] for k in rates} == pytest.approx(rates)
    assert (tmp_path / "alignment.png").exists() and export.exists()
    assert main("score", "--model", tmp_path) == 0
    assert f"alignment error rate {results['aer']:.3f}" in capsys.readouterr().out
    figure = tmp_path / "x.png"
    assert main("run", "--model", tmp_path, "--figure", figure, "the cat .") == 0


def test_a_figure_that_cannot_be_is_refused_before_the_work(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for figure, sentence in [
        (tmp_path / "a.xyz", "expected a name that ends with one of"),
        (tmp_path / "a", "expected a name that ends with one of"),
        (tmp_path / "file" / "a.png", "Choose another folder with --figure."),
    ]:
        assert main("run", "--figure", figure, "the cat sleeps .") == 2
        printed = capsys.readouterr()
        assert sentence in joined(printed.err) and not printed.out


def test_options_of_the_data_are_those_of_the_config(tmp_path):
    options = [*TINY, "--validation", 7, "--test", 9, "--data-seed", 3]
    assert main("train", *options, "--out", tmp_path) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(results["said"]) == 9
    config = translation.Config(pairs=30, validation=7, test=9, data_seed=3)
    assert results["data"] == translation.load(config).checksum


def test_an_earlier_run_is_kept(tmp_path, capsys):
    (tmp_path / "holiday.png").write_text("mine")
    (tmp_path / "data.npz").write_text("mine")
    for seed in "1", "2":
        assert main("train", *TINY, "--seed", seed, "--out", tmp_path) == 0
    assert f"were moved to {tmp_path / 'earlier-1'}" in capsys.readouterr().out
    assert (tmp_path / "holiday.png").exists() and (tmp_path / "data.npz").exists()
    for folder, seed in (tmp_path / "earlier-1", 1), (tmp_path, 2):
        results = json.loads((folder / "results.json").read_text())
        assert results["config"]["seed"] == seed
        assert len((folder / "metrics.jsonl").read_text().splitlines()) == 9


def test_export_and_the_command_that_makes_it_anew(tmp_path, capsys):
    path = tmp_path / "there" / "small.safetensors"
    options = [*TINY, "--attention", "luong", "--no-bidirectional", "--dropout", "0.1"]
    assert main("train", *options, "--out", tmp_path, "--export", path) == 0
    origin = json.loads(path.with_suffix(".json").read_text())
    command = origin["command"].split()
    assert command[:4] == ["python", "-m", "attention", "translate"]
    parser = argparse.ArgumentParser()
    translate.add_arguments(parser)
    again = translate_train.given(parser.parse_args(command[4:]), translation.Config)
    assert translate_train.describe(translation.Config(**again)) == origin["config"]
    assert (
        origin["bytes"] == path.stat().st_size < (tmp_path / "best.npz").stat().st_size
    )
    small, whole = translator.load(path), translator.load(tmp_path / "best.npz")
    for a, b in zip(small.model.parameters(), whole.model.parameters()):
        np.testing.assert_allclose(a.data, b.data, rtol=2**-11, atol=1e-7)


def command(*arguments):
    """Start the command as a process."""
    code = (
        "import argparse, sys; from attention.app.commands import translate as t;"
        "p = argparse.ArgumentParser(); t.add_arguments(p);"
        "sys.exit(t.run(p.parse_args()))"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", code, "train", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip


def numbers(out):
    """What must be equal between two runs: all but the times, and the parameters."""
    results = json.loads((out / "results.json").read_text())
    results.pop("seconds")
    best = translator.load(out / "best.npz").model.state_dict()
    metrics = (out / "metrics.jsonl").read_text()
    return results, metrics, {k: v.tobytes() for k, v in best.items()}


def test_stopped_at_any_moment_it_goes_on_to_the_same_numbers(tmp_path):
    options = [*TINY, "--steps", 200, "--validate-every", 30, "--schedule", "constant"]
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    process = command(*options, "--out", cut)
    wait_for_lines(process, cut, 40)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"python -m attention translate train --resume {cut}" in printed
    process = command("--resume", cut)
    wait_for_lines(process, cut, len(lines_of(cut)) + 40)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert not (cut / "results.json").exists(), "it was over before it was stopped"
    assert main("train", "--resume", cut) == 0
    assert main("train", *options, "--out", whole) == 0
    assert numbers(cut) == numbers(whole)


def wait_for_lines(process, folder, n):
    end = time.monotonic() + 60
    while process.poll() is None and len(lines_of(folder)) < n:
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def lines_of(folder):
    path = folder / "metrics.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def test_a_finished_run_that_is_resumed_says_the_same(trained):
    before = numbers(trained)
    assert main("train", "--resume", trained) == 0
    assert numbers(trained) == before


def test_a_nan_is_one_sentence_and_leaves_the_checkpoint(trained, tmp_path, capsys):
    code = main("train", *TINY, "--lr", "1e38", "--dropout", "0", "--out", tmp_path)
    said = joined(capsys.readouterr().err)
    assert code == 1 and "Traceback" not in said
    assert said.startswith("translate: The loss or its gradient is no finite number at")
    assert "step 1, batch 1 of seed 1: the first is in layer " in said
    assert "There is no checkpoint yet" in said and "last checkpoint" not in said
    assert not list(tmp_path.glob("*.npz"))


def refused(arguments, capsys):
    """The one sentence with which the command refuses its arguments."""
    try:
        code = main(*arguments)
    except SystemExit as stop:  # argparse
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2 and "Traceback" not in printed.err
    return joined(printed.err)


def test_what_it_refuses(trained, tmp_path, capsys):
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "best.npz").write_bytes(b"PK\x03\x04 cut off")
    train = ["train", *TINY, "--out", tmp_path / "x"]
    for arguments, sentence in [
        (
            [*train, "--task", "en-it"],
            "There is no task and no file en-it; expected en",
        ),
        (
            [*train, "--attention", "none", "--coverage"],
            "there is nothing for local or",
        ),
        ([*train, "--local", "m"], "local is 'm', and window is None"),
        ([*train, "--dropout", "2"], "'2' should be a number from 0 to 1"),
        ([*train, "--lr", "nan"], "'nan' should be a number above 0"),
        (
            [*train, "--pairs", "99999"],
            f"train is 99999, which with 100 for validation and 200 for test is 100299;"
            f" there are at most {MOST} pairs",
        ),
        ([*train, "--dropout", "1"], "'1' should be a number from 0 to 1, 1 left out"),
        ([*train, "--smoothing", "1"], "'1' should be a number from 0 to 1, 1 left"),
        ([*train, "--word-dropout", "1"], "'1' should be a number from 0 to 1, 1 le"),
        ([*train, "--target", "x"], "target is x, and the task en-de has its own"),
        ([*train, "--export", "x.npz"], "expected a name.safetensors"),
        (["train", "--out", tmp_path / "file" / "x"], "another folder with --out."),
        (["train", "--resume", tmp_path / "no"], "There is nothing to resume in"),
        (["train", "--resume", trained, "--steps", "9"], "--steps was 6"),
        (["run", "--model", tmp_path / "no", "a"], "There is no model in"),
        (["run", "--model", tmp_path, "a"], "best.npz cannot be loaded"),
        (["run", "--model", trained, " "], "There is no word to translate"),
        (["run", "--beam", "0", "a"], "'0' should be a number from 1 up"),
        (["score", "--model", trained / "last.npz"], "no checkpoint of a translator"),
    ]:
        said = refused(arguments, capsys)
        assert sentence in said, said


# the model that comes along


@pytest.mark.parametrize(
    "sentence, wanted",
    [
        ("the black cat sleeps .", "le chat noir dort."),
        ("The black cat does not sleep", "le chat noir ne dort pas."),
        ("she has seen the woman's books .", "elle a vu les livres de la femme."),
        ("he will give the apple to the girl .", "il va donner la pomme à la fille."),
    ],
)  # fmt: skip
def test_the_shipped_model_translates(sentence, wanted, tmp_path, capsys):
    assert main("run", "--figure", tmp_path / "x.png", sentence) == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == wanted
    assert ("'.' was put at the end" in printed.err) != sentence.endswith(".")


def test_the_shipped_model_is_small_and_scores_what_its_origin_says():
    origin = json.loads(EN_FR.with_suffix(".json").read_text())
    assert EN_FR.stat().st_size == origin["bytes"] < 350_000
    model = translator.load(EN_FR)
    config = translation.Config(**origin["config"])
    assert config.task == "en-fr" and f"--seed {config.seed}" in origin["command"]
    data = translation.load(config)
    assert data.checksum == origin["data"] == model.about["data"]
    part = data.test[:60]
    report = scoring.score(model, part)
    assert report["bleu"]["all"] > 90 and origin["test"]["bleu"]["all"] > 90
    assert report["aer"] < 0.7 * min(report["aer_uniform"], report["aer_diagonal"])


# alignment rates, by their definition


def test_alignment_rates_by_their_definition(trained):
    model = translator.load(trained / "best.npz")
    data = translation.load(translation.Config(**model.about["config"]))
    pairs, weights = data.test[:7], []
    for pair in pairs:
        source, target = (
            model.source.encode(pair.source),
            model.target.encode(pair.target),
        )
        fed = np.concatenate([[1], target])[None]
        w = model.model.forced(source[None], fed).weights.numpy()[0, : len(target)]
        weights.append(w)
    found = scoring.alignment_rates(model, pairs)
    assert found == pytest.approx(rates_by_definition(pairs, weights))


def rates_by_definition(pairs, weights):
    right = {"aer": 0.0, "aer_uniform": 0.0, "aer_diagonal": 0.0}
    total = 0
    for pair, w in zip(pairs, weights):
        T, S = len(pair.target), len(pair.source)
        total += T + len(pair.alignment)
        for t, s in pair.alignment:
            right["aer"] += 2 * (w[t].argmax() == s)
            right["aer_uniform"] += 2 / S
            right["aer_diagonal"] += 2 * (round(t * (S - 1) / (T - 1)) == s)
    return {k: 1 - v / total for k, v in right.items()}
