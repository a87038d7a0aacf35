"""A lesson's script: its cells, the rules for their prose, and running them.

    # %% [markdown]               prose, as comment lines
    # %%                          code, shown with what it prints
    # %% [folded]                 code, folded; what it prints is shown
    # %% [figure]                 code that draws: the figure is shown, the code folded
    # %% [source] package.name    the source of a function or class of the library
    # %% [claims]                 code, not shown: its verdicts go into the box above it

The text before the first mark runs and is not shown. The file is plain Python:
``python -m lessons run`` runs it. Lessons run on the NumPy twins of the kernels, so that
nothing is compiled and every machine prints the same.

Prose holds no number typed by hand, and no math that GitHub would not render; a broken
rule is reported with file and line.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import pathlib
import re
import sys
import textwrap
import traceback
import warnings
from dataclasses import dataclass

import numpy as np

from ..classroom.catalogue import ROOT
from . import blocks, claims

MARK = re.compile(r"# ?%%(.*)$")
KINDS = ("code", "markdown", "folded", "figure", "source", "claims")
EXPRESSION = re.compile(r"\{\{ (.+?) \}\}")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"(\$?)(`+)(?!`).*?(?<!`)\2(?!`)\$?")
# in math within a line: what Markdown reads as emphasis, an escape or a tag
UNSAFE_MATH = re.compile(r"_\{|\*|\\[^A-Za-z]|(?<![A-Za-z0-9])_|<[A-Za-z/!?]")
INLINE = re.compile(r"\$([^$]*)\$")
SECTION = r"(?:6\.(?:10|\d)|38\.\d)(?:\.\d)?"  # of the chapters: not a computed number
NUMBER = re.compile(rf"(?<![\w.])(?!{SECTION}(?![\d.]*\d))\d*\.\d+|\d+ ?%")
AVOIDED = re.compile(r"\b(simply|just|obviously|trivially|of course)\b|—|(?<!\w)!|\w!")


class LessonError(Exception):
    """A mistake in a lesson; the message begins with file and line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a script.

    kind    "preamble" or one of KINDS
    line    the number of the first line of ``text`` in the file, from 1
    text    code as it stands; prose without its comment signs
    name    of a source cell: the dotted name
    """

    kind: str
    line: int
    text: str
    name: str = ""


@dataclass(frozen=True)
class Source:
    """The text of a function or class: lines ``first`` to ``last`` of ``path``."""

    path: str  # from the root of the project, with forward slashes
    first: int
    last: int
    text: str


def read_cells(folder):
    """Return the cells of a lesson. Raises LessonError for all faults of its prose."""
    text = (folder / "lesson.py").read_text(encoding="utf-8")
    cells = parse(text, f"{folder.name}/lesson.py")
    prose = [cell for cell in cells if cell.kind == "markdown"]
    faults = [fault for cell in prose for fault in faults_of_prose(cell, folder)]
    if faults:
        raise LessonError("\n".join(faults))
    return cells


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
    return [cell for cell in cells if cell.text or cell.kind == "source"]


def run_cells(cells, folder, gallery, capture=True):
    """Return [(cell, text, pictures)]: the prose, prints and figures of each cell.

    gallery   a ``figures.Gallery``
    capture   keep the prints for the page, or else let them go to the terminal
    """
    from attention import kernels

    path = folder / "lesson.py"
    namespace = {"__name__": "__main__", "__file__": str(path)}
    before, performed, page = sys.path[:], [], folder.name + "/README.md"
    claims.CLAIMS.clear()
    try:
        with (
            gallery,
            warnings.catch_warnings(),
            kernels.backend("numpy"),
            np.printoptions(),  # restores what a lesson sets
            np.errstate(),
        ):
            warnings.simplefilter("error", RuntimeWarning)
            for cell in cells:
                known, out = set(gallery.pictures), io.StringIO()
                redirect = contextlib.redirect_stdout(out)
                if cell.kind == "markdown":
                    out.write(evaluate_prose(cell, namespace, folder))
                    for _, words in headings(out.getvalue()):
                        page = f"{folder.name}/README.md#{blocks.anchor(words)}"
                        if not capture:
                            print(f"\n{words}\n")
                elif cell.kind == "claims":
                    _execute(cell, namespace, path)
                    mine = [row for row in claims.CLAIMS if not row["page"]]
                    for row in mine:
                        row["page"] = page
                    out.write(claims.verdicts(mine))
                elif cell.kind != "source":
                    with redirect if capture else contextlib.nullcontext():
                        _execute(cell, namespace, path)
                new = [p for n, p in gallery.pictures.items() if n not in known]
                performed.append((cell, out.getvalue(), new))
    finally:
        sys.path[:] = before
    return performed


def evaluate_prose(cell, namespace, folder):
    """Return the prose of a cell with every {{ expression }} replaced by its value."""
    lines = []
    for number, line in enumerate(cell.text.splitlines(), cell.line):
        where = place(folder, number)
        line = EXPRESSION.sub(lambda m: _value(m[1], namespace, where), line)
        if "{{" in line:
            raise LessonError(
                f"{where}: an expression stands on one line with a space at either "
                "end: `{{ expression }}`. In math, write `{ {`."
            )
        lines.append(line)
    return "\n".join(lines)


def faults_of_prose(cell, folder):
    """Yield a sentence for each broken rule in the prose of a cell."""
    for number, line in outside_fences(
        cell.text, cell.line, f"{folder.name}/lesson.py"
    ):
        line = EXPRESSION.sub("", line)
        words = LINK.sub("", INLINE.sub("", CODE.sub("", line)))
        faults = [*_faults_of_math(line)]
        if typed := NUMBER.search(words):
            faults.append(
                f"the number {typed[0]} is typed by hand. Numbers in prose are "
                "computed: `{{ expression }}`."
            )
        if avoided := AVOIDED.search(words):
            faults.append(f"this book avoids `{avoided[0]}`.")
        for fault in faults:
            yield f"{place(folder, number)}: {fault}"


def source(name, where):
    """Return the ``Source`` of a dotted name, such as minigrad.ops.activation.tanh.

    An operation that was lifted to tensors is shown as it was written, and so is a
    compiled loop. Raises LessonError, which begins with ``where``.
    """
    try:
        thing = _resolve(name)
    except (ImportError, AttributeError) as error:
        raise LessonError(f"{where}: `# %% [source] {name}`: {error}.") from error
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


def headings(text):
    """Return [(level, text)] of the headings of a page."""
    found = blocks.split(blocks.unfolded(text))
    return [(b.level, b.text) for b in found if b.kind == "heading"]


def outside_fences(text, first=1, path="lesson.py"):
    """Yield (number, line) outside fences. Raises LessonError at an open fence."""
    fence, opened = None, 0
    for number, line in enumerate(text.splitlines(), first):
        mark = re.match(r" {0,3}(```+|~~~+)\s*(\w*)", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2]:
                fence = None
        elif mark:
            fence, opened = mark[1], number
        else:
            yield number, line
    if fence:
        raise LessonError(f"{path}:{opened}: this fence is never closed.")


def place(folder, line):
    """Return the file and line for a message."""
    return f"{folder.name}/lesson.py:{line}"


def _faults_of_math(line):
    if "$$" in line or "\\[" in line or "\\(" in line:
        yield (
            "a displayed formula stands in a ```math fence, and one within a line "
            "between single dollars."
        )
        return
    line = CODE.sub("", line)
    if line.count("$") % 2:
        yield "a $ without a second $ on the same line."
    for formula in INLINE.finditer(line):
        before, after = line[: formula.start()][-1:], line[formula.end() :][:1]
        unsafe = UNSAFE_MATH.search(formula[1])
        if unsafe or before.isalnum() or after.isalnum() or after == "-":
            yield f"GitHub may not render {formula[0]} here; write $`{formula[1]}`$."


def _kind(words, where):
    """Return the kind and the dotted name that the rest of a mark's line states."""
    if not words:
        return "code", ""
    bracket, _, name = words.partition("]")
    kind, name = bracket.removeprefix("["), name.strip()
    if kind == bracket or kind not in KINDS[1:] or bool(name) != (kind == "source"):
        raise LessonError(
            f"{where}: no cell begins with `# %% {words}`. There are `# %%`, `# %% "
            "[markdown]`, `[folded]`, `[figure]`, `[claims]`, `[source] package.name`."
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


def _value(expression, namespace, where):
    try:
        value = eval(compile(expression, where, "eval"), namespace)
    except Exception as error:
        raise LessonError(
            f"{where}: {{{{ {expression} }}}}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise LessonError(
            f"{where}: {{{{ {expression} }}}} is {value!r}, a {type(value).__name__}; "
            'expected text or a whole number. Format it: f"{value:.2f}".'
        )
    return str(value)


def _execute(cell, namespace, path):
    """Run a cell; print the value of its last line if that is an expression."""
    try:
        # blank lines before the text give every line its number in the file
        body = ast.parse("\n" * (cell.line - 1) + cell.text, str(path)).body
        ends_in_value = body and isinstance(body[-1], ast.Expr)
        last = body.pop() if ends_in_value and cell.kind != "preamble" else None
        exec(compile(ast.Module(body, []), str(path), "exec"), namespace)
        if last is not None:
            code = compile(ast.Expression(last.value), str(path), "eval")
            value = eval(code, namespace)
            if value is not None:
                print(repr(value))
    except OSError:  # a file that cannot be written; python -m lessons run 0 | head
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        line = lines[-1] if lines else getattr(error, "lineno", None) or cell.line
        where = place(path.parent, line)
        raise LessonError(f"{where}: {type(error).__name__}: {error}") from error


def _resolve(name):
    """Return the object of a dotted name: import its modules, then take attributes."""
    parts, k = name.split("."), 1
    thing = importlib.import_module(parts[0])
    with contextlib.suppress(ModuleNotFoundError):
        while k < len(parts) - 1:
            thing = importlib.import_module(".".join(parts[: k + 1]))
            k += 1
    return functools.reduce(getattr, parts[k:], thing)
