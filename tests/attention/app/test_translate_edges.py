"""The command translate at its edges: what is missing, moved, stopped, or too long."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from attention.__main__ import main as program
from attention.app.commands import options, translate_train
from attention.app.experiments import translation
from attention.seq2seq import translator
from minigrad import checkpoint

from .test_translate import ROOT, TINY, joined, main, numbers, refused
from .test_translate_tasks import TINY as FEW


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A model of sums that learned next to nothing."""
    out = tmp_path_factory.mktemp("sums")
    assert main("train", "--task", "addition", *FEW, "--out", out) == 0
    return out


def changed(folder, path, **parts):
    """The checkpoint of a translator with other parts; None: without this one."""
    state = checkpoint.load(folder / "best.npz") | parts
    checkpoint.save(path, {k: v for k, v in state.items() if v is not None})
    return path


# translators that were saved otherwise


def test_without_a_config_it_translates_and_does_not_score(added, tmp_path, capsys):
    path = changed(added, tmp_path / "bare.npz", about={})
    figure = ["--figure", tmp_path / "x.png"]
    assert main("run", "--model", path, *figure, "12+3") == 0
    assert "is right" not in capsys.readouterr().err  # nobody knows
    for about in {}, {"config": 3}, {"config": {}}, {"config": {"task": 1}}:
        path = changed(added, tmp_path / "bare.npz", about=about)
        said = refused(["score", "--model", path], capsys)
        assert said.startswith("translate: The model does not say what it was trained")
    known = checkpoint.load(added / "best.npz")["about"]
    about = known | {"config": known["config"] | {"depth": 2}}
    path = changed(added, tmp_path / "new.npz", about=about)
    for arguments in ["score"], ["run", *figure, "12+3"]:
        said = refused([*arguments, "--model", path], capsys)
        assert "was trained with 'depth', which this version of the program" in said
    del known["data"]
    path = changed(added, tmp_path / "no_data.npz", about=known)
    said = refused(["score", "--model", path], capsys)
    assert "The questions of addition are not those that the model" in said


@pytest.mark.parametrize(
    "parts, sentence",
    [
        ({"about": []}, "about is []; expected a dict."),
        ({"about": "x" * 99}, f"about is '{'x' * 39}; expected a dict."),
        ({"characters": "yes"}, "characters is 'yes'; expected a bool."),
        ({"lower": 1}, "lower is 1; expected a bool."),
        ({"about": None}, "is incomplete: it has no about."),
        ({"config": None}, "is incomplete: it has no config."),
        ({"model": 3}, "model is 3; expected a dict."),
        (
            {"source": {"format": "words", "words": ["a"]}},
            "has 5 words where its model",
        ),
    ],
)
def test_a_translator_of_other_parts(parts, sentence, added, tmp_path, capsys):
    path = changed(added, tmp_path / "odd.npz", **parts)
    said = refused(
        ["run", "--model", path, "--figure", tmp_path / "x.png", "1+1"], capsys
    )
    assert f"{path} cannot be used: " in said and sentence in said


def test_an_ending_that_is_no_word(added, tmp_path):
    path = changed(added, tmp_path / "odd.npz", about={"ending": 3})
    assert main("run", "--model", path, "--figure", tmp_path / "x.png", "1+1") == 0


# --export


def test_an_export_that_cannot_be_is_refused_before_the_training(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.safetensors").mkdir()
    (tmp_path / "taken.json").mkdir()
    out = tmp_path / "out"
    (tmp_path / "link").symlink_to("out")
    for path, sentence in [
        (tmp_path / "file" / "a.safetensors", "Choose another folder with --export."),
        (tmp_path / "folder.safetensors", "folder.safetensors is a folder; expected a"),
        (tmp_path / "taken.safetensors", "taken.json is a folder; expected a name"),
        (
            out / "results.safetensors",
            "with a results.json beside it, which is the name",
        ),
        (tmp_path / "link" / "results.safetensors", "the name of a file of the run in"),
    ]:
        said = refused(["train", *TINY, "--out", out, "--export", path], capsys)
        assert sentence in said and "--export" in said, said
        assert not out.exists()
    assert main("train", *TINY, "--out", out, "--export", out / "en.safetensors") == 0
    results = (out / "results.json").read_bytes()
    again = ["train", "--resume", out, "--export"]
    for path in out / "results.safetensors", tmp_path / "file" / "a.safetensors":
        assert "--export" in refused([*again, path], capsys)
    assert (out / "results.json").read_bytes() == results


# a file that was moved


def test_resumed_with_files_that_were_moved(tmp_path, capsys):
    sources = [f"{a} {b} ." for a in "abcdef" for b in "abcdef"]
    places = [tmp_path / name for name in ("a.en", "a.xx")]
    moved = [tmp_path / name for name in ("b.en", "b.xx")]
    places[0].write_text("\n".join(sources))
    places[1].write_text("\n".join(f"{s} !" for s in sources))
    out = tmp_path / "out"
    task = ["--task", places[0], "--target", places[1]]
    assert main("train", *task, *TINY, "--out", out) == 0
    (before, *rest) = numbers(out)
    for old, new in zip(places, moved):
        old.rename(new)
    task = ["--task", moved[0], "--target", moved[1]]
    assert main("train", "--resume", out, *task) == 0
    (after, *others) = numbers(out)
    assert rest == others and after["test"] == before["test"]
    assert after["config"]["task"] == str(moved[0])
    assert after["config"]["target"] == str(moved[1])
    assert main("train", "--resume", out) == 0  # it knows now
    capsys.readouterr()
    for task, sentence in [
        (["--target", moved[0]], f"The sentences of {moved[0]} are not those that the"),
        (["--task", "en-de"], f"was started otherwise: --task was {moved[0]}."),
        ([*task, "--steps", 9], "was started otherwise: --steps was 6."),
    ]:
        assert sentence in refused(["train", "--resume", out, *task], capsys)


def test_of_a_task_nothing_was_moved(added, capsys):
    for task in ["--task", "sort"], ["--task", "en-de"], ["--target", "x"]:
        said = refused(["score", "--model", added, *task], capsys)
        assert said.startswith("translate: The task is addition, and "), said
        assert f"and {task[1]} another one" in said and "lengths" not in said
        said = refused(["train", "--resume", added, *task], capsys)
        wrong = "--task was addition" if "--task" in task else "--target was not given"
        assert f"was started otherwise: {wrong}." in said
    assert main("score", "--model", added, "--task", "addition") == 0
    assert main("train", "--resume", added, "--task", "addition") == 0


# stopped before the first step


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["describe", "Batches", "loss_of"])
def test_stopped_while_it_is_prepared(how, where, tmp_path, monkeypatch, capsys):
    """After the opening lines: as the model is built, or as the kernels are loaded."""
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    cut.mkdir()
    (cut / "best.npz").write_text("of an earlier run")
    module = translate_train if where == "describe" else translation
    good = getattr(module, where)

    def stopped(*arguments, **more):
        signal.raise_signal(how)
        monkeypatch.setattr(module, where, good)
        return good(*arguments, **more)

    monkeypatch.setattr(module, where, stopped)
    assert main("train", *TINY, "--out", cut) == 130
    printed = capsys.readouterr().out
    assert "attention bahdanau, cell gru" in printed
    assert "stopped at step 0 of 6, and saved. Go on with" in printed
    assert (cut / "earlier-1" / "best.npz").read_text() == "of an earlier run"
    assert main("train", "--resume", cut) == 0
    assert main("train", *TINY, "--out", whole) == 0
    assert numbers(cut) == numbers(whole)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["Batches", "loss_of"])
def test_compare_is_stopped_so_too(how, where, tmp_path, monkeypatch, capsys):
    good = getattr(translation, where)

    def stopped(*arguments, **more):
        signal.raise_signal(how)
        monkeypatch.setattr(translation, where, good)
        return good(*arguments, **more)

    monkeypatch.setattr(translation, where, stopped)
    arguments = "compare --pairs 30 --test 9 --hidden 6 --embedding 5 --batch 10"
    arguments += " --steps 3 --seeds 1 --kinds none,luong --out"
    assert program([*arguments.split(), str(tmp_path)]) == 130
    printed = capsys.readouterr().out
    assert "stopped none at step 0 of 3, and saved." in printed
    assert f"python -m attention compare --resume {tmp_path}" in printed
    assert program(["compare", "--resume", str(tmp_path)]) == 0


def test_compare_that_has_nothing_yet_says_so(tmp_path, monkeypatch, capsys):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", stopped)
    assert program(["compare", "--steps", "3", "--out", str(tmp_path)]) == 130
    assert "stopped: nothing was trained yet." in capsys.readouterr().out


def test_a_signal_to_the_process_as_it_says_what_it_does(tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "attention", "translate", "train", *TINY,
         "--steps", "100000", "--out", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env,
    )  # fmt: skip
    assert process.stdout.readline().startswith("en-de: 30 pairs")
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130 and ", and saved. Go on with" in printed
    assert (tmp_path / "last.npz").exists()


# a step that a layer refuses


def test_a_layer_that_refuses_is_one_sentence(tmp_path, monkeypatch, capsys):
    good, calls = translation.loss_of, iter(range(99))

    def refusing(*arguments, **more):
        if next(calls) == 3:
            raise ValueError("gaussian: bandwidth is 0.0; expected a positive number.")
        return good(*arguments, **more)

    monkeypatch.setattr(translation, "loss_of", refusing)
    assert main("train", *TINY, "--out", tmp_path) == 1
    said = joined(capsys.readouterr().err)
    assert (
        "cannot be computed at step 2, batch 2 of seed 1: gaussian: bandwidth" in said
    )


# sentences, and how wide they are


def test_a_model_without_attention_that_says_nothing(tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    assert main("train", *TINY, "--attention", "none", "--out", out) == 0
    found = translator.Translation(["a"], [], None, [])
    monkeypatch.setattr(translator.Translator, "translate", lambda *_: found)
    capsys.readouterr()
    assert main("run", "--model", out, "a .") == 0
    assert "no figure: the model has no attention." in capsys.readouterr().err


def test_a_number_that_python_does_not_read(added, tmp_path, capsys):
    question = f"{'9' * 5000}+1"
    run = ["run", "--model", added, "--figure", tmp_path / "x.png", question]
    assert "has a number of 5000 digits; expected 1000" in refused(run, capsys)


def test_lengths_that_fill_the_memory(tmp_path, capsys):
    train = ["train", "--task", "copy", "--out", tmp_path / "x", "--lengths"]
    assert "max_length is 1000000; expected 1 to" in refused(
        [*train, "1,1000000"], capsys
    )
    assert "would fill the memory" in refused([*train, "1,1000"], capsys)


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"dropout": "x"}, "Config: dropout is 'x'; expected a number."),
        ({"lr": True}, "Config: lr is True; expected a number."),
        ({"lengths": 3}, "Config: lengths is 3; expected two, the least and the most"),
        ({"lengths": ("a", 3)}, "Copy: min_length is 'a'; expected a whole number."),
        ({"steps": 2.5}, "Config: steps is 2.5; expected a whole number."),
        ({"keep_case": 1}, "Config: keep_case is 1; expected True or False."),
        ({"task": 3}, "Config: task is 3; expected a name, a string."),
        ({"target": 3}, "Config: target is 3; expected a name, a string."),
    ],
)
def test_a_config_of_other_types(wrong, sentence):
    with pytest.raises(TypeError) as caught:
        translation.Config(**{"task": "copy", **wrong})
    assert str(caught.value).startswith(sentence)
    with pytest.raises(ValueError, match="Config: steps is 0; expected"):
        translation.Config(steps=0)
    config = translation.Config(pairs=np.int64(9), lr=np.float32(0.01))
    assert type(config.pairs) is int and config.pairs == 9


@pytest.mark.parametrize(
    "command",
    ["translate train", "translate run", "translate score", "compare", "extrapolate"],
)
def test_help_fits(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["python -m attention"])
    with pytest.raises(SystemExit):
        program([*command.split(), "--help"])
    printed = capsys.readouterr().out.replace("pytest", "attention")
    assert max(map(len, printed.splitlines())) <= 80
    assert "--task NAME" in printed or "task" not in command


def test_what_is_refused_fits(added, tmp_path, capsys):
    for arguments in (
        ["train", "--task", "no", "--out", tmp_path],
        ["train", "--task", "en-de", "--lengths", "2,3", "--out", tmp_path],
        ["score", "--model", added, "--task", "en-de"],
        ["run", "--model", added, "--figure", tmp_path / "x.png", "1"],
    ):
        assert main(*arguments) == 2
        lines = capsys.readouterr().err.replace(str(tmp_path), "DIR").splitlines()
        assert max(map(len, lines)) <= 80
    assert program(["compare", "--task", "no", "--out", str(tmp_path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 80


def test_lines_are_wrapped_and_names_are_not_cut():
    path = "/a-folder/" + "x" * 90
    text = f"a word {'more ' * 20}and {path}\n  second"
    lines = options.wrapped(text).split("\n")
    assert path in lines and lines[-1] == "  second"
    assert max(len(line) for line in lines if line != path) <= 80


def test_a_validation_loss_that_is_large_is_short(tmp_path, monkeypatch, capsys):
    config = translation.Config(pairs=30, hidden=6, embedding=5, steps=1, batch=10)
    data = translation.load(config)
    run, _ = translation.build(config, data)
    run.judge(5e31)
    translate_train.conclude(config, data, run, tmp_path, None)
    printed = capsys.readouterr().out
    assert "a validation loss of 5e+31; 0 s" in printed
    run.best["loss"] = 1.23456
    translate_train.conclude(config, data, run, tmp_path, None)
    assert "a validation loss of 1.235; 0 s" in capsys.readouterr().out
