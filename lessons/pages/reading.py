"""Pages for a terminal: text folded to its width, formulas in plain characters.

Code keeps its lines, also where they are wider than the terminal.
"""

import contextlib
import pydoc
import re
import shutil
import sys
import textwrap

from ..classroom import journal
from ..classroom.learner import progress
from ..classroom.catalogue import (
    UsageError,
    find,
    find_lessons,
    header,
    lesson_folders,
    number,
)
from ..classroom.journal import hash_of
from ..classroom.terminal import HARD_SPACE, display_path, say
from . import blocks, formulas

WIDEST = 80  # columns of text: longer lines are hard to read
UNDIVIDED = 30  # characters of the longest formula that stays in one line


def read(args):
    """Show pages; say which exercises they have, or where an exercise belongs."""
    for name in args.lesson:
        with contextlib.suppress(UsageError):
            say(progress.title(find(name)))
    code = for_the_reader("read", args.lesson, _read)
    if not code and len(args.lesson) == 1:
        folders = find_lessons(args.lesson[0])
        if len(folders) == 1:
            progress.show_exercises(folders[0])
    return code


def for_the_reader(verb, names, action):
    """Do something with each lesson that is named, and note it in the journal."""
    found = [f for name in names for f in find_lessons(name)]
    folders = list(dict.fromkeys(found)) or lesson_folders()
    if len(folders) > len(names):  # a chapter: list its lessons
        for folder in folders:
            print(f"  {title(folder)}")
        print(f"\nnext: python -m lessons {verb} {number(folders[0])}")
        return 0 if verb == "read" else 2
    codes = []
    for folder in folders:
        codes.append(action(folder))
        if not codes[-1]:
            with contextlib.suppress(OSError):  # reading needs no journal
                script = hash_of(folder / "lesson.py")
                journal.append(number(folder), verb, work=script)
    return max(codes)


def title(folder):
    """Return the title of a lesson with its number."""
    return header(folder).heading


def _read(folder):
    path = folder / "README.md"
    columns = max(40, shutil.get_terminal_size((80, 24)).columns)
    text = in_columns(path.read_text(encoding="utf-8"), columns, folder)
    where = display_path(path)
    text = f"{text}\n\n{where}\nnext: python -m lessons run {number(folder)}\n"
    if sys.stdin.isatty() and sys.stdout.isatty():
        pydoc.pager(text)
    else:
        print(text, end="")
    return 0


def in_columns(text, columns, folder):
    """Return the page of a folder as text of at most so many columns, code apart.

    Folded code is left out, and so is what follows the rule at the end of a page.
    """
    found = blocks.split(blocks.unfolded(text))
    end = next((k for k, b in enumerate(found) if b.kind == "rule"), len(found))
    shown = [block for block in found[:end] if block.kind != "fold"]
    return "\n\n".join(_lines(block, columns, folder) for block in shown)


def _lines(block, columns, folder):
    """Return a block as lines of at most so many columns."""
    match block.kind:
        case "heading":
            text = words(block.text)
            rule = "=" if block.level == 1 else "-" if block.level == 2 else ""
            folded = _fold(text, columns)
            return f"{folded}\n{rule * min(len(text), columns, WIDEST)}".rstrip()
        case "paragraph":
            return _fold(words(block.text), columns)
        case "code":
            edge = "    " if block.label == "python" else "  | "
            return _fixed(block.text, edge, columns)
        case "math":
            return _formula(block.text, columns)
        case "figure":
            caption = _fold(f"[Figure: {words(block.text)}]", columns)
            return f"{caption}\n{display_path(folder / block.label)}"
        case "table":
            return _table(block.parts, columns)
        case "quote":
            inner = "\n\n".join(_lines(b, columns - 2, folder) for b in block.parts)
            return textwrap.indent(inner, "> ", lambda line: True)
        case "list":
            return "\n".join(
                _item(block, k, columns, folder) for k in range(len(block.parts))
            )
    return ""


def _item(block, k, columns, folder):
    mark = f"{k + 1}. " if block.level else "- "
    inner = "\n\n".join(_lines(b, columns - len(mark), folder) for b in block.parts[k])
    return mark + textwrap.indent(inner, " " * len(mark)).lstrip()


def words(text):
    """Return a text in plain characters; its line never ends within a short formula."""
    return _plain(blocks.spans(text)).replace("\n", " ")


def _plain(spans):
    found = ""
    for kind, content, _ in spans:
        if kind == "code":
            content = f"`{content}`"
        elif kind == "math":
            content = formulas.as_text(content)
        elif kind != "text":
            content = _plain(content)
        is_short = kind in ("code", "math") and len(content) <= UNDIVIDED
        found += content.replace(" ", HARD_SPACE) if is_short else content
    return found


def _fold(text, columns):
    found = textwrap.fill(text, min(columns, WIDEST), break_on_hyphens=False)
    return found.replace(HARD_SPACE, " ")


def _fixed(text, edge, columns):
    """Return code behind an edge, if it fits; its lines stay whole, to be copied."""
    lines = text.split("\n")
    edge = edge if max(map(len, lines)) + len(edge) <= columns else ""
    return "\n".join((edge + line).rstrip() for line in lines)


def _formula(formula, columns):
    """Return a displayed formula: its equations side by side where they fit."""
    columns, lines = min(columns, WIDEST), []
    for line in formulas.as_text(formula).split("\n"):
        lines.append("")
        for equation in re.split(" {3,}", line):
            if lines[-1] and len(lines[-1] + equation) + 8 > columns:
                lines.append("")
            lines[-1] += "    " * bool(lines[-1]) + equation
    lines = [textwrap.wrap(x, columns - 8, subsequent_indent="    ") for x in lines]
    return textwrap.indent("\n".join(part for line in lines for part in line), "    ")


def _table(rows, columns):
    """Return a table: the widest columns are folded until all of them fit."""
    rows = [[words(cell) for cell in row] for row in rows]
    widths = [max(1, *map(len, column)) for column in zip(*rows)]
    while sum(widths) + 2 * (len(widths) - 1) > min(columns, WIDEST):
        widths[widths.index(max(widths))] -= 1
    lines = ["  ".join("-" * n for n in widths)]
    for k, row in enumerate(rows):
        cells = [_fold(cell, n).split("\n") for cell, n in zip(row, widths)]
        for part in range(max(map(len, cells))):
            line = (x[part] if part < len(x) else "" for x in cells)
            line = "  ".join(x.ljust(n) for x, n in zip(line, widths))
            lines.insert(len(lines) - (k == 0), line.rstrip())
    return "\n".join(lines)
