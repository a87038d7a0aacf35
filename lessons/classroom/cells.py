"""A lesson's script: a Python file in cells, as notebooks and editors divide it.

    # %% [markdown]               prose, as comment lines
    # %%                          code, shown with what it prints
    # %% [figure]                 code that draws: the figure is shown, the code folded
    # %% [source] package.name    the source of a function or class of the library

The text before the first mark runs and is not shown. The file is plain Python:
``python lesson.py`` runs it.
"""

import importlib
import inspect
import pathlib
import re
import textwrap
from dataclasses import dataclass

from .paths import ROOT

MARK = re.compile(r"# ?%%(.*)$")
KINDS = ("code", "markdown", "figure", "source")


class LessonError(Exception):
    """A mistake in a lesson; the message begins with file and line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a script.

    kind    "preamble", "code", "markdown", "figure" or "source"
    line    the number of the first line of ``text`` in the file, from 1
    text    code as it stands; prose without its comment signs
    name    of a source cell: the dotted name
    """

    kind: str
    line: int
    text: str
    name: str = ""

    @property
    def runs(self):
        return self.kind in ("preamble", "code", "figure")


def parse(text, path="lesson.py"):
    """Return the cells of a script. Raises LessonError at a line that fits no cell."""
    cells, kind, name, start, lines = [], "preamble", "", 1, []
    for number, line in enumerate(text.splitlines() + ["# %%"], 1):
        mark = MARK.match(line)
        if mark is None:
            lines.append(line)
            continue
        if number > 1:
            cells.append(_cell(kind, name, start, lines, path))
        kind, name = _kind(mark[1].strip(), f"{path}:{number}")
        start, lines = number + 1, []
    cells = [cell for cell in cells if cell.text or cell.kind == "source"]
    first = next((c for c in cells if c.kind != "preamble"), Cell("", 1, ""))
    if not first.text.startswith("# "):
        raise LessonError(
            f"{path}:{first.line}: the first cell of a lesson is prose and begins with "
            "its title, a line `# # 05. Title`."
        )
    return cells


def _kind(words, where):
    """Return the kind and the dotted name that the rest of a mark's line states."""
    if not words:
        return "code", ""
    bracket, _, name = words.partition("]")
    kind, name = bracket.removeprefix("["), name.strip()
    if kind == bracket or kind not in KINDS[1:] or bool(name) != (kind == "source"):
        raise LessonError(
            f"{where}: no cell begins with `# %% {words}`. There are `# %%`, "
            "`# %% [markdown]`, `# %% [figure]` and `# %% [source] package.name`."
        )
    return kind, name


def _cell(kind, name, start, lines, path):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    while lines and not lines[0].strip():
        lines, start = lines[1:], start + 1
    if kind == "markdown":
        lines = [_prose(line, f"{path}:{start + k}") for k, line in enumerate(lines)]
    elif kind == "source" and lines:
        raise LessonError(
            f"{path}:{start}: a source cell holds its first line only, because {name} "
            "is read from the library. Begin a new cell here."
        )
    return Cell(kind, start, "\n".join(lines), name)


def _prose(line, where):
    if line in ("", "#"):
        return ""
    if not line.startswith("# "):
        raise LessonError(
            f"{where}: a line of prose begins with `# `; found `{line}`. Code needs a "
            "`# %%` of its own."
        )
    return line[2:]


@dataclass(frozen=True)
class Source:
    """The text of a function or class: lines ``first`` to ``last`` of ``path``."""

    path: str  # from the root of the project, with forward slashes
    first: int
    last: int
    text: str


def source(name, where):
    """Return the ``Source`` of a dotted name, such as minigrad.ops.activation.tanh.

    An operation that was lifted to tensors is shown as it was written, and so is a
    compiled loop. Raises LessonError, which begins with ``where``.
    """
    thing = _imported(name, where)
    thing = inspect.unwrap(getattr(thing, "py_func", thing))  # numba's, functools'
    if not (inspect.isfunction(thing) or inspect.isclass(thing)):
        raise LessonError(
            f"{where}: {name} is a {type(thing).__name__}, not a function or a class."
        )
    lines, first = inspect.getsourcelines(thing)
    path = pathlib.Path(inspect.getsourcefile(thing)).resolve()
    if not path.is_relative_to(ROOT):
        raise LessonError(f"{where}: {name} is outside this project: {path}.")
    text = textwrap.dedent("".join(lines)).rstrip()
    last = first + len(lines) - 1
    return Source(path.relative_to(ROOT).as_posix(), first, last, text)


def _imported(name, where):
    """Return the object of a dotted name; its longest importable part is a module."""
    parts = name.split(".")
    for k in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:k])
        try:
            thing = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name and f"{module}.".startswith(f"{error.name}."):
                continue  # this much of the name is not a module
            raise
        for n, part in enumerate(parts[k:], k):
            if not hasattr(thing, part):
                raise LessonError(
                    f"{where}: there is no {part} in {'.'.join(parts[:n])}, as "
                    f"`# %% [source] {name}` expects."
                )
            thing = getattr(thing, part)
        return thing
    raise LessonError(
        f"{where}: `# %% [source] {name}` needs a module and a name in it, such as "
        "minigrad.ops.activation.tanh."
    )
