"""A saved state that was changed, and saved again, is continued or refused."""

import json
import random
import shutil

import pytest

from attention.app.commands import reversal, translate_train
from attention.app.experiments import reversal as experiment
from attention.app.pretrained import EN_FR
from attention.seq2seq import translator
from minigrad import checkpoint

from ...minigrad.checkpoint_cases import altered
from .app_cases import TINY_TRANSLATOR, main

HUGE = str(2**70)
REVERSAL = "reversal --steps 3 --width 4 --scores dot --lengths 3 --out".split()
TRANSLATE = ["translate", "train", *TINY_TRANSLATOR, "--out"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two finished runs; the one of reversal is as it was after two steps."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:  # a figure takes a second
        patch.setattr(reversal, "draw", lambda *_: None)
        patch.setattr(translate_train, "draw_alignment", lambda *_: None)
        assert main(*REVERSAL, folder / "reversal") == 0
        assert main(*TRANSLATE, folder / "translate") == 0
        config = experiment.Config(steps=2, hidden=4, kinds=("dot",), lengths=(3,))
        run, _ = experiment.train(config, "dot", 1)
        state = {"run": run.state_dict()}
        checkpoint.save(folder / "reversal" / "state" / "dot-1.npz", state)
        yield folder


FILES = ["reversal/state/config.npz", "reversal/state/dot-1.npz", "translate/last.npz"]


def resume(folders, tmp_path, capsys, file, change):
    """Return the exit code and the error of a run whose state was changed."""
    command, rest = file.split("/", 1)
    out = tmp_path / command
    shutil.copytree(folders / command, out)
    state = checkpoint.load(out / rest)
    checkpoint.save(out / rest, change(state))
    verb = ["train"] * (command == "translate")
    try:
        code = main(command, *verb, "--resume", out)
    finally:
        error = capsys.readouterr().err
        shutil.rmtree(out)
    return code, " ".join(error.split())


@pytest.mark.parametrize(
    "file", [*(pytest.param(f, marks=pytest.mark.deep) for f in FILES[:2]), FILES[2]]
)
def test_a_state_as_it_was_saved(file, folders, tmp_path, capsys):
    assert resume(folders, tmp_path, capsys, file, lambda state: state)[0] == 0


@pytest.mark.parametrize(
    "file, change, fragments",
    [
        (FILES[0], lambda s: {}, ["cannot be continued", "config", "another run"]),
        (FILES[1], lambda s: {"run": {}}, ["cannot be continued", "model"]),
        (FILES[1], lambda s: {"run": s["run"] | {"step": 7}}, ["7 steps and 2 losses"]),
        (FILES[1], lambda s: {"result": {}}, ["cannot be continued", "another run"]),
        (FILES[2], lambda s: s | {"run": None}, ["cannot be continued"]),
    ],
)
def test_a_state_that_does_not_fit(file, change, fragments, folders, tmp_path, capsys):
    code, error = resume(folders, tmp_path, capsys, file, change)
    assert code == 2 and all(fragment in error for fragment in fragments), error


def cut(file, tmp_path, n):
    """Cut a file of a run to its first n bytes."""
    data = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(data[:n] if n >= 0 else data[: len(data) + n])


@pytest.mark.parametrize("n", [0, 1, 100, -100, -1])
def test_a_run_whose_state_is_cut_short_starts_again(n, folders, tmp_path, capsys):
    shutil.copytree(folders / "reversal", tmp_path / "reversal")
    cut(FILES[1], tmp_path, n)
    (tmp_path / "reversal" / "results.json").write_text("{")
    assert main("reversal", "--resume", tmp_path / "reversal") == 0
    error = " ".join(capsys.readouterr().err.split())
    assert "dot-1.npz cannot be loaded: " in error and "starts again." in error
    found, expected = (
        json.loads((f / "reversal" / "results.json").read_text())["runs"]
        for f in (tmp_path, folders)
    )
    assert found[0]["losses"] == expected[0]["losses"]


@pytest.mark.parametrize("file", [FILES[0], FILES[2]])
def test_a_run_whose_options_are_cut_short(file, folders, tmp_path, capsys):
    command = file.split("/")[0]
    shutil.copytree(folders / command, tmp_path / command)
    cut(file, tmp_path, 100)
    verb = ["train"] * (command == "translate")
    assert main(command, *verb, "--resume", tmp_path / command) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "cannot be loaded: it is cut short" in error
    assert "Start another run without --resume." in error


@pytest.mark.parametrize(
    "module, name, file",
    [(reversal, "draw", FILES[1]), (translate_train, "draw_alignment", FILES[2])],
)
def test_another_error(module, name, file, folders, tmp_path, capsys, monkeypatch):
    """The message does not claim that the saved state is wrong."""

    def fail(*_):
        raise ValueError("There is no such font.")

    monkeypatch.setattr(module, name, fail)
    code, error = resume(folders, tmp_path, capsys, file, lambda state: state)
    assert code == 2 and "continued: There is no such font. If its" in error


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", FILES)
def test_any_change(file, folders, tmp_path, capsys):
    rng, codes = random.Random(FILES.index(file)), []

    def change(state):
        new = altered(state, rng)
        if not isinstance(new, dict) or HUGE in str(new):
            return {}  # so many steps would be trained
        return new

    for _ in range(40):
        code, error = resume(folders, tmp_path, capsys, file, change)
        assert code in (0, 1, 2) and "Traceback" not in error
        assert code == 0 or "." in error
        codes.append(code)
    print({code: codes.count(code) for code in set(codes)})
    assert codes.count(2) > 10


@pytest.mark.parametrize(
    "name, size",
    [("layers", 10**9), ("hidden", 10**4), ("embedding", 10**8), ("hidden", 10**15)],
)
def test_a_translator_larger_than_its_file(name, size, tmp_path):
    state = checkpoint.load(EN_FR)
    path = tmp_path / "x.safetensors"
    config = state["config"] | {name: size}
    checkpoint.save(path, state | {"config": config})
    with pytest.raises(ValueError, match="its config needs at least .* found 152373"):
        translator.load(path)


@pytest.mark.deep
def test_any_change_of_a_translator(tmp_path):
    path, state, rng = tmp_path / "x.npz", checkpoint.load(EN_FR), random.Random(0)
    refused = 0
    for _ in range(300):
        new = altered(state, rng)
        checkpoint.save(path, new if isinstance(new, dict) else {})
        try:
            assert isinstance(translator.load(path), translator.Translator)
        except ValueError as error:
            assert str(error).startswith(f"{path} cannot be used: ")
            refused += 1
    assert refused > 100
