"""A run of any command that trains: saved, stopped, resumed, or refused in a sentence."""

import json
import random
import shutil
import signal

import numpy as np
import pytest

from attention.app.commands import extrapolate, reversal, translate_train
from attention.app.experiments import compare_figure, extrapolation, translation, writing
from attention.app.experiments import reversal as reversing
from minigrad import checkpoint

from ...minigrad.checkpoint_cases import altered, save_npz
from .app_cases import OPTIONS, fits, joined, main, refused, results_of, stopped_at

PICTURES = {
    "reversal": {"loss", "accuracy", "alignment-dot", "alignment-additive"},
    "translate train": {"alignment"},
    "write train": set(),
    "compare": {"compare"},
    "extrapolate": {"loss", "extrapolation"},
}
EACH = [
    name if name in ("reversal", "translate train", "write train")
    else pytest.param(name, marks=pytest.mark.deep)
    for name in OPTIONS
]  # fmt: skip
MODULE = {  # whose loss_of a command calls at each step
    "reversal": reversing, "translate train": translation, "compare": translation,
    "extrapolate": extrapolation, "write train": writing,
}  # fmt: skip
STEPS = {
    "reversal": 5, "translate train": 6, "write train": 4, "compare": 4,
    "extrapolate": 5,
}  # fmt: skip
ONE_MODEL = "translate train", "write train"  # with a file of its own
HUGE = str(2**70)


@pytest.fixture
def no_pictures(monkeypatch):
    """Drawing takes longer than these runs."""
    monkeypatch.setattr(reversal, "draw", lambda *_: None)
    monkeypatch.setattr(extrapolate, "draw", lambda *_: None)
    monkeypatch.setattr(translate_train, "draw_alignment", lambda *_: False)
    monkeypatch.setattr(compare_figure, "bleu_by_length", lambda *_: None)


def resume(command, out, *options):
    return main(*command.split(), "--resume", out, *options)


@pytest.mark.parametrize("command", EACH)
def test_what_it_writes(command, whole):
    out, printed = whole(command)
    pictures = {f"{name}.png" for name in PICTURES[command]}
    files = {"results.json", "state"} | pictures
    results = json.loads((out / "results.json").read_text())
    assert results["config"]["seed"] == 1
    assert results["versions"]["numpy"] == np.__version__
    if command in ONE_MODEL:
        files |= {"best.safetensors"}
    else:
        assert {run["seed"] for run in results["runs"]} == {1}
        assert len(results["runs"]) == 2
    assert {path.name for path in out.iterdir()} == files
    assert all((out / name).read_bytes()[1:4] == b"PNG" for name in pictures)
    assert fits(printed, out)


@pytest.mark.parametrize("command", EACH)
def test_it_is_stopped_and_ends_with_the_same_results(
    command, whole, no_pictures, tmp_path, capsys
):
    out = tmp_path / "cut"
    call, number = (4, signal.SIGTERM) if command in ONE_MODEL else (9, 2)
    with stopped_at(call, MODULE[command], "loss_of", number):
        assert main(*command.split(), *OPTIONS[command], "--out", out) == 130
    error = capsys.readouterr().err
    assert " at step " in error and f" of {STEPS[command]}, and" in error
    assert f"Continue with\n  python -m attention {command} --resume {out}" in error
    assert not (out / "results.json").exists()
    for _ in range(2):  # the second time it is finished
        assert resume(command, out) == 0
        assert results_of(out) == results_of(whole(command)[0])


@pytest.mark.parametrize("command", EACH)
def test_an_option_is_not_changed(command, whole, capsys):
    error = refused(
        capsys, *command.split(), "--resume", whole(command)[0], "--steps", 9
    )
    said = f"The run was started with other options: --steps was {STEPS[command]}. "
    assert said in error


@pytest.mark.parametrize("command", ["reversal", "translate train"])
def test_a_run_of_an_earlier_version_goes_on(command, whole, no_pictures, tmp_path):
    """Its states were .npz files, one for all of a translator; it had more options."""
    out = tmp_path / "old"
    with stopped_at(4, MODULE[command], "loss_of"):
        main(*command.split(), *OPTIONS[command], "--out", tmp_path / "cut")
    folder = tmp_path / "cut" / "state"
    states = {path.stem: checkpoint.load(path) for path in folder.iterdir()}
    states["config"]["config"]["target"] = None
    out.mkdir()
    if command == "translate train":
        save_npz(out / "last.npz", states["config"] | states["bahdanau-1"])
    else:
        (out / "state").mkdir()
        for name, state in states.items():
            save_npz(out / "state" / f"{name}.npz", state)
    assert resume(command, out) == 0
    assert results_of(out) == results_of(whole(command)[0])


# states that were changed


@pytest.fixture
def changed(whole, tmp_path, capsys, no_pictures):
    """Return a function: it resumes a copy of a run after a change of a saved state.

    -> (exit code, error); the first model of ``reversal`` is as it was after two steps
    """
    options = dict(steps=5, hidden=4, kinds=("dot", "additive"), lengths=(3,))
    run = reversing.build(reversing.Config(**options), "dot", 1)
    for step in range(2):
        batches = reversing.Batches(1, 64, 3, 8)
        run.descend(reversing.loss_of(run.model, batches[step]))

    def found(command, name, change):
        out = tmp_path / "copy"
        shutil.copytree(whole(command)[0], out)
        path = out / "state" / f"{name}.safetensors"
        if name == "dot-1":
            checkpoint.save(path, {"run": run.state_dict()})
        change(path)
        try:
            code = resume(command, out)
        finally:
            error = joined(capsys.readouterr().err)
            shutil.rmtree(out)
        return code, error

    return found


def saved(change):
    """Return a change of a file, from one of its state."""
    return lambda path: checkpoint.save(path, change(checkpoint.load(path)))


@pytest.mark.parametrize(
    "command, name, change, fragments",
    [
        ("reversal", "config", lambda s: {}, ["cannot be continued", "another run"]),
        ("reversal", "dot-1", lambda s: {"run": {}}, ["cannot be continued", "model"]),
        ("reversal", "dot-1", lambda s: {"run": s["run"] | {"step": 7}},
         ["7 steps and 2 losses"]),
        ("reversal", "dot-1", lambda s: {"result": {}}, ["cannot be continued"]),
        ("translate train", "bahdanau-1", lambda s: {"result": None},
         ["cannot be continued"]),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit(command, name, change, fragments, changed):
    code, error = changed(command, name, saved(change))
    assert code == 2 and all(fragment in error for fragment in fragments), error


def cut(n):
    """Return a change of a file: to its first n bytes, or without its last -n."""
    return lambda path: path.write_bytes(path.read_bytes()[:n])


@pytest.mark.parametrize("n", [0, 100, -1])
def test_a_run_whose_state_is_cut_short_starts_again(n, changed):
    code, error = changed("reversal", "dot-1", cut(n))
    assert code == 0 and "dot-1.safetensors cannot be loaded: " in error
    assert "It is kept as dot-1.damaged; its run starts again." in error


def test_a_run_whose_options_are_cut_short(changed):
    code, error = changed("translate train", "config", cut(100))
    assert code == 2 and "config.safetensors cannot be loaded: " in error
    assert "Start another run without --resume." in error


def test_another_error(changed, monkeypatch):
    """The message does not claim that the saved state is wrong."""

    def fail(*_):
        raise ValueError("There is no such font.")

    monkeypatch.setattr(reversal, "draw", fail)
    code, error = changed("reversal", "dot-1", lambda path: None)
    assert code == 2 and "continued: There is no such font. If its" in error


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "command, name",
    [("reversal", "config"), ("reversal", "dot-1"), ("translate train", "config"),
     ("translate train", "bahdanau-1")],
)  # fmt: skip
def test_any_change(command, name, changed):
    rng, codes = random.Random(0), []

    def change(state):
        new = altered(state, rng)
        if not isinstance(new, dict) or HUGE in str(new):
            return {}  # so many steps would be trained
        return new

    for _ in range(40):
        code, error = changed(command, name, saved(change))
        assert code in (0, 1, 2) and "Traceback" not in error
        assert code == 0 or "." in error
        codes.append(code)
    assert codes.count(2) > 5, {code: codes.count(code) for code in set(codes)}
