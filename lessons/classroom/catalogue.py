"""The lists of exercises and lessons, and the search for one of them by name.

The first line of an exercise, or of a lesson's script, describes it:

    38.5  Monotonic local attention  ●●○○  20 min  needs 38.1  book §38.7
    06  Masks and padding  ●●○○  40 min  needs 03, 05

Two or more spaces divide the fields; ``needs`` and ``book`` are optional. The ids are
those of the chapters (38.1, 6.10), E.1, E.2, … for the engine, and W.1 or any other word
and number for exercises that a teacher adds.

An exercise belongs to the lessons that list it in their last paragraph, "Exercises: …",
and to that whose number begins the name of its file.

A lesson is found by its number (5, 05; "start" for the prologue), its folder
(05_scaling), a word of its folder or title (scaling), a section of a chapter that it
computes (§38.5, §6.2.3), a word of the table in lessons/TEXTS.md (transformer, notes),
or one of its exercises (E.7). The section §38.5 is not the exercise 38.5.

Nothing is imported to make the lists, so that they appear at once.
"""

import functools
import os
import pathlib
import re
from dataclasses import dataclass
from difflib import get_close_matches

from attention.app.options import did_you_mean, meant

LESSONS = pathlib.Path(__file__).resolve().parent.parent
ROOT, BOOK = LESSONS.parent, LESSONS / "book"
SECTION = r"\d+(?:\.\d+)+"
PROLOGUE = "start"  # in place of a number: the lesson before all others
ID = r"(?:\d+|[A-Z][A-Za-z]*)\.\d+"
LISTED = re.compile(r"^# Exercises:(.*?)`python -m lessons start", re.M | re.S)


class UsageError(Exception):
    """The command is wrong; the message says what is possible."""


def work_folder():
    """Return the learner's folder: ``LESSONS_WORK``, or lessons/work.

    Of a course that is installed without its source, ~/minigrad-lessons: removing the
    installation must not remove the answers.
    """
    chosen = os.environ.get("LESSONS_WORK")
    if chosen:
        return pathlib.Path(chosen).expanduser().absolute()
    if (ROOT / "setup.cfg").is_file():
        return LESSONS / "work"
    return pathlib.Path.home() / "minigrad-lessons"


@dataclass(frozen=True)
class Exercise:
    """One exercise: what its first line says, and its file."""

    id: str
    title: str
    difficulty: int  # 1 to 4
    minutes: int
    needs: tuple
    book: str
    file: pathlib.Path

    @property
    def lesson(self):
        """The number of the lesson that its file names."""
        return self.file.name[:2]

    @property
    def stem(self):
        """The name of its records and figures, without ending: ex_38_5 for 38.5."""
        return "ex_" + self.id.lower().replace(".", "_")

    @functools.cached_property
    def parts(self):
        """Its ``Source``: the parts of its file."""
        from ..course.read import Source

        text = self.file.read_text(encoding="utf-8")
        return Source(text, self.id, self.file)

    @property
    def stub_text(self):
        """What a learner gets."""
        return self.parts.stub

    @property
    def answer_text(self):
        """The reference answer."""
        return self.parts.answer

    @property
    def is_withheld(self):
        """Whether this course does not show the reference answer."""
        return self.parts.is_sealed

    @property
    def work(self):
        return self.answer_in(work_folder())

    def answer_in(self, folder):
        """Return the learner's file in a folder; an old one has the name ex_38_5.py."""
        path, old = folder / self.file.name, folder / f"{self.stem}.py"
        return old if old.exists() and not path.exists() else path

    @property
    def dots(self):
        return "●" * self.difficulty + "○" * (4 - self.difficulty)


def exercises():
    """Return all exercises, in the order of the book."""
    return [exercise for _, found in in_book_order() for exercise in found]


def find(name):
    """Return the exercise for a name: 38.5, work/06_38_5_windows.py, ex_38_5, e2, E.2."""
    id, known = _id_of(name), exercises()
    for exercise in known:
        if id in (exercise.id.lower(), exercise.file.stem.lower().replace("_", ".")):
            return exercise
    group = id.partition(".")[0] + "."
    near = [e.id for e in known if e.id.lower().startswith(group)]
    if not near and (folders := _named_lessons(name)):
        listed = [e.id for folder in folders for e in exercises_of(folder)]
        numbers = " and ".join(map(number, folders))
        raise UsageError(
            f"{name} is not an exercise. The exercises of lesson {numbers}: "
            f"{', '.join(listed) or 'none'}."
        )
    listed = near if len(near) < 13 else [f"{near[0]} to {near[-1]}"]
    there = f" There are {', '.join(listed)}." if near else ""
    texts = {f"{e.id} ({e.title})": f"{e.title} {_functions(e)}" for e in known}
    if len(near) not in range(1, 13):  # a list of all needs no guess
        there += meant(id.title(), [e.id for e in known]) or _meant(name, texts)
    raise UsageError(
        f"There is no exercise {name!r}.{there} python -m lessons list shows all."
    )


def exercises_of(folder, known=None):
    """Return those of the known exercises that a lesson has, in the order of its page."""
    order, own = header(folder).exercises, number(folder)
    known = exercises() if known is None else known
    found = [e for e in known if e.id in order or e.lesson == own]
    return sorted(found, key=lambda e: (*order, e.id).index(e.id))


def lessons_of(exercise, book=BOOK):
    """Return the folders of the lessons that an exercise belongs to, in order."""
    return [
        folder
        for folder in lesson_folders(book)
        if exercise.id in header(folder).exercises or exercise.lesson == number(folder)
    ]


def in_book_order():
    """Return [(a lesson's folder, the exercises that it is the first to list)].

    The last pair is (None, the exercises that no lesson lists).
    """
    files = sorted((LESSONS / "exercises").glob("[0-9][0-9]_*.py"))
    found, left = [], [*map(read_header, files)]
    for folder in lesson_folders():
        found.append((folder, exercises_of(folder, left)))
        left = [e for e in left if e not in found[-1][1]]
    return [*found, (None, left)]


def _fields(path):
    """Return what the first line of a file says of a lesson or an exercise."""
    with open(path, encoding="utf-8") as file:
        line = file.readline().strip().removeprefix('"""').removesuffix('"""').strip()
    try:
        id, title, dots, minutes, *rest = re.split(r"\s{2,}", line)
        options = dict(field.split(" ", 1) for field in rest)
        minutes = int(minutes.removesuffix(" min"))
        unknown = set(options) - {"needs", "book", "importance"}
        if len(dots) != 4 or set(dots) - set("●○") or unknown:
            raise ValueError(line)
        if not re.fullmatch("★{0,3}", options.setdefault("importance", "")):
            raise ValueError(line)
        if not re.fullmatch(rf"{ID}|\d\d|{PROLOGUE}", id):
            raise ValueError(id)
    except ValueError:
        raise UsageError(
            f"{path}: the first line is {line!r}; expected "
            '"""38.5  Title  ●●○○  20 min  needs 38.1  book §38.7, with two or more '
            "spaces between the fields."
        ) from None
    needs = tuple(re.findall(r"[^,\s]+", options.get("needs", "")))
    return id, title, dots, minutes, needs, options


def read_header(path):
    """Return the ``Exercise`` that the first line of a file describes."""
    id, title, dots, minutes, needs, options = _fields(path)
    path, book = pathlib.Path(path), options.get("book")
    exercise = Exercise(id, title, dots.count("●"), minutes, needs, book, path)
    if not f"{path.stem[3:]}_".startswith(exercise.stem.removeprefix("ex_") + "_"):
        raise UsageError(f"{path}: the first line says {id}, the file's name does not.")
    return exercise


@dataclass(frozen=True)
class Header:
    """What the docstring of a lesson says of it, and the exercises of its last cell."""

    number: str
    title: str
    minutes: int
    needs: tuple
    dots: str
    importance: str  # ★ to ★★★, which is the core route; or ""
    question: str
    exercises: tuple

    @property
    def heading(self):
        """Its number and title: "05. Scaling"."""
        return f"{self.number.capitalize()}. {self.title}"


def lesson_folders(book=BOOK):
    """Return the folders of all lessons, in order."""
    numbered = sorted(book.glob("[0-9][0-9]_*/lesson.py"))
    return [path.parent for path in (*book.glob(f"{PROLOGUE}_*/lesson.py"), *numbered)]


def number(folder):
    """Return the number of a lesson: "05", or that of the prologue, "start"."""
    return folder.name.partition("_")[0]


@functools.cache
def header(folder):
    """Return the ``Header`` of a lesson."""
    path = folder / "lesson.py"
    id, title, dots, minutes, needs, options = _fields(path)
    text = path.read_text(encoding="utf-8")
    question = " ".join(text.split('"""')[1].partition("\n")[2].split())
    listed = LISTED.search(text)
    ids = re.findall(rf"\b{ID}\b", listed[1]) if listed else ()
    stars = options["importance"]
    return Header(id, title, minutes, needs, dots, stars, question, tuple(ids))


def first_lines(folder):
    """Return the title of a lesson's page and, below it, what the header says."""
    about, folders = header(folder), lesson_folders(folder.parent)
    names = {number(each): each.name for each in folders}
    needs = ", ".join(f"[lesson {n}](../{names[n]}/README.md)" for n in about.needs)
    facts = [f"{about.dots} {about.minutes} minutes."]
    facts += [f"Importance {about.importance}."] * bool(about.importance)
    facts += [f"Needs {needs}."] * bool(needs)
    return f"# {about.heading}\n\n{' '.join(facts)}"


def find_lessons(name, book=BOOK):
    """Return the folders of the lessons that ``name`` means. Raises UsageError."""
    folders, words = lesson_folders(book), _words(name)
    if found := _named_lessons(name, book):
        return found
    if re.fullmatch(ID, _id_of(name).title()):
        return _lesson_of_exercise(name, book)
    rows = _table_rows(book.parent / "TEXTS.md")

    def listed(matches):
        return {each for row in rows if matches(*row) for each in row[2]}

    searches = []
    if re.search("[a-z]", name.lower()):
        in_row = listed(lambda source, cell, _: _mentions(cell, words))
        in_source = listed(lambda source, cell, _: _mentions(source, words))
        searches = [
            lambda f: _mentions(f.name.replace("_", " "), words),
            lambda f: _mentions(header(f).title, words),
            lambda f: number(f) in (in_row or in_source),
        ]
    for matches in searches:
        if found := [folder for folder in folders if matches(folder)]:
            return found
    near = _meant(name, {f.name: f"{f.name} {header(f).title}" for f in folders})
    numbers = ", ".join(map(number, folders))
    raise UsageError(
        f"There is no lesson {name}.{near} There are: {numbers}; "
        "python -m lessons list shows their titles, and lessons/TEXTS.md has a table "
        "of the chapters' sections."
    )


def _named_lessons(name, book=BOOK):
    """Return the folders for a number, a folder, a chapter or a section: 5, §38.5."""
    folders, key = lesson_folders(book), name.rstrip("/")
    for folder in folders:
        if key in (folder.name, number(folder), number(folder).removeprefix("0")):
            return [folder]
    # without the sign, 38.5 is an exercise
    section = re.fullmatch(rf"§ ?(\d+|{SECTION})|(\d+|\d+\.\d+\.[\d.]*\d)", key)
    if not section:
        return []
    rows = _table_rows(book.parent / "TEXTS.md")
    inside = [row[2] for row in rows if _has_section(row[1], section[1] or section[2])]
    return [f for f in folders if any(number(f) in numbers for numbers in inside)]


def _lesson_of_exercise(name, book):
    """Return [the first lesson that lists an exercise]. Raises UsageError."""
    try:
        exercise = find(name)
    except UsageError as error:
        if not (folders := _named_lessons(f"§{name}", book)):
            raise
        numbers = ", ".join(map(number, folders))
        raise UsageError(
            f"{error} The chapter's section §{name} is in lesson {numbers}: "
            f"python -m lessons read {number(folders[0])}."
        ) from None
    folders = lessons_of(exercise, book)
    if not folders:
        raise UsageError(f"No lesson lists the exercise {exercise.id}.")
    return folders[:1]


def _meant(name, texts, most=5):
    """Return " Did you mean A or B?", keys whose text has the words of ``name``, or "".

    Without such a text, those with a word that is spelled nearly so.
    """
    words = _words(name)
    found = [key for key, text in texts.items() if words and _mentions(text, words)]
    if not found:
        known = {word for text in texts.values() for word in _words(text)}
        close = {w for word in words for w in get_close_matches(word, known, 1, 0.75)}
        found = [key for key, text in texts.items() if close & {*_words(text)}]
    return did_you_mean(found[:most])


def _functions(exercise):
    return " ".join(re.findall(r"^def ([a-z]\w*)", exercise.stub_text, re.M))


def _id_of(name):
    """Return an exercise's id in lower case, from the forms that ``find`` accepts."""
    id = pathlib.PurePath(name).name.lower().removesuffix(".py")
    id = id.removeprefix("ex_").replace("_", ".")
    return re.sub(r"^([a-z]+)(?=\d)", r"\1.", id)


def _table_rows(page):
    """Return [(source, section, numbers)]; an empty source repeats the row above."""
    found, source = [], ""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    for row in re.findall(r"^\|(.*)\|$", text, re.M):
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 3:
            source = cells[0] or source
            found.append((source, cells[1], re.findall(r"\d\d", cells[2])))
    return found


def _has_section(cell, section):
    """Return whether a cell, "6.2.1 to 6.2.3 scores", lists a section, 6 or 6.2.2."""
    listed = re.match(rf"{SECTION}(?:(?: to |, ){SECTION})*", cell)
    if not listed:
        return False
    first, *_, last = [each.split(".") for each in re.findall(SECTION, listed[0])] * 2
    wanted = section.split(".")
    k = min(len(wanted), len(first))
    low, middle, high = (list(map(int, n[:k])) for n in (first, wanted, last))
    return low <= middle <= high


def _words(text):
    return re.findall(r"[a-z]+|\d+", text.lower())


def _mentions(text, words):
    """Return whether each word begins a word of a text: "mask" is in "Masks"."""
    return all(any(w.startswith(word) for w in _words(text)) for word in words)
