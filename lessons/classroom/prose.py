"""The rules for the prose of a lesson, and for the links of its page.

Each broken rule is reported with file and line: a number typed by hand, a link that
leads nowhere, math that GitHub would not render.
"""

import re

from .catalogue import ROOT
from .cells import EXPRESSION, LessonError, headings, outside_fences, place

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"(\$?)(`+)(?!`).*?(?<!`)\2(?!`)\$?")
# in math within a line: what Markdown reads as emphasis, an escape or a tag
UNSAFE_MATH = re.compile(r"_\{|\*|\\[^A-Za-z]|(?<![A-Za-z0-9])_|<[A-Za-z/!?]")
INLINE = re.compile(r"\$([^$]*)\$")
SECTION = r"(?:6\.(?:10|\d)|38\.\d)(?:\.\d)?"  # of the chapters: not a computed number
NUMBER = re.compile(rf"(?<![\w.])(?!{SECTION}(?![\d.]*\d))\d*\.\d+|\d+ ?%")
AVOIDED = re.compile(r"\b(simply|just|obviously|trivially|of course)\b|—|(?<!\w)!|\w!")


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
    for number, line in outside_fences(text, 1, path):
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            if target.startswith("figures/") and target[8:] in figures:
                continue
            file, _, anchor = target.partition("#")
            file = (folder / file).resolve() if file else path
            roots = ROOT, folder.resolve().parents[2]  # of a copy of the project
            fault = _broken(file, anchor, text if file == path else None)
            if not any(map(file.is_relative_to, roots)):
                fault = "it leaves the project"
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


def slug(heading):
    """Return the anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")
