"""The lessons there are, and which of them a word of the reader's means.

A lesson goes by its number (5, 05), its folder (05_scaling), a word of that or of its
title (scaling), and by the section of a chapter that it computes (38, 38.5, 6.2.3): the
table of lessons/README.md says which. Nothing is imported to find out.
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
    if not match and re.fullmatch(rf"\d+|{SECTION}", key):
        numbers = lessons_of(key, book.parent / "README.md")
        match = [f for f in there if number(f) in numbers]
    if words:
        match = match or [f for f in there if words <= _words(f.name)]
        match = match or [f for f in there if words <= _words(header(f).title)]
    if match:
        return match
    raise UsageError(
        f"There is no lesson {name}. There are: "
        f"{', '.join(map(number, there)) or 'none'}; python -m lessons list has their "
        "titles, and lessons/README.md a table of the chapters' sections."
    )


def lessons_of(section, readme):
    """The numbers of the lessons that compute a section, 38 or 6.2.3, by the table."""
    wanted, found = _tuple(section), []
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    for row in re.findall(r"^\|(.*)\|$", text, re.M):
        cells = [cell.strip() for cell in row.split("|")]
        section = rf"{SECTION}(?:(?: to |, ){SECTION})*"
        said = len(cells) == 3 and re.match(section, cells[1])
        if not said:
            continue
        ends = [_tuple(each) for each in re.findall(SECTION, said[0])]
        k = min(len(wanted), len(ends[0]))
        if ends[0][:k] <= wanted[:k] <= ends[-1][:k]:
            found += re.findall(r"\d\d", cells[2])
    return found


def _tuple(section):
    return tuple(map(int, section.split(".")))


def _words(text):
    return set(re.findall(r"[a-z]+", text.lower()))
