"""Read a lesson's script: a Python file in cells, as notebooks and editors divide it.

    # %% [markdown]               prose, as comment lines
    # %%                          code, shown with what it prints
    # %% [figure]                 code that draws: the figure is shown, the code folded
    # %% [source] package.name    the source of a function or class of the library

What stands before the first mark runs as well and is not shown. The file is plain
Python throughout: ``python lesson.py`` runs it.
"""

import re
from dataclasses import dataclass

MARK = re.compile(r"# ?%%(.*)$")
KINDS = ("code", "markdown", "figure", "source")


class LessonError(Exception):
    """What is wrong with a lesson, in a sentence that begins with file and line."""


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
    """The cells of a script. Raises LessonError at a line that fits no cell."""
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
    shown = [cell for cell in cells if cell.kind != "preamble"]
    if not shown or not shown[0].text.startswith("# "):
        line = shown[0].line if shown else 1
        raise LessonError(
            f"{path}:{line}: the first cell of a lesson is prose and begins with its "
            "title, a line `# # 05. Title`."
        )
    return cells


def _kind(words, where):
    """The kind and the dotted name that the rest of a mark's line says."""
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
            f"{path}:{start}: a source cell holds nothing but its first line; the text "
            f"of {name} is fetched from the library. Begin a new cell here."
        )
    return Cell(kind, start, "\n".join(lines), name)


def _prose(line, where):
    if line in ("", "#"):
        return ""
    if not line.startswith("# "):
        raise LessonError(
            f"{where}: a line of prose begins with `# `, and this one reads `{line}`. "
            "Code belongs under a `# %%` of its own."
        )
    return line[2:]
