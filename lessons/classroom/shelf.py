"""The lessons there are, and which of them a word of the reader's means.

A lesson goes by its number (5, 05), its folder (05_scaling), a word of that or of its
title (scaling), and by the section of a chapter that it computes (38, 38.5, 6.2.3): the
table of lessons/README.md says which. A word that is in no title may be in that table
(transformer, notes). Nothing is imported to find out.
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
    """What a lesson says of itself; what it leaves out is None, () or "".

    dots    at the end of the script's first line, ``Lesson 05: ….  ●●●○``; the rest is
            in its first cell
    """

    number: str
    title: str
    minutes: int | None
    needs: tuple
    dots: str


def folders(book=BOOK):
    """The folders of all lessons, in order."""
    return sorted(path.parent for path in book.glob("[0-9][0-9]_*/lesson.py"))


def number(folder):
    return folder.name.partition("_")[0]


def header(folder):
    """The ``Header`` of a lesson: "You need [lesson 00](../00_tape). Half an hour."""
    text = (folder / "lesson.py").read_text(encoding="utf-8")
    first = re.search(r"^# %% \[markdown\]\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
    prose = re.sub(r"^# ?", "", first[1] if first else "", flags=re.M)
    found = re.search(r"^# (?:\d+\. )?(.+)$", prose, re.M)
    title = found[1] if found else folder.name[3:].replace("_", " ")
    prose = " ".join(prose.split())
    needs = re.search(r"You need.*?\.(?= |$)", prose)
    needs = re.findall(r"\]\(\.\./(\d\d)_", needs[0]) if needs else ()
    said = [m for words, m in MINUTES.items() if f" {words}." in prose.lower()]
    dots = re.search(r"  ([●○]{4})(?:\"{3})?$", text.partition("\n")[0])
    minutes, dots = said[0] if said else None, dots[1] if dots else ""
    return Header(number(folder), title, minutes, tuple(needs), dots)


def meant(name, book=BOOK):
    """The folders of the lessons that ``name`` means. Raises UsageError."""
    there, key, words = folders(book), name.rstrip("/"), _words(name)
    match = [f for f in there if f.name == key]
    match = match or [f for f in there if number(f) == key.partition("_")[0].zfill(2)]
    readme = book.parent / "README.md"
    if not match and re.fullmatch(rf"\d+|{SECTION}", key):
        numbers = lessons_of(key, readme)
        match = [f for f in there if number(f) in numbers]
        if not match and (said := said_of(key, readme)):
            raise UsageError(f"There is no lesson {name}: {said}.")
    if words:
        match = match or [f for f in there if words <= _words(f.name)]
        match = match or [f for f in there if words <= _words(header(f).title)]
        numbers = [] if match else lessons_about(name, readme)
        match = match or [f for f in there if number(f) in numbers]
    if match:
        return match
    raise UsageError(
        f"There is no lesson {name}. There are: "
        f"{', '.join(map(number, there)) or 'none'}; python -m lessons list has their "
        "titles, and lessons/README.md a table of the chapters' sections."
    )


def lessons_of(section, readme):
    """The numbers of the lessons that compute a section, 38 or 6.2.3, by the table."""
    return [n for _, _, numbers in _about(section, readme) for n in numbers]


def said_of(section, readme):
    """What the table says of a section that no lesson computes, 38.4; "" if nothing."""
    rows = _about(section, readme)
    return "; ".join(said for _, said, numbers in rows if not numbers)


def lessons_about(words, readme):
    """The numbers of the lessons with these words in their row, or before their rows.

    ``gaussian`` is in a row; ``notes`` stands before all rows of the Notes.
    """
    wanted, rows = _tokens(words), _rows(readme)
    found = [row for row in rows if wanted <= _tokens(row[1])]
    found = found or [row for row in rows if wanted <= _tokens(row[0])]
    return [n for _, _, numbers in found for n in numbers]


def _about(section, readme):
    """The rows of a section."""
    wanted, found = _tuple(section), []
    sections = rf"{SECTION}(?:(?: to |, ){SECTION})*"
    for row in _rows(readme):
        said = re.match(sections, row[1])
        ends = [_tuple(each) for each in re.findall(SECTION, said[0])] if said else []
        k = min(len(wanted), len(ends[0])) if ends else 0
        if ends and ends[0][:k] <= wanted[:k] <= ends[-1][:k]:
            found.append(row)
    return found


def _rows(readme):
    """[(text, section, numbers)]; where the text is empty, that of the row above."""
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
