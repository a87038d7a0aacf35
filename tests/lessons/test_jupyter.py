"""Exercises in a notebook: cells that are checked, saved and never lost."""

import builtins
import html
import linecache
import re
import subprocess
import sys

import pytest

import lessons
from lessons import jupyter
from lessons.classroom import catalogue, journal
from lessons.classroom.terminal import paint
from lessons.course import run as runner
from lessons.course.run import Report

from .classroom_cases import answer, spoilt

E2 = catalogue.find("E.2")
PATH = "mein Übungsheft · 练习/00_e_2_backwards.py"


class Shell:
    """What ``%load_ext`` uses of IPython."""

    def __init__(self):
        self.magics, self.names, self.next_cell = {}, {}, None

    def register_magic_function(self, function, kind, name):
        self.magics[name] = function

    def set_next_input(self, text):
        self.next_cell = text

    def push(self, names):
        self.names.update(names)


@pytest.fixture
def shell():
    shell = Shell()
    lessons.load_ipython_extension(shell)
    return shell


@pytest.fixture
def notebook(work, monkeypatch, capsys):
    """A function and its arguments -> (what it shows, what it writes to stderr)."""
    shown = []
    monkeypatch.setattr(builtins, "display", shown.append, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm-color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(function, *arguments, **options):
        shown.clear()
        assert function(*arguments, **options) is None
        printed = capsys.readouterr()
        assert not printed.out
        return "\n".join(map(repr, shown)), printed.err

    run.shown = shown
    return run


@pytest.fixture
def quick(monkeypatch):
    """The report of every check."""
    report = Report(code=0)
    monkeypatch.setattr(runner, "run", lambda *args, **options: report)
    return report


def in_cell(name, text):
    """Define the functions of a cell as IPython does; return the namespace."""
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    exec(compile(text, name, "exec"), names := {})
    return names


def test_what_an_answer_prints_is_no_html():
    assert "a &lt;b&gt; c" in jupyter.Printed("a <b> c")._repr_html_()


def test_the_course_needs_no_ipython():
    code = "import sys; sys.modules['IPython'] = None; from lessons import check"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cell_is_checked_by_its_own_lines_and_saved(shell, notebook):
    text = spoilt("raises")
    cell = "%%exercise E.2\n" + text  # as the learner sees it
    shown, _ = notebook(shell.magics["exercise"], "E.2", text)
    line = next(k for k, row in enumerate(cell.splitlines(), 1) if "1 - z" in row)
    assert f"line {line}:  return g * (1 - z)" in shown and "FAIL" in shown
    assert E2.work.read_text(encoding="utf-8") == "# " + cell
    assert "hint:  %hint E.2" in shown and "python -m" not in shown
    assert "--pdb" not in shown  # nobody could type into it
    assert shell.names["tanh"].__code__.co_filename == str(E2.work)  # to play with
    page = notebook.shown[0]._repr_html_()
    assert re.search(r'<b style="color:#\w{6}">FAIL </b>', page) and "\x1b" not in page
    assert html.unescape(re.sub("<.*?>", "", page)) == shown
    shown, _ = notebook(shell.magics["hint"], "")
    assert shown.startswith("hint 1 of ")
    shown, _ = notebook(shell.magics["exercise"], "E.2", answer())
    assert "passed" in shown and "see:   %lessons solution E.2" in shown
    checks = [e for e in journal.events("E.2") if e["event"] == "check"]
    assert [e["ok"] for e in checks] == [False, True]
    assert [e["event"] for e in journal.events("E.2")].count("hint") == 1


@pytest.mark.parametrize("code, done, step, defined", [
    (0, True, None, True),
    (1, True, "values", True),
    (1, True, "written: the file", False),  # such as an import of the library
    (1, False, None, False),  # it ended the process
    (4, False, None, False),  # it may never end
])  # fmt: skip
def test_a_cell_defines_its_functions_here_if_the_check_could_load_it(
    shell, notebook, quick, code, done, step, defined
):
    quick.code, quick.done = code, done
    quick.outcomes = [{"step": step, "result": "failed", "tag": "x", "part": None,
                       "lines": []}] * bool(step)  # fmt: skip
    cell = 'print("once")\ndef tanh(x):\n    pass'
    shown, _ = notebook(shell.magics["exercise"], "E.2", cell)
    assert ("tanh" in shell.names) == defined
    assert "once" not in shown  # the report has what a check prints


def test_no_cell_loses_a_text(shell, notebook, quick):
    exercise = shell.magics["exercise"]
    assert "another text" not in notebook(exercise, "E.2", answer())[0]
    assert "another text" not in notebook(exercise, "E.2", spoilt("wrong"))[0]
    E2.work.write_text("by an editor, never checked", encoding="utf-8")
    shown, _ = notebook(exercise, "E.2", answer())
    said = " ".join(shown.split())
    assert f"{PATH} had another text, which is kept: %lessons undo E.2" in said
    notebook(shell.magics["lessons"], "undo E.2")
    assert E2.work.read_text(encoding="utf-8") == "by an editor, never checked"
    shown, _ = notebook(shell.magics["lessons"], "history E.2")
    assert "your text, before that of a notebook's cell\n" in shown


def test_running_all_cells_keeps_an_answer(shell, notebook, quick):
    exercise = shell.magics["exercise"]
    shown, _ = notebook(exercise, "E.2", E2.stub_text)
    assert "passed" in shown  # as ``quick`` says
    E2.work.write_text("mine", encoding="utf-8")
    shown, _ = notebook(exercise, "E.2", E2.stub_text)
    said = " ".join(shown.split())
    assert f"{PATH} has a text of yours, which stays. %exercise E.2 puts it" in said
    assert E2.work.read_text(encoding="utf-8") == "mine"


def test_a_line_puts_the_stub_or_the_answer_into_the_next_cell(shell, notebook, quick):
    exercise = shell.magics["exercise"]
    assert "the stub of E.2" in notebook(exercise, "e2")[0]
    assert shell.next_cell == "%%exercise E.2\n" + E2.stub_text
    assert not E2.work.exists()
    notebook(exercise, "E.2", spoilt("wrong"))
    assert "your text of E.2" in notebook(exercise, "E.2")[0]
    assert shell.next_cell == "%%exercise E.2\n" + spoilt("wrong")


def test_functions_are_checked_by_the_lines_of_their_cells(
    notebook, quick, monkeypatch
):
    cell = "import numpy as np\n\ndef scale():\n    return 2\n\n\ndef tanh(x):\n"
    cell += "    y = np.tanh(x)\n    return y, lambda g: g * scale()\n"
    functions = in_cell("cell 3", cell)
    pick = {name: functions[name] for name in ("tanh", "scale")}

    def run(exercise, path, *arguments, **options):
        rows = path.read_text(encoding="utf-8").splitlines()
        lines = [f"line {rows.index(row) + 1}:  {row}" for row in rows if "lambda" in row]
        lines += ["line 1:  the docstring"]
        quick.outcomes = [{"step": "values", "result": "failed", "tag": "x",
                           "part": None, "lines": lines}]  # fmt: skip
        quick.code, quick.ending = 1, f"at tanh, {lines[0]}"
        return quick

    monkeypatch.setattr(runner, "run", run)
    shown, _ = notebook(lessons.check, "E.2", **pick)
    assert "\n        line 9:      return y" in shown and "at tanh, line 9:" in shown
    assert "line 1 of your file:  the docstring" in shown
    text = E2.work.read_text(encoding="utf-8")
    assert text.index("def scale") < text.index("def tanh") < text.index("def matmul")
    assert text.count("def tanh") == 1 and 'NotWritten("E.2 matmul")' in text
    more = in_cell("cell 4", "def matmul(A, B):\n    return A @ B, None\n")
    notebook(lessons.check, "E.2", matmul=more["matmul"])
    text = E2.work.read_text(encoding="utf-8")
    assert "lambda g: g * scale()" in text and "return A @ B, None" in text


def test_functions_replace_a_file_that_is_no_python(notebook, quick):
    notebook(lessons.check, "E.2")  # it is not started: a sentence
    E2.work.write_text("def tanh(x:", encoding="utf-8")
    names = in_cell("cell 5", "def tanh(x):\n    return 5\n")
    shown, _ = notebook(lessons.check, "E.2", tanh=names["tanh"])
    assert "another text, which is kept" in shown
    assert "    return 5\n" in E2.work.read_text(encoding="utf-8")


@pytest.mark.parametrize("magic, arguments, said", [
    ("exercise", ("E.99", "x"), "There is no exercise 'E.99'. There are E.1 to E."),
    ("exercise", ("E.99",), "There is no exercise 'E.99'."),
    ("exercise", ("", "x"), "There is no exercise ''."),
    ("hint", ("",), "No exercise is started yet. %lessons list shows them all."),
    ("lessons", ("chek E.2",), "There is no verb 'chek'. Did you mean 'check'?"),
])  # fmt: skip
def test_a_wrong_line_is_answered_by_a_sentence(shell, notebook, magic, arguments, said):
    shown, errors = notebook(shell.magics[magic], *arguments)
    assert said in errors and not shown and "Traceback" not in errors


def test_what_is_no_function_of_a_cell_is_answered_by_a_sentence(notebook):
    other = in_cell("cell 7", "def other(x):\n    return x\n")["other"]
    for function, name in ((other, "other"), (len, "len"), (3, "3")):
        shown, errors = notebook(lessons.check, "E.2", tanh=function)
        said = f"check: tanh is {name}; expected a function that a cell defines"
        assert said in errors and not shown and not E2.work.exists()
    assert "no exercise 'E.99'" in notebook(lessons.check, "E.99")[1]


def test_without_a_notebook_the_report_is_printed(work, capsys, quick):
    assert not hasattr(builtins, "display")
    names = in_cell("cell 8", answer())
    lessons.check("E.2", tanh=names["tanh"])
    printed = capsys.readouterr().out
    assert "passed" in printed and "python -m lessons solution E.2" in printed
    assert paint("ok", "green") == "ok"
