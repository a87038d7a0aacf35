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

from attention.commands import translate, translate_train
from attention.experiments import scoring, translation
from attention.pretrained import EN_FR
from attention.seq2seq import translator
from attention.seq2seq.bleu import corpus_bleu

ROOT = pathlib.Path(__file__).resolve().parent.parent
TINY = "--pairs 30 --hidden 6 --embedding 5 --batch 10 --steps 6 --validate-every 2"
TINY = TINY.split()


def main(*arguments):
    parser = argparse.ArgumentParser(prog="attention translate")
    translate.add_arguments(parser)
    return translate.run(parser.parse_args([str(a) for a in arguments]))


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
        assert "are not those that the" in capsys.readouterr().err


def test_an_earlier_run_is_kept(tmp_path):
    for seed in "1", "2":
        assert main("train", *TINY, "--seed", seed, "--out", tmp_path) == 0
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
        "import argparse, sys; from attention.commands import translate as t;"
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
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert code == 1 and "Traceback" not in said
    assert said.startswith("translate: The loss or its gradient is no finite number at")
    assert "step 1, batch 1 of seed 1: the first is in layer " in said
    assert not list(tmp_path.glob("*.npz"))


def refused(arguments, capsys):
    """The one sentence with which the command refuses its arguments."""
    try:
        code = main(*arguments)
    except SystemExit as stop:  # argparse
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2 and "Traceback" not in printed.err
    return printed.err.strip().splitlines()[-1]


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
        ([*train, "--pairs", "99999"], "there are at most 20000 pairs"),
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
    pairs = data.test[:7]
    right = {"aer": 0.0, "aer_uniform": 0.0, "aer_diagonal": 0.0}
    total = 0
    for pair in pairs:
        T, S = len(pair.target), len(pair.source)
        source, target = (
            model.source.encode(pair.source),
            model.target.encode(pair.target),
        )
        fed = np.concatenate([[1], target])[None]
        w = model.model.forced(source[None], fed).weights.numpy()[0, :T]
        total += T + len(pair.alignment)
        for t, s in pair.alignment:
            right["aer"] += 2 * (w[t].argmax() == s)
            right["aer_uniform"] += 2 / S
            right["aer_diagonal"] += 2 * (round(t * (S - 1) / (T - 1)) == s)
    found = scoring.alignment_rates(model, pairs)
    assert found == pytest.approx({k: 1 - v / total for k, v in right.items()})
