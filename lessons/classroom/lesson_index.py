"""The list of lessons, and the search for a lesson by number, word or section.

A lesson is found by its number (5, 05), its folder (05_scaling), a word of its folder
or title (scaling), a section of a chapter that it computes (38, 38.5, 6.2.3), or a word
of the table in lessons/README.md (transformer, notes). No lesson is imported.
"""

import re
from dataclasses import dataclass

from .catalogue import UsageError
from .paths import LESSONS

BOOK = LESSONS / "book"
SECTION = r"\d+(?:\.\d+)+"
MINUTES = {"half an hour": 30, "forty minutes": 40, "an hour": 60}


@dataclass(frozen=True)
class Header:
    """The title, minutes, needed lessons and difficulty that a lesson states.

    The dots end the script's first line; the rest stands in its first cell.
    """

    number: str
    title: str
    minutes: int | None
    needs: tuple
    dots: str


def lesson_folders(book=None):
    """Return the folders of all lessons, in order."""
    return sorted(p.parent for p in (book or BOOK).glob("[0-9][0-9]_*/lesson.py"))


def number(folder):
    """Return the number of a lesson, "05"."""
    return folder.name.partition("_")[0]


def header(folder):
    """Return the ``Header`` of a lesson."""
    text = (folder / "lesson.py").read_text(encoding="utf-8")
    first = re.search(r"^# %% \[markdown\]\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
    prose = re.sub(r"^# ?", "", first[1] if first else "", flags=re.M)
    title = re.search(r"^# (?:\d+\. )?(.+)$", prose, re.M)
    prose = " ".join(prose.split())
    sentence = re.search(r"You need.*?\.(?= |$)", prose)
    needs = re.findall(r"\]\(\.\./(\d\d)_", sentence[0]) if sentence else ()
    minutes = [m for words, m in MINUTES.items() if f" {words}." in prose.lower()]
    dots = re.search(r"  ([●○]{4})(?:\"{3})?$", text.partition("\n")[0])
    return Header(
        number(folder),
        title[1] if title else folder.name[3:].replace("_", " "),
        minutes[0] if minutes else None,
        tuple(needs),
        dots[1] if dots else "",
    )


def find_lessons(name, book=None):
    """Return the folders of the lessons that ``name`` means. Raises UsageError."""
    folders, key, words = lesson_folders(book), name.rstrip("/"), _words(name)
    readme = (book or BOOK).parent / "README.md"
    searches = [
        lambda f: f.name == key,
        lambda f: number(f) == key.partition("_")[0].zfill(2),
    ]
    if re.fullmatch(rf"\d+|{SECTION}", key):
        searches.append(lambda f: number(f) in lessons_of_section(key, readme))
    elif words:
        searches += [
            lambda f: words <= _words(f.name),
            lambda f: words <= _words(header(f).title),
            lambda f: number(f) in lessons_about(name, readme),
        ]
    for matches in searches:
        if found := [folder for folder in folders if matches(folder)]:
            return found
    raise UsageError(
        f"There is no lesson {name}. There are: {', '.join(map(number, folders))}; "
        "python -m lessons list shows their titles, and lessons/README.md has a table "
        "of the chapters' sections."
    )


def lessons_of_section(section, readme):
    """Return the numbers of the lessons that compute a section, 38 or 6.2.3."""
    wanted, numbers = _tuple(section), []
    for _, cell, lessons in _rows(readme):
        listed = re.match(rf"{SECTION}(?:(?: to |, ){SECTION})*", cell)
        if not listed:
            continue
        ends = [_tuple(each) for each in re.findall(SECTION, listed[0])]
        k = min(len(wanted), len(ends[0]))
        if ends[0][:k] <= wanted[:k] <= ends[-1][:k]:
            numbers += lessons
    return numbers


def lessons_about(words, readme):
    """Return the numbers of the lessons whose rows of the table hold these words.

    If no row does, the words may be those of a source: "notes" means all its rows.
    """
    wanted, rows = _tokens(words), _rows(readme)
    found = [row for row in rows if wanted <= _tokens(row[1])]
    found = found or [row for row in rows if wanted <= _tokens(row[0])]
    return [number for row in found for number in row[2]]


def _rows(readme):
    """Return [(source, section, numbers)]; an empty source repeats the row above."""
    found, source = [], ""
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    for row in re.findall(r"^\|(.*)\|$", text, re.M):
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 3:
            source = cells[0] or source
            found.append((source, cells[1], re.findall(r"\d\d", cells[2])))
    return found


def _tuple(section):
    return tuple(map(int, section.split(".")))


def _words(text):
    return set(re.findall(r"[a-z]+", text.lower()))


def _tokens(text):
    return set(re.findall(r"[a-z]+|\d+", text.lower()))
