"""Answers of every kind, in a process of their own: each has its own clear end."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest

from lessons.classroom import catalogue, cli, runner, weave
from lessons.classroom.paths import ROOT

from .classroom_cases import answer, spoilt


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with spaces and letters beyond ASCII, from another working directory."""
    folder = tmp_path / "mein Übungsheft · 练习"
    folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("LESSONS_WORK", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


def run(work, text, limit=30.0):
    exercise = catalogue.find("E.2")
    exercise.work.write_text(text, encoding="utf-8")
    return runner.run(exercise, exercise.work, limit=limit)


def test_right_and_quick_and_without_numba(work):
    tell = (
        'import atexit, sys\natexit.register(lambda: print("numba" in sys.modules))\n'
    )
    report = run(
        work, answer(old="import numpy as np\n", new=tell + "import numpy as np\n")
    )
    assert report.code == 0 and not report.failures and not report.ending
    assert report.printed == "False\n"
    assert any(file.endswith("gradcheck.py") for file in report.files)


@pytest.mark.parametrize(
    "how, tag, said",
    [
        ("wrong", "wrong-derivative", "yours equals g * (1 - x * x)"),
        ("raises", "raises", "NameError: name 'z' is not defined"),
        ("float32", "float32", "expected float64"),
        ("mutates", "mutates-input", "writes into an array that it was given"),
    ],
)
def test_what_is_wrong_is_said(work, how, tag, said):
    report = run(work, spoilt(how))
    text = "\n".join(report.failures[0]["lines"])
    assert (report.code, report.tag) == (1, tag) and said in text
    if how in ("raises", "mutates"):  # the learner's own line
        assert "(1 - z)" in text or "g *= 1 - y * y" in text


@pytest.mark.parametrize(
    "text, where", [(spoilt("loops"), "backward"), ("while 1: 2\n", "")]
)
def test_what_never_ends_is_ended(work, text, where):
    report = run(work, text, limit=1.0)
    assert report.code == 4 and report.tag == "timeout"
    assert "no end after 1 s" in report.ending and where in report.ending
    assert "line " in report.ending


def test_a_megabyte_of_prints_is_cut(work):
    report = run(work, spoilt("prints"))
    assert report.code == 0
    assert len(report.printed) == runner.PRINTED and report.more > 10**6


def test_an_answer_that_ends_the_process(work):
    report = run(work, spoilt("exits"))
    assert report.code == 1 and "ended the process itself, with code 0" in report.ending


@pytest.mark.parametrize(
    "text, tag, said",
    [
        (" \n", "empty", "the file is empty"),
        ("def f(:\n", "syntax", "the file is not Python yet: "),
        ("a = 1\n", "missing", "MISSING FUNCTION -> tanh(x)"),
        ("import sys\nsys.exit(3)\n", "raises", "by SystemExit(3)"),
    ],
)
def test_a_file_that_is_no_answer(work, text, tag, said):
    report = run(work, text)
    assert (report.code, report.tag) == (1, tag) and not report.ending
    assert said in report.failures[0]["lines"][0]
    assert [o["result"] for o in report.outcomes] == ["failed"]


def test_the_same_checks_under_pytest(work):
    (work / "ex_e_2.py").write_text(spoilt("wrong"), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "lessons/checks", "-k", "e_2", "--impl", "work"],
        env=env, cwd=ROOT, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "yours equals g * (1 - x * x)" in done.stdout
    assert "1 failed" in done.stdout and "Traceback" not in done.stdout
    assert "def " not in done.stdout  # the report, and none of our code


def test_the_process_is_told_to_leave_numba_alone(monkeypatch):
    exercise = catalogue.find("E.2")
    assert runner.environment(exercise)["ATTENTION_BACKEND"] == "numpy"
    monkeypatch.delenv("ATTENTION_BACKEND", raising=False)
    monkeypatch.setattr(runner, "_setting", lambda *args: "True")
    assert "ATTENTION_BACKEND" not in runner.environment(exercise)


def test_an_experiment_has_the_environment_of_a_check(work, monkeypatch):
    exercise, names = catalogue.find("E.2"), ("OPENBLAS_NUM_THREADS", "PYTHONUTF8")
    for name in (*names, "ATTENTION_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    before, seen = dict(os.environ), {}
    records = type(sys)("records")
    records.experiment = lambda *args: seen.update(os.environ) or 0
    monkeypatch.setitem(sys.modules, "lessons.classroom.records", records)
    assert cli.main(["experiment", "E.2"]) == 0
    assert seen == runner.environment(exercise) and seen[names[0]] == "1"
    assert dict(os.environ) == before


def test_the_time_limit_can_be_chosen(monkeypatch):
    exercise = catalogue.find("E.2")
    monkeypatch.delenv("LESSONS_TIMEOUT", raising=False)
    assert runner.time_limit(exercise) == runner.SECONDS
    monkeypatch.setattr(runner, "_setting", lambda *args: "30")
    assert runner.time_limit(exercise) == 30
    monkeypatch.setenv("LESSONS_TIMEOUT", "0.5")
    assert runner.time_limit(exercise) == 0.5


def test_the_stub_is_not_written_yet(work):
    exercise = catalogue.find("E.2")
    report = run(work, exercise.stub.read_text(encoding="utf-8"))
    assert report.code == 3 and report.tag is None and not report.failures


def python(*args, **options):
    """Run ``python -m lessons`` from elsewhere, as a program without a terminal."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "200"}
    env |= {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "lessons", *args],
        env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        **options,
    )  # fmt: skip


def test_a_check_from_the_command_line(work):
    path = work / "ex_e_2.py"
    path.write_text(spoilt("wrong"), encoding="utf-8")
    for folder in (path.parent, "."):  # these are not meant
        with open(os.path.join(folder, "numpy.py"), "w") as file:
            file.write("raise ImportError('not this one')")
    done = python("check")
    assert done.returncode == 1, done.stderr
    assert str(path) in done.stdout and "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines if str(path) not in line)
    path.write_text("raise RuntimeError('planted')\n", encoding="utf-8")
    done = python("check", "E.2", "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == facts["code"] == 1 and facts["file"] == str(path)
    assert "planted" in facts["outcomes"][0]["lines"][0]  # this file, no other


def test_the_folder_runs_as_a_program(work):
    command = [sys.executable, str(ROOT / "lessons"), "list"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0 and "●●○○" in done.stdout
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, encoding="ascii", env=env)
    assert done.returncode == 0 and " **.. " in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="pipes that break")
@pytest.mark.parametrize("args", [("run", "1"), ("read", "1"), ("list",)])
def test_a_reader_who_leaves_is_no_fault(work, args):
    """python -m lessons run 1 | true; an empty PYTHONUNBUFFERED is none"""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "lessons", *args],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 1 and said == ""


def test_a_lesson_is_not_blamed_for_a_reader_who_leaves():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    cell = types.SimpleNamespace(line=1, text="print(1)", kind="code")
    with contextlib.redirect_stdout(Gone()), pytest.raises(BrokenPipeError):
        weave._execute(cell, {}, pathlib.Path("lesson.py"))


@pytest.mark.skipif(os.name != "posix", reason="asks the system for processor time")
def test_a_check_starts_and_ends_in_time(work):
    """A third of a second to the first line, two seconds for a right answer.

    Measured is the time of the processor: others may be at work on the machine. What
    ``status`` does, a check does as well before its first line.
    """
    import resource

    def seconds(*args):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert python(*args).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    (work / "ex_e_2.py").write_text(answer(), encoding="utf-8")
    assert seconds("status") < 1 / 3
    assert seconds("check", "E.2") < 2


def test_the_command_line_loads_the_standard_library_alone():
    code = "import sys, lessons.classroom.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "lessons.classroom.runner" in loaded
    assert not loaded & {"numpy", "minigrad", "attention", "pytest", "matplotlib"}
