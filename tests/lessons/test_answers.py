"""Answers of every kind, each in a process of its own, end with a clear report."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from lessons.classroom import catalogue
from lessons.classroom.catalogue import ROOT
from lessons.course import run as runner

from .classroom_cases import TANH, answer, spoilt

E2 = catalogue.find("E.2")


def run(text, limit=30.0, **options):
    E2.work.write_text(text, encoding="utf-8")
    return runner.run(E2, E2.work, limit=limit, **options)


def test_a_right_answer_passes_without_numba_in_the_folder_of_the_learner(work):
    says = (
        "import atexit, os, sys\n"
        "atexit.register(lambda: print('numba' in sys.modules))\n"
        f"print(os.getcwd() == {os.getcwd()!r})\n"
        f"print(os.environ['LESSONS_WORK'] == {str(work)!r})\n"
    )
    report = run(says + answer())
    assert report.code == 0 and not report.failures and not report.ending
    assert report.printed == "True\nTrue\nFalse\n"


@pytest.mark.parametrize(
    "how, tag, said",
    [
        ("wrong", "g * (1 - x * x)", "yours equals g * (1 - x * x)"),
        pytest.param(
            "fills", "memory", "Unable to allocate 7.45 GiB",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="sets no limit"),
        ),
    ],
)  # fmt: skip
def test_a_wrong_answer_reads_what_is_wrong_and_its_arrays_are_saved(
    work, tmp_path, how, tag, said
):
    file = tmp_path / "case.npz"
    report = run(spoilt(how), save=file)
    text = "\n".join(report.failures[0]["lines"])
    assert (report.code, report.tag) == (1, tag) and said in text
    if how == "wrong":
        case = np.load(file)
        assert {*report.saved} == {*case} == {"x", "g", "found", "expected"}
        g, x = case["g"], case["x"]
        assert np.array_equal(case["found"], g * (1 - x * x))
        assert np.allclose(case["expected"], g * (1 - np.tanh(x) ** 2))


def test_an_endless_answer_is_stopped(work):
    report = run(spoilt("loops"), limit=0.5)
    assert (report.code, report.tag) == (4, "timeout")
    assert report.ending.startswith("out of time after 0.5 s; in backward(g=")
    assert "while True" in report.ending


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no processor time")
def test_the_limit_is_of_processor_time_so_that_a_busy_machine_refuses_nothing(work):
    """A process that sleeps is one that waits for the processor."""
    report = run(answer() + "\nimport time\ntime.sleep(1.3)\n", limit=1.0)
    assert report.code == 0, report.ending
    line = f"import time; time.sleep(1000000); {TANH}"
    report = run(answer(old=TANH, new=line), limit=0.3)
    assert (report.code, report.tag) == (4, "timeout")
    said = "out of time after 1.5 s, with less than 0.3 s of computing; in backward(g="
    assert report.ending.startswith(said) and "time.sleep(1000000)" in report.ending


@pytest.mark.deep
def test_a_megabyte_of_prints_or_of_a_message_is_cut(work):
    report = run(spoilt("prints"))
    assert report.code == 0
    assert len(report.printed) == runner.PRINTED and report.more > 10**6
    [failure, *_] = run(spoilt("shouts")).failures
    assert "\\x1b[31mred" in failure["lines"][1] and "\x1b" not in str(failure["lines"])
    assert len(str(failure)) < 2000


def test_an_answer_that_ends_the_process_has_failed(work):
    report = run(spoilt("exits"))
    assert (report.code, report.tag) == (1, "exits")
    assert "ended the process itself, with code 0" in report.ending


def checked(exercise, path, text):
    """Check a text in this process: (exit code, failures, names of unwritten parts)."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    facts = []
    code = runner.check(exercise, path, {"seed": 0}, lambda **f: facts.append(f))
    outcomes = [f["outcome"] for f in facts if "outcome" in f]
    parts = [o["lines"][0] for o in outcomes if o["result"] == "unwritten"]
    failed = [o for o in outcomes if o["result"] == "failed"]
    return code, failed, list(dict.fromkeys(parts))


@pytest.mark.parametrize(
    "text, tag, said",
    [
        (" \n", "empty", "the file is empty"),
        ("def f(:\n", "syntax", "the file is not Python yet: "),
        ("a = 1\n\0", "syntax", "null bytes"),
        (b"# coding: klingon\n", "syntax", "unknown encoding for"),
        ("a = 1\n", "missing", "MISSING FUNCTION -> tanh(x)"),
        ("import sys\nsys.exit(3)\n", "raises", "SystemExit: 3, when the file is lo"),
        (answer() + "tanh = 3", "missing", "tanh is not a function: it is 3"),
    ],
)
def test_a_file_that_is_no_answer_reads_why(tmp_path, text, tag, said):
    code, [failed, *_], _ = checked(E2, tmp_path / "a.py", text)
    assert (code, failed["tag"], failed["part"]) == (1, tag, None)
    assert said in " ".join(failed["lines"])


@pytest.mark.parametrize(
    "how, tag, line",
    [("raises", "raises", "(1 - z)"), ("mutates", "mutates-input", "g *= 1 - y * y")],
)
def test_a_report_has_the_learners_own_line(tmp_path, how, tag, line):
    code, [failed, *_], _ = checked(E2, tmp_path / "a.py", spoilt(how))
    assert (code, failed["tag"]) == (1, tag) and line in " ".join(failed["lines"])


def test_all_unwritten_parts_are_named_also_beside_a_failure(tmp_path):
    exercise, path = catalogue.find("6.1"), tmp_path / "a.py"
    text = exercise.stub_text
    parts = re.findall(r'raise NotWritten\("(.+)"\)', text)
    assert checked(exercise, path, text) == (3, [], parts)
    text = text.replace('raise NotWritten("6.1 weights")', "return e.mean()")
    code, failed, rest = checked(exercise, path, text)
    assert code == 1 and failed and rest == [p for p in parts if p != "6.1 weights"]
    spare = '\n\ndef spare():\n    raise NotWritten("6.1 spare")\n'
    assert checked(exercise, path, answer("6.1") + spare) == (0, [], [])


def test_an_answer_gets_an_earlier_one_in_one_way_only(work):
    (work / "ex_e_1.py").write_text(answer("E.1"), encoding="utf-8")
    given = "from lessons import earlier\nf = earlier(__file__, 'E.1', 'unbroadcast')\n"
    for more, code in (given, 0), ("import ex_e_1\n", 1), ("import lessons.work\n", 1):
        assert run(more + answer()).code == code, more


# the program


def python(*args, text=None, **env):
    """Run ``python …`` without a terminal."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", **env}
    return subprocess.run(
        [sys.executable, *args], env=env, input=text, capture_output=True,
        encoding="utf-8",
    )  # fmt: skip


def test_a_check_from_the_command_line(work):
    E2.work.write_text(spoilt("wrong"), encoding="utf-8")
    for folder in (work, "."):  # a file of the learner's never replaces the library
        with open(os.path.join(folder, "numpy.py"), "w") as file:
            file.write("raise ImportError('not this one')")
    done = python("-m", "lessons", "check", "E.2", "--json", "--save", "case.npz")
    facts = json.loads(done.stdout)
    assert done.returncode == facts["code"] == 1 and facts["file"] == str(E2.work)
    assert facts["diagnosis"] == "g * (1 - x * x)"
    assert os.path.exists("case.npz")


def test_pdb_opens_once_where_the_values_are(work):
    """A wrong value leaves no frame of the answer: its backward is called once more."""
    text, said = spoilt("wrong"), "p x.shape, g.shape\nq\n"
    E2.work.write_text(text, encoding="utf-8")
    done = python("-m", "lessons", "check", "E.2", "--pdb", text=said)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("> /") == 1 and ")backward()" in done.stdout
    assert "NameError" not in done.stdout


@pytest.mark.deep
def test_the_same_checks_with_pytest(work):
    text = answer("6.9", "    sources, ", "    del pairs[cut:]\n    sources, ")
    (work / "ex_6_9.py").write_text(text, encoding="utf-8")
    done = python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "lessons" / "exercises",
        "-k", "6_9", "--impl", "work", f"--rootdir={ROOT}",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "changes its argument pairs" in done.stdout
    assert "Traceback" not in done.stdout  # the report only


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    "command, code",
    [
        ("list | true", 0),
        ("check E.2 --json >&-", 3),
        pytest.param("grade . --csv <&- >&- 2>&-", 0, marks=pytest.mark.deep),
    ],
)
def test_closed_streams_and_pipes_change_no_exit_code(work, command, code):
    E2.work.write_text(E2.stub_text, encoding="utf-8")
    done = subprocess.run(
        f"{sys.executable} -m lessons {command}",
        shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == code and done.stdout == ""
