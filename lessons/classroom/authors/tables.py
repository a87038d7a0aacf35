"""The verb ``dev sync``: tables, sums and counts, made from the first lines of files."""

import re

from .. import journal
from ..catalogue import (
    LESSONS, ROOT, exercises, first_lines, header, in_book_order, lesson_folders,
    lessons_of, number,
)  # fmt: skip
from ..terminal import display_path, say
from .map_page import map_page

PAGES = ROOT / "README.md", LESSONS / "README.md", LESSONS / "TEACHING.md"
TABLE = re.compile(r"(<!-- (lessons|exercises) -->\n).*?(?=<!-- /\2 -->)", re.DOTALL)
# a week of the syllabus: the author writes its question and its lessons
WEEK = re.compile(r"^(\| \d+ \| [^|]+ \| ((?:start, )?\d\d(?:, \d\d)*) \|).*$", re.M)
COUNT = re.compile(r"\d+ lessons and\s\d+ exercises")
CORE = re.compile(r"\d+ lessons, about\s\d+ hours")


def sync(args):
    """Write the tables of pages, if they changed."""
    written, found = 0, pages()
    for path, text in found.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            journal.write(path, text.encode())
            written += 1
            print(f"wrote {display_path(path)}")
    say(f"{written} written, {len(found) - written} unchanged")
    return 0


def pages():
    """Return {path: text}: the pages as they follow from the first lines."""
    count = f"{len(lesson_folders())} lessons and {len(exercises())} exercises"
    core = [h.minutes for h in map(header, lesson_folders()) if h.importance == "★★★"]
    hours = f"{len(core)} lessons, about {round(sum(core) / 60)} hours"
    found = {LESSONS / "MAP.md": map_page()}
    for path in (folder / "README.md" for folder in lesson_folders()):
        if path.exists():
            mark, _, _, text = path.read_text(encoding="utf-8").split("\n\n", 3)
            found[path] = f"{mark}\n\n{first_lines(path.parent)}\n\n{text}"
    for path in filter(lambda path: path.exists(), PAGES):
        text = TABLE.sub(_table, path.read_text(encoding="utf-8"))
        found[path] = COUNT.sub(count, CORE.sub(hours, WEEK.sub(_week, text)))
    return found


def _table(found):
    head, *rows = {"lessons": lesson_rows, "exercises": exercise_rows}[found[2]]()
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|")
    return found[1] + "\n".join(lines) + "\n"


def lesson_rows():
    """Return the cells of the table of lessons, its head first."""
    rows = [("lesson", "question", "needs", "difficulty", "importance", "minutes")]
    pages = {number(f): f"(book/{f.name}/README.md)" for f in lesson_folders()}
    for h in map(header, lesson_folders()):
        link = f"[{h.heading}]{pages[h.number]}"
        needs = ", ".join(f"[{n}]{pages[n]}" for n in h.needs)
        rows.append((link, h.question, needs, h.dots, h.importance, str(h.minutes)))
    return rows


def exercise_rows():
    """Return the cells of the table of exercises, its head first."""
    rows = [("id", "exercise", "difficulty", "minutes", "lesson", "needs", "book")]
    for e in exercises():
        link = f"[{e.title}](exercises/{e.file.name})"
        pages = [f"[{number(f)}](book/{f.name}/README.md)" for f in lessons_of(e)]
        lessons, needs = ", ".join(pages), ", ".join(e.needs)
        rows.append((e.id, link, e.dots, str(e.minutes), lessons, needs, e.book or ""))
    return rows


def _week(found):
    """Return a row of the syllabus with its exercises and its minutes."""
    lessons = {number(f): (header(f).minutes, e) for f, e in in_book_order() if f}
    chosen = [lessons[n] for n in found[2].split(", ")]
    listed = [e for _, some in chosen for e in some]
    read, solve = sum(m for m, _ in chosen), sum(e.minutes for e in listed)
    ids = ", ".join(e.id for e in listed)
    return f"{found[1]} {read} | {ids} | {solve} | {read + solve} |"
