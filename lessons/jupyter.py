"""Exercises in a Jupyter notebook: cells that are checked, and hints.

    %load_ext lessons
    %exercise E.1        a cell below with the stub of E.1, or with your text
    %%exercise E.1       the first line of this cell: running the cell checks it
    %hint                the next hint
    %lessons undo E.1    any other verb of ``python -m lessons``

A cell is saved as the learner's file, in which the line ``%%exercise`` is a comment. So
the line numbers of a report are those of the cell, and the terminal and the notebook
share the answers and their history. A check runs in a process of its own, as in the
terminal. IPython is not imported.
"""

import ast
import builtins
import contextlib
import html
import inspect
import io
import re
import shlex
import sys

from minigrad.draw.colours import GREEN, GREY, ORANGE, RED
from minigrad.draw.html import pre

from . import cli
from .classroom import journal
from .classroom.catalogue import UsageError, find
from .classroom.learner import report
from .classroom.terminal import COLOURS, display_path, say, without_breaks
from .course import read

MAGIC = "%%exercise"
TYPED = re.compile(r"python -m lessons(?: (start|hint)\b)?")  # and in a notebook:
MAGICS = {"start": "%exercise", "hint": "%hint", None: "%lessons"}
NO_TERMINAL = re.compile(r"^.* --pdb\n", re.M)  # a notebook cannot type into pdb
ON_PAGES = {"green": GREEN, "red": RED, "yellow": ORANGE, "dim": GREY}


def load_ipython_extension(shell):
    """Add the magics to IPython: what ``%load_ext lessons`` calls."""

    def exercise(line, cell=None):
        if cell is None:
            _show(lambda: _offer(shell, find(" ".join(_words(line)))))
        else:
            _show(lambda: _check_cell(shell, line, cell))

    def hint(line):
        _show(lambda: cli.main(["hint", *_words(line)]))

    def lessons(line):
        _show(lambda: _run(_words(line)))

    shell.register_magic_function(exercise, "line_cell", "exercise")
    shell.register_magic_function(hint, "line", "hint")
    shell.register_magic_function(lessons, "line", "lessons")


def check(id, **functions):
    """Check functions of a notebook: check("E.1", unbroadcast=unbroadcast).

    They replace those of the same names in your file; the text before is kept. Without
    functions, your file is checked as it is.
    """
    _show(lambda: _check_functions(find(str(id)), functions))


class Printed:
    """What a command printed, with the colours of a terminal; a notebook shows it."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return re.sub("\x1b.*?m", "", self.text).rstrip("\n")

    def _repr_html_(self):
        text = html.escape(self.text.rstrip("\n")).replace("\x1b[0m", "</b>")
        for name, code in COLOURS.items():
            begin = f'<b style="color:{ON_PAGES[name]}">'
            text = text.replace(f"\x1b[{code}m", begin)
        return pre(text)


class _Commands(io.TextIOBase):
    """A stream that writes commands as a notebook types them: %hint E.1."""

    def __init__(self, stream, colours=False):
        self.stream, self.colours = stream, colours

    def isatty(self):
        return self.colours

    def write(self, text):
        self.stream.write(TYPED.sub(lambda found: MAGICS[found[1]], text))
        return len(text)


def _show(verb):
    """Run a part of the course, and show what it prints; errors are sentences."""
    if not hasattr(builtins, "display"):  # no notebook
        cli.explained(verb)
        return
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(_Commands(printed, colours=True)),
        contextlib.redirect_stderr(_Commands(sys.stderr)),
    ):
        try:
            with contextlib.suppress(SystemExit):  # after --help
                cli.explained(verb)
        finally:
            text = NO_TERMINAL.sub("", printed.getvalue())
    if text:
        builtins.display(Printed(text))


def _words(line):
    """Return the words of a line; what follows # is a comment."""
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise UsageError(f"{line.strip()}: {error}; expected its end.") from None


def _run(words):
    """Run a verb, but one that goes on printing for minutes."""
    if words[:1] in (["watch"], ["experiment"]):
        command = " ".join(["python -m lessons", *words])
        raise UsageError(
            f"{words[0]} shows its progress in a terminal; expected {command} there."
        )
    return cli.main(words)


def _offer(shell, exercise):
    """Put a cell below this one: the learner's text, or the stub."""
    text, what = _own_text(exercise), "your text"
    if not text:
        text, what = exercise.stub_text, "the stub"
    shell.set_next_input(f"{MAGIC} {exercise.id}\n{text}")
    say(f"The cell below has {what} of {exercise.id}. Running it checks it.")
    return 0


def _own_text(exercise):
    """Return the learner's text without the line of a magic, or ""."""
    text = read.text_of(exercise.work) if exercise.work.exists() else ""
    return re.sub(rf"\A# {MAGIC}.*\n", "", text)


def _check_cell(shell, line, cell):
    """Save a cell as the learner's file, check it, and define its functions here."""
    exercise = find(" ".join(_words(line)))
    stub = exercise.stub_text.strip()
    text = f"# {MAGIC} {line}\n{cell.rstrip()}\n"
    if cell.strip() == stub and _own_text(exercise).strip() not in ("", stub):
        say(
            f"This cell is the stub of {exercise.id}, and {_path(exercise)} has a text "
            f"of yours, which stays. python -m lessons start {exercise.id} puts it into "
            f"a cell, python -m lessons check {exercise.id} checks it."
        )
        return 0
    _save(exercise, text)
    code = report.check(exercise)
    last = journal.events(exercise.id)[-1]
    loaded = not (last["step"] or "").startswith("written")
    if loaded and last["diag"] not in ("exits", "timeout"):
        names = {"__name__": exercise.stem, "__file__": str(exercise.work)}
        with contextlib.redirect_stdout(None):  # the report has what it prints
            exec(compile(text, names["__file__"], "exec"), names)
        shell.push({n: f for n, f in names.items() if not n.startswith("__")})
    return code


def _check_functions(exercise, functions):
    """Put functions into the learner's file, and check it."""
    if not functions:
        return report.check(exercise)
    text = exercise.stub_text
    if exercise.work.exists():
        with contextlib.suppress(SyntaxError):  # the stub is used instead
            own = read.text_of(exercise.work)
            ast.parse(own)
            text = own
    found = {name: _lines(name, function) for name, function in functions.items()}
    text = _merged(text, {name: lines for name, (lines, _) in found.items()})
    _save(exercise, text)
    there, rows = read.functions(ast.parse(text)), {}
    for name, (lines, first) in found.items():
        begin = _first(there[name])
        rows |= {begin + k: first + k for k in range(len(lines))}

    def renumbered(line):
        def row(found):
            n = int(found[1])
            return f"line {rows[n]}:" if n in rows else f"line {n} of your file:"

        return re.sub(r"\bline (\d+):", row, line)

    return report.check(exercise, edit=renumbered)


def _lines(name, function):
    """Return the lines of a function, and the number of the first one in its cell."""
    try:
        lines, first = inspect.getsourcelines(function)
        text = "".join(lines)
        if [*read.functions(ast.parse(text))] == [name]:
            return text.splitlines(), first
    except (OSError, TypeError, SyntaxError):
        pass  # not written in Python, or inside of another function
    found = getattr(function, "__name__", repr(function))
    raise UsageError(
        f"check: {name} is {found}; expected a function that a cell defines with "
        f"def {name}(…)."
    )


def _merged(text, functions):
    """Return a file with other functions {name: lines}; new ones stand before all."""
    rows, there = text.splitlines(), read.functions(ast.parse(text))
    first = min(map(_first, there.values()), default=len(rows) + 1)
    for name in sorted(there.keys() & functions, key=lambda n: -there[n].lineno):
        rows[_first(there[name]) - 1 : there[name].end_lineno] = functions[name]
    for name in functions.keys() - there:
        rows[first - 1 : first - 1] = [*functions[name], "", ""]
    return "\n".join(rows) + "\n"


def _first(function):
    """Return the number of the first line of a function, which may be a decorator."""
    return min(n.lineno for n in (function, *function.decorator_list))


def _save(exercise, text):
    """Write the learner's file; the text before is kept for ``undo``."""
    text = text.encode()
    if journal.hash_of(text) == journal.hash_of(exercise.work):
        return
    of_cells = [e["work"] for e in journal.events(exercise.id) if e.get("why") == "cell"]
    before = journal.snapshot(exercise, "before a cell")
    if before and before not in of_cells:
        say(
            f"{_path(exercise)} had another text, which is kept: python -m lessons undo "
            f"{exercise.id} brings it back."
        )
    journal.write(exercise.work, text)
    journal.snapshot(exercise, "cell")


def _path(exercise):
    return without_breaks(display_path(exercise.work))
