"""The rules for the prose of a lesson, its computed numbers, and its links.

Each broken rule is reported with file and line: a number typed by hand, a link that
leads nowhere, math that GitHub would not render, an expression without a text value.
"""

import pathlib
import re

from .cells import LessonError
from .paths import ROOT

EXPRESSION = re.compile(r"\{\{ (.+?) \}\}")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r" {0,3}(```+|~~~+)\s*(\w*)")
CODE = re.compile(r"(\$?)(`+)(?!`).*?(?<!`)\2(?!`)\$?")
# in math within a line: what Markdown reads as emphasis, an escape or a tag
UNSAFE_MATH = re.compile(r"_\{|\*|\\[^A-Za-z]|(?<![A-Za-z0-9])_|<[A-Za-z/!?]")
INLINE = re.compile(r"\$([^$]*)\$")
SECTION = r"(?:6\.(?:10|\d)|38\.\d)(?:\.\d)?"  # of the chapters: not a computed number
NUMBER = re.compile(rf"(?<![\w.])(?!{SECTION}(?![\d.]*\d))\d*\.\d+|\d+ ?%")
AVOIDED = re.compile(r"\b(simply|just|obviously|trivially|of course)\b|—|(?<!\w)!|\w!")


def evaluated(cell, namespace, folder):
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


def faults_of_prose(cell, folder):
    """Yield a sentence for each broken rule in the prose of a cell."""
    for number, line in outside_fences(cell.text, cell.line, folder):
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


def check_links(text, folder, figures):
    """Raise LessonError for a link of a finished page that leads nowhere.

    figures   the file names of figures that are still to be written
    """
    path = folder / "README.md"
    for number, line in outside_fences(text, 1, folder, path.name):
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            if target.startswith("figures/") and target[8:] in figures:
                continue
            file, _, anchor = target.partition("#")
            file = (folder / file).resolve() if file else path
            inside = any(
                map(file.is_relative_to, (ROOT, *folder.resolve().parents[2:3]))
            )
            fault = _broken(file, anchor, text if file == path else None)
            fault = fault if inside else "it leaves the project"
            if fault:
                raise LessonError(
                    f"{path}:{number}: the link to {target} leads nowhere: {fault}."
                )


def _broken(file, anchor, text):
    """Return what is wrong with a link to ``anchor`` in ``file``, or None."""
    if text is None and not file.exists():
        return "there is no such file"
    if not anchor:
        return None
    text = file.read_text(encoding="utf-8") if text is None else text
    if re.fullmatch(r"L\d+(-L\d+)?", anchor):
        last = int(anchor.rpartition("L")[2])
        long_enough = last <= len(text.splitlines())
        return None if long_enough else "the file has fewer lines"
    slugs = {slug(heading) for _, heading in headings(text)}
    return None if anchor in slugs else "there is no such heading"


def headings(text):
    """Return [(level, text)] of the headings of a page."""
    found = []
    for _, line in outside_fences(text, 1, pathlib.Path()):
        mark, _, words = line.partition(" ")
        if mark and not mark.strip("#") and len(mark) <= 6:
            found.append((len(mark), words.strip()))
    return found


def slug(heading):
    """Return the anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def outside_fences(text, first, folder, name="lesson.py"):
    """Yield (number, line) outside fences. Raises LessonError at an open fence."""
    fence, opened = None, 0
    for number, line in enumerate(text.splitlines(), first):
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2]:
                fence = None
        elif mark:
            fence, opened = mark[1], number
        else:
            yield number, line
    if fence:
        raise LessonError(f"{folder / name}:{opened}: this fence is never closed.")


def place(folder, line):
    """Return the file and line for a message."""
    return f"{folder.name}/lesson.py:{line}"
