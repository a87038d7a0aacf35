"""From what a lesson said, ran and drew to its page, and what a page must not have.

Refused, each with file and line: a number typed into prose, a link that leads nowhere,
math that GitHub would not render, an expression that does not evaluate to words.
"""

import pathlib
import re

from .paths import ROOT
from .percent import LessonError
from .sources import source

EXPRESSION = re.compile(r"\{\{ (.+?) \}\}")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r" {0,3}(```+|~~~+)\s*(\w*)")
CODE = re.compile(r"(\$?)(`+)(?!`).*?(?<!`)\2(?!`)\$?")
# in math within a line: what Markdown takes for emphasis, an escape or a tag first
AWKWARD = re.compile(r"_\{|\*|\\[^A-Za-z]|(?<![A-Za-z0-9])_|<[A-Za-z/!?]")
INLINE = re.compile(r"\$([^$]*)\$")
SECTION = r"(?:6\.(?:10|\d)|38\.\d)(?:\.\d)?"  # of the chapters: no number of ours
NUMBER = re.compile(rf"(?<![\w.])(?!{SECTION}(?![\d.]*\d))\d*\.\d+|\d+ ?%")
SHUNNED = re.compile(r"\b(simply|just|obviously|trivially|of course)\b|—|(?<!\w)!|\w!")


def page(performed, folder):
    """The Markdown of a lesson.

    performed   [(cell, text, pictures)]: prose with its expressions in place, or what
                the code printed and drew
    """
    parts = []
    for cell, text, pictures in performed:
        if cell.kind == "markdown":
            parts.append(text)
        elif cell.kind == "source":
            parts.append(transcluded(cell, folder))
        elif cell.kind == "code":
            parts.append(fenced(cell.text, "python"))
        if cell.kind != "markdown" and text:
            parts.append(fenced(text.rstrip("\n"), "text"))
        parts += [f"![{p.alt}](figures/{p.name}.svg)" for p in pictures]
        if cell.kind == "figure":
            code = fenced(cell.text, "python")
            summary = "The code of this figure"
            parts.append(
                f"<details><summary>{summary}</summary>\n\n{code}\n\n</details>"
            )
    number = folder.name.partition("_")[0]
    head = (
        "<!-- woven from lesson.py; edit that file, then: python -m lessons weave "
        f"{number} -->"
    )
    foot = (
        f"---\n\n[The script of this page](lesson.py) runs as it is: "
        f"`python -m lessons run {int(number)}`. [All lessons](../../README.md)."
    )
    return "\n\n".join([head, *parts, foot]) + "\n"


def transcluded(cell, folder):
    """A source cell: a link to where the text stands, and the text."""
    found = source(cell.name, _where(folder, cell.line - 1))
    # a page stands in lessons/book/NN_name
    link = f"../../../{found.path}#L{found.first}-L{found.last}"
    words = f"`{cell.name}`, from [{found.path}]({link}):"
    return f"{words}\n\n{fenced(found.text, 'python')}"


def fenced(text, language):
    """``text`` in a fence that it does not contain."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{language}\n{text}\n{ticks}"


def evaluated(cell, namespace, folder):
    """The prose of a cell with every {{ expression }} replaced by its value."""
    lines = []
    for number, line in enumerate(cell.text.splitlines(), cell.line):
        where = _where(folder, number)
        line = EXPRESSION.sub(lambda m: _value(m[1], namespace, where), line)
        if "{{" in line:
            raise LessonError(
                f"{where}: `{{{{` opens an expression, which stands on one line with "
                "a space at either end: `{{ expression }}`. In math, write `{ {`."
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
            'expected words or a whole number. Format it: f"{value:.2f}".'
        )
    return str(value)


def faults_of_prose(cell, folder):
    """What prose, as it stands in the script, must not have: sentences."""
    for number, line in outside_fences(cell.text, cell.line, folder):
        line = EXPRESSION.sub("", line)
        words = LINK.sub("", INLINE.sub("", CODE.sub("", line)))
        faults = [*_faults_of_math(line)]
        if typed := NUMBER.search(words):
            faults.append(
                f"the number {typed[0]} is typed by hand. Numbers in prose are "
                "computed: `{{ expression }}`."
            )
        if shunned := SHUNNED.search(words):
            faults.append(f"`{shunned[0]}` is a word that this book avoids.")
        for fault in faults:
            yield f"{_where(folder, number)}: {fault}"


def _faults_of_math(line):
    if "$$" in line or "\\[" in line or "\\(" in line:
        yield (
            "a formula on lines of its own stands in a ```math fence, and one within "
            "a line between single dollars."
        )
        return
    line = CODE.sub("", line)
    if line.count("$") % 2:
        yield "a $ without its partner on the same line."
    for formula in INLINE.finditer(line):
        before, after = line[: formula.start()][-1:], line[formula.end() :][:1]
        awkward = AWKWARD.search(formula[1])
        if awkward or before.isalnum() or after.isalnum() or after == "-":
            yield f"GitHub may not render {formula[0]} here; write $`{formula[1]}`$."


def check_links(text, folder, figures):
    """Raise LessonError for a link of a finished page that leads nowhere."""
    path = folder / "README.md"
    for number, line in outside_fences(text, 1, folder, path.name):
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            if target.startswith("figures/") and target[8:] in figures:
                continue
            file, _, place = target.partition("#")
            file = (folder / file).resolve() if file else path
            inside = any(
                map(file.is_relative_to, (ROOT, *folder.resolve().parents[2:3]))
            )
            fault = _fault(file, place, text if file == path else None)
            fault = fault if inside else "it leaves the project"
            if fault:
                raise LessonError(
                    f"{path}:{number}: the link to {target} leads nowhere: {fault}."
                )


def _fault(file, place, text):
    """What is wrong with a link to ``place`` in ``file``; None if nothing is."""
    if text is None and not file.exists():
        return "there is no such file"
    if not place:
        return None
    text = file.read_text(encoding="utf-8") if text is None else text
    if re.fullmatch(r"L\d+(-L\d+)?", place):
        last = int(place.rpartition("L")[2])
        long_enough = last <= len(text.splitlines())
        return None if long_enough else "the file has fewer lines"
    slugs = {slug(heading) for _, heading in headings(text)}
    return None if place in slugs else "there is no such heading"


def headings(text):
    """[(level, words)] of a page."""
    found = []
    for _, line in outside_fences(text, 1, pathlib.Path()):
        mark, _, words = line.partition(" ")
        if mark and not mark.strip("#") and len(mark) <= 6:
            found.append((len(mark), words.strip()))
    return found


def slug(heading):
    """The anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def outside_fences(text, first, folder, name="lesson.py"):
    """(number, line) of the lines that are not in a fence, which has to be closed."""
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


def _where(folder, line):
    return f"{folder.name}/lesson.py:{line}"
