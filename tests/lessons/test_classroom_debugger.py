"""--pdb opens where the learner's values are, once; and endings of rarer kinds."""

import os
import subprocess
import sys

import pytest

from lessons.classroom import catalogue, runner
from lessons.classroom.paths import ROOT

from .classroom_cases import TANH, answer, spoilt

IMPORT = "import numpy as np\n"


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def debug(id, text, *commands):
    """What ``check --pdb`` prints, with commands for the debugger from a file."""
    catalogue.find(id).work.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "lessons", "check", id, "--pdb"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        input="\n".join([*commands, "q", ""]), capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_it_opens_in_the_check_once():
    """6.5 with a wrong d_e: two functions of the step fail."""
    wrong = answer("6.5", "d_e = alpha * (d_alpha - alpha @ d_alpha)", "d_e = alpha")
    text = debug("6.5", wrong, "p 'mask', mask.tolist()", "down", "p inputs[0].shape")
    assert text.count("> /") == 2  # where it is, and after down
    first, second = text.split("> /")[1:]
    assert "checks/ex_6_5.py" in first and "('mask', [True, " in first
    assert "mine.py" in second and "(3,)" in second


def test_where_the_answer_raises_it_opens_in_the_answer():
    """Also when the error comes from the inside of a library."""
    old, new = TANH, "return np.linalg.inv(np.zeros((2, 3))) * y"
    text = debug("E.2", answer(old=old, new=new), "p 'y is', y.shape", "p g.shape")
    assert text.count("> /") == 1 and "ex_e_2.py" in text.split("> /")[1]
    assert "('y is', (" in text and "NameError" not in text


def test_a_pair_that_is_none_opens_the_debugger_too():
    text = debug("E.2", answer(old="return y, backward", new="return backward"))
    assert text.count("> /") == 1 and "checks/ex_e_2.py" in text.split("> /")[1]


def run(text, id="E.2"):
    exercise = catalogue.find(id)
    exercise.work.write_text(text, encoding="utf-8")
    return runner.run(exercise, exercise.work, limit=30.0)


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "GeneratorExit('so')"])
def test_what_no_one_catches_is_a_sentence(name):
    report = run(answer(old=IMPORT, new=f"{IMPORT}raise {name}\n"))
    [failed] = report.failures
    said = name.replace("('", ": ").removesuffix("')")
    assert failed["lines"][0] == f"{said}, when the file is loaded"
    assert failed["lines"][1].endswith(f":  raise {name}") and not report.ending
    report = run(answer(old=TANH, new=f"raise {name}"))
    [failed] = report.failures
    assert (report.code, failed["tag"]) == (1, "raises") and not report.printed
    assert failed["lines"][-2] == said and f"raise {name}" in failed["lines"][-1]
    assert failed["step"] == "shape" and failed["lines"][0].startswith("backward(")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_an_answer_that_ends_the_process_with_any_code(code):
    report = run(spoilt("exits").replace("_exit(0)", f"_exit({code})"))
    assert (report.code, report.tag) == (1, "exits")
    assert f"with code {code}" in report.ending
