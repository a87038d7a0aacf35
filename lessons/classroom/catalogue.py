"""The exercises there are, read from the first line of each solution.

    38.5  Monotonic local attention  ●●○○  20 min  needs 38.1  book §38.7

Two or more spaces divide the fields; ``needs`` and ``book`` may be left out. Ids are
those of the chapters (38.1, 6.10) and E.1, E.2, … for the engine's own. Nothing is
imported to make the list: it has to be there at once.
"""

import pathlib
import re
from dataclasses import dataclass

from .paths import LESSONS, work_folder

ORDER = ("38", "6", "E")  # in which the groups are listed


class UsageError(Exception):
    """What was asked for does not exist; the sentence says what does."""


@dataclass(frozen=True)
class Exercise:
    """One exercise, and the four files it is made of."""

    id: str
    title: str
    difficulty: int  # 1 to 4
    minutes: int
    needs: tuple
    book: str

    @property
    def stem(self):
        """38.5 is ex_38_5 in every folder."""
        return "ex_" + self.id.lower().replace(".", "_")

    @property
    def solution(self):
        return LESSONS / "solutions" / f"{self.stem}.py"

    @property
    def stub(self):
        return LESSONS / "exercises" / f"{self.stem}.py"

    @property
    def check(self):
        return LESSONS / "checks" / f"{self.stem}.py"

    @property
    def work(self):
        return work_folder() / f"{self.stem}.py"

    @property
    def dots(self):
        return "●" * self.difficulty + "○" * (4 - self.difficulty)


def exercises():
    """All exercises, in the order of the list."""
    found = (LESSONS / "solutions").glob("ex_*.py")
    return sorted((read_header(path) for path in found), key=_place)


def find(name):
    """The exercise that ``name`` means: 38.5, ex_38_5, work/ex_38_5.py, e2, E.2."""
    known = exercises()
    wanted = pathlib.PurePath(name).name.lower().removesuffix(".py")
    wanted = wanted.removeprefix("ex_").replace("_", ".")
    wanted = re.sub(r"^e(?=\d)", "e.", wanted)
    for exercise in known:
        if exercise.id.lower() == wanted:
            return exercise
    near = [e.id for e in known if e.id.lower().split(".")[0] == wanted.split(".")[0]]
    raise UsageError(
        f"There is no exercise {name!r}. There are "
        f"{', '.join(near or [e.id for e in known]) or 'none yet'}."
    )


def read_header(path):
    """The ``Exercise`` that the first line of a file describes."""
    with open(path, encoding="utf-8") as file:
        line = file.readline().strip().removeprefix('"""').removesuffix('"""').strip()
    fields = re.split(r"\s{2,}", line)
    try:
        id, title, dots, minutes, *rest = fields
        assert len(dots) == 4 and set(dots) <= set("●○") and minutes.endswith(" min")
        named = dict(field.split(" ", 1) for field in rest)
        assert set(named) <= {"needs", "book"}
        needs = tuple(n for n in re.split(r"[,\s]+", named.get("needs", "")) if n)
        minutes = int(minutes.removesuffix(" min"))
    except (ValueError, AssertionError):
        raise UsageError(
            f"{path}: the first line is {line!r}; expected "
            '"""38.5  Title  ●●○○  20 min  needs 38.1  book §38.7, with two or more '
            "spaces between the fields."
        ) from None
    exercise = Exercise(id, title, dots.count("●"), minutes, needs, named.get("book"))
    if exercise.stem != pathlib.Path(path).stem:
        raise UsageError(f"{path}: the first line says {id}, the file's name does not.")
    return exercise


def _place(exercise):
    group, _, number = exercise.id.partition(".")
    return (ORDER.index(group) if group in ORDER else len(ORDER), group, int(number))
