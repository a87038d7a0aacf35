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


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with spaces and letters beyond ASCII, from another working directory."""
    folder = tmp_path / "mein Übungsheft · 练习"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LESSONS_WORK", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


def run(text, limit=30.0):
    exercise = catalogue.find("E.2")
    exercise.work.write_text(text, encoding="utf-8")
    return runner.run(exercise, exercise.work, limit=limit)


def test_a_right_answer_passes_without_numba(work):
    code = (
        'import atexit, sys\natexit.register(lambda: print("numba" in sys.modules))\n'
    )
    report = run(answer(old="import numpy as np\n", new=f"{code}import numpy as np\n"))
    assert report.code == 0 and not report.failures and not report.ending
    assert report.printed == "False\n"


@pytest.mark.parametrize(
    "how, tag, said",
    [
        ("wrong", "g * (1 - x * x)", "yours equals g * (1 - x * x)"),
        ("raises", "raises", "(1 - z)"),  # the learner's own line
        pytest.param("float32", "float32", "expected float64", marks=pytest.mark.deep),
        ("mutates", "mutates-input", "g *= 1 - y * y"),
    ],
)
def test_a_wrong_answer_reads_what_is_wrong(work, how, tag, said):
    report = run(spoilt(how))
    text = "\n".join(report.failures[0]["lines"])
    assert (report.code, report.tag) == (1, tag) and said in text


@pytest.mark.parametrize(
    "text, where",
    [
        (spoilt("loops"), "backward, line "),
        ("while 1: 2\n", "line 1"),
    ],
)
@pytest.mark.deep  # test_audit.py has one that runs without --deep
def test_an_endless_answer_is_stopped(work, text, where):
    report = run(text, limit=1.0)
    assert (report.code, report.tag) == (4, "timeout")
    assert report.ending.startswith("out of time after 1 s; ")
    assert "while" in report.ending and where in report.ending


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
    assert "and 999" in " ".join(failure["lines"]) and len(str(failure)) < 2000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems set no limit")
def test_an_answer_that_takes_too_much_memory_reads_which_line_does(work):
    report = run(spoilt("fills"))
    text = " ".join(report.failures[0]["lines"])
    assert (report.code, report.tag) == (1, "memory")
    assert "Unable to allocate 7.45 GiB" in text and "np.ones(10**9)" in text


@pytest.mark.parametrize("code", [0, pytest.param(1, marks=pytest.mark.deep), 3])
def test_an_answer_that_ends_the_process_has_failed(work, code):
    report = run(spoilt("exits").replace("_exit(0)", f"_exit({code})"))
    assert (report.code, report.tag) == (1, "exits")
    assert f"ended the process itself, with code {code}" in report.ending


def checked(exercise, path, text):
    """Check a text in this process: (exit code, failures, names of unwritten parts)."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    facts = []
    code = runner.check(exercise, path, {"seed": 0}, lambda **f: facts.append(f))
    outcomes = [f["outcome"] for f in facts if "outcome" in f]
    parts = [o["lines"][0] for o in outcomes if o["result"] == "unwritten"]
    failed = [o for o in outcomes if o["result"] == "failed"]
    return code, failed, list(dict.fromkeys(parts))


E2 = catalogue.find("E.2")


@pytest.mark.parametrize(
    "text, tag, said",
    [
        (" \n", "empty", "the file is empty"),
        ("def f(:\n", "syntax", "the file is not Python yet: "),
        ("a = 1\n\0", "syntax", "null bytes"),
        ("a = 1\n", "missing", "MISSING FUNCTION -> tanh(x)"),
        ("import sys\nsys.exit(3)\n", "raises", "SystemExit: 3, when the file is lo"),
        (b"a = '\xff'\n", "syntax", "invalid or missing encoding declaration"),
        (b"# coding: klingon\n", "syntax", "unknown encoding for"),
        (answer(old=TANH, new="import sys; sys.exit(3)"), "raises", "SystemExit: 3"),
        (answer() + "tanh = 3", "missing", "tanh is not a function: it is 3"),
    ],
)
def test_a_file_that_is_no_answer_reads_why(tmp_path, text, tag, said):
    code, [failed, *_], _ = checked(E2, tmp_path / "a.py", text)
    assert (code, failed["tag"]) == (1, tag)
    assert said in " ".join(failed["lines"])


def test_a_byte_order_mark_is_skipped(tmp_path):
    text = answer("38.5").encode("utf-8-sig")
    assert checked(catalogue.find("38.5"), tmp_path / "a.py", text) == (0, [], [])


def test_the_encoding_that_a_file_declares_is_its_encoding(work):
    first = "# -*- coding: latin-1 -*-\n# Müller\n"
    for id in ("E.2", "6.5"):  # 6.5 uses E.2
        exercise = catalogue.find(id)
        exercise.work.write_bytes((first + answer(id)).encode("latin-1", "replace"))
        assert runner.run(exercise, exercise.work, limit=30.0).code == 0
    done = python("-m", "lessons", "solution", "6.5", "--peek")
    assert done.returncode == 0 and "yours, and the reference" in done.stdout


@pytest.mark.parametrize("id", ["6.1", "6.7"])
def test_all_unwritten_parts_are_named(tmp_path, id):
    exercise = catalogue.find(id)
    text = exercise.stub_text
    parts = re.findall(r'raise NotWritten\("(.+)"\)', text)
    assert checked(exercise, tmp_path / "a.py", text) == (3, [], parts)


def test_unwritten_parts_are_named_beside_a_failure_and_not_after_a_pass(tmp_path):
    exercise, path = catalogue.find("6.1"), tmp_path / "a.py"
    text = exercise.stub_text
    text = text.replace('raise NotWritten("6.1 weights")', "return e.mean()")
    code, failed, parts = checked(exercise, path, text)
    assert code == 1 and failed
    assert parts == ["6.1 context", "6.1 context_backward", "6.1 is_uniform",
                     "6.1 explanation"]  # fmt: skip
    spare = '\n\ndef spare():\n    raise NotWritten("6.1 spare")\n'
    assert checked(exercise, path, answer("6.1") + spare) == (0, [], [])


def test_the_environment_and_the_time_limit_of_a_check(monkeypatch):
    for name in ("LESSONS_TIMEOUT", "ATTENTION_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    assert runner.environment(E2)["ATTENTION_BACKEND"] == "numpy"
    assert runner.time_limit(E2) == runner.SECONDS
    assert runner.time_limit(catalogue.find("38.4")) == 30
    monkeypatch.setattr(runner, "_setting", lambda *args: "30")
    assert "ATTENTION_BACKEND" not in runner.environment(E2)
    monkeypatch.setenv("LESSONS_TIMEOUT", "0.5")
    assert runner.time_limit(E2) == 0.5


# the program


def python(*args, text=None, **env):
    """Run ``python -m lessons`` as a program without a terminal."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", **env}
    return subprocess.run(
        [sys.executable, *args], env=env, input=text, capture_output=True,
        encoding="utf-8",
    )  # fmt: skip


def test_a_check_from_the_command_line(work):
    path = work / "ex_e_2.py"
    path.write_text(spoilt("wrong"), encoding="utf-8")
    for folder in (work, "."):  # a file of the learner's never replaces the library
        with open(os.path.join(folder, "numpy.py"), "w") as file:
            file.write("raise ImportError('not this one')")
    done = python("-m", "lessons", "check", "E.2", "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == facts["code"] == 1 and facts["file"] == str(path)
    assert facts["diagnosis"] == "g * (1 - x * x)"


def test_an_answer_gets_an_earlier_one_in_one_way_only(work):
    (work / "ex_e_1.py").write_text(answer("E.1"), encoding="utf-8")
    given = "from lessons import earlier\nf = earlier(__file__, 'E.1', 'unbroadcast')\n"
    for more, code in (
        (given, 0),
        ("import ex_e_1\n", 1),
        ("import lessons.work\n", 1),
    ):
        report = run(
            answer(old="import numpy as np\n", new=f"{more}import numpy as np\n")
        )
        assert report.code == code, report
        said = " ".join(sum((o["lines"] for o in report.outcomes), []))
        assert not code or "No module named" in said or "earlier(__file__" in said


def test_the_folder_runs_as_a_program_on_any_terminal(work):
    done = python(ROOT / "lessons", "list", PYTHONIOENCODING="ascii")
    assert (
        done.returncode == 0 and " ??.. " not in done.stdout and "E.14" in done.stdout
    )


def test_the_command_line_imports_no_other_package():
    verbs = "lessons.cli, lessons.pages.reading"
    done = python("-c", f"import sys, {verbs}; print(*sys.modules)")
    loaded = set(done.stdout.split())
    assert "lessons.course.run" in loaded
    # of attention, ``app.stopping`` alone: it is the standard library only, too
    assert not loaded & {"numpy", "minigrad", "pytest", "matplotlib"}


def test_a_check_that_draws_loads_matplotlib_before_its_clock_starts():
    names = "from lessons.classroom.catalogue import find; from lessons.course import check"
    load = "e = find('6.7'); check.load(e.parts, e.file, e.answer_text)"
    done = python("-c", f"import sys; {names}; {load}; print(*sys.modules)")
    assert "matplotlib.figure" in done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    "id, old, new, frame, said",
    [
        # NumPy raises: the debugger opens in the learner's frame
        ("E.2", TANH, "return np.linalg.inv(np.zeros((2, 3))) * y", "ex_e_2.py",
         "y.shape"),
        # a wrong value, and a wrong gradient: no frame of the answer is left, so the
        # function, or its backward, is called once more
        pytest.param("E.1", "g.sum(inserted)", "g.mean(inserted)",
                     ")unbroadcast()", "g.shape, shape", marks=pytest.mark.deep),
        ("E.2", "return g * (1 - y * y)", "return g * (1 - x * x)",
         ")backward()", "x.shape, g.shape"),
    ],
)  # fmt: skip
def test_pdb_opens_once_where_the_values_are(work, id, old, new, frame, said):
    catalogue.find(id).work.write_text(answer(id, old, new), encoding="utf-8")
    done = python("-m", "lessons", "check", id, "--pdb", text=f"p {said}\nq\n")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("> /") == 1 and frame in done.stdout.split("> /")[1]
    assert "NameError" not in done.stdout


def test_an_answer_runs_in_the_current_folder_and_knows_the_learners(work):
    here, folder = os.getcwd(), os.environ["LESSONS_WORK"]
    says = (
        f"import os\nprint(os.getcwd() == {here!r})\n"
        f"print(os.environ['LESSONS_WORK'] == {folder!r})\n"
    )
    (work / "ex_6_1.py").write_text(says + answer("6.1"), encoding="utf-8")
    done = python("-m", "lessons", "check", "6.1")
    assert done.stdout.split("printed:")[1].split()[:2] == ["True", "True"], done.stdout


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
    assert "2 failed" in done.stdout and "Traceback" not in done.stdout
    assert "def " not in done.stdout  # the report only


def test_a_good_answer_in_words_is_shown_when_all_else_has_passed(tmp_path, capsys):
    exercise, path = catalogue.find("6.1"), tmp_path / "a.py"
    assert checked(exercise, path, answer("6.1"))[0] == 0
    assert "a good answer says:\n1  " in capsys.readouterr().out
    overflows = answer("6.1", "np.exp(e - e.max())", "np.exp(e)")  # the last step
    assert checked(exercise, path, overflows)[0] == 1
    assert "good answer" not in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="needs pipes that break")
@pytest.mark.parametrize(
    "verb", [["list"], pytest.param(["run", "1"], marks=pytest.mark.deep)]
)
def test_a_closed_pipe_prints_no_traceback(work, verb):
    """python -m lessons list | true; an empty PYTHONUNBUFFERED means buffered"""
    process = subprocess.Popen(
        [sys.executable, "-m", "lessons", *verb],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait() == 1
    process.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    "command, code",
    [
        ("list >&-", 0),
        ("check E.2 --json >&-", 3),
        pytest.param("grade . --csv <&- >&- 2>&-", 0, marks=pytest.mark.deep),
        pytest.param("start E.1 2>&-", 0, marks=pytest.mark.deep),
    ],
)
def test_closed_streams_change_no_exit_code(work, command, code):
    E2.work.write_text(E2.stub_text, encoding="utf-8")
    done = subprocess.run(
        f"exec {sys.executable} -m lessons {command}",
        shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == code and "Traceback" not in done.stdout
    assert ("fill in" in done.stdout) == ("start" in command)


def test_the_arrays_of_a_failure_are_saved(work, tmp_path):
    exercise, file = catalogue.find("E.2"), tmp_path / "case.npz"
    exercise.work.parent.mkdir(parents=True, exist_ok=True)
    exercise.work.write_text(spoilt("wrong"), encoding="utf-8")
    report = runner.run(exercise, exercise.work, save=file)
    case = np.load(file)
    assert {*report.saved} == {*case} == {"x", "g", "found", "expected"}
    g, x = case["g"], case["x"]
    assert np.array_equal(case["found"], g * (1 - x * x))
    assert np.allclose(case["expected"], g * (1 - np.tanh(x) ** 2))


@pytest.mark.deep
def test_the_arguments_of_a_wrong_value_are_saved(work, tmp_path):
    exercise, file = catalogue.find("6.1"), tmp_path / "case.npz"
    exercise.work.parent.mkdir(parents=True, exist_ok=True)
    wrong = answer("6.1", "return alpha @ H", "return H.mean(0)")
    exercise.work.write_text(wrong, encoding="utf-8")
    report = runner.run(exercise, exercise.work, save=file)
    case = np.load(file)
    assert {*report.saved} == {*case} and {"found", "expected", "H"} <= {*case}
    assert np.allclose(case["found"], case["H"].mean(0))
    exercise.work.write_text(answer("6.1"), encoding="utf-8")
    file.unlink()
    assert not runner.run(exercise, exercise.work, save=file).saved
    assert not file.exists()
