"""The list of exercises, read from the first line of each solution.

    38.5  Monotonic local attention  ●●○○  20 min  needs 38.1  book §38.7

Two or more spaces divide the fields; ``needs`` and ``book`` are optional. The ids are
those of the chapters (38.1, 6.10), and E.1, E.2, … for the engine. No exercise is
imported to make the list, so that it appears at once.
"""

import pathlib
import re
from dataclasses import dataclass

from .paths import LESSONS, work_folder

ORDER = ("38", "6", "E")  # of the groups in the list


class UsageError(Exception):
    """The command is wrong; the message says what is possible."""


@dataclass(frozen=True)
class Exercise:
    """One exercise, and the four files that belong to it."""

    id: str
    title: str
    difficulty: int  # 1 to 4
    minutes: int
    needs: tuple
    book: str

    @property
    def stem(self):
        """The name of its files without .py: ex_38_5 for 38.5."""
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
    """Return all exercises, in the order of the list."""
    paths = (LESSONS / "solutions").glob("ex_*.py")
    return sorted((read_header(path) for path in paths), key=_sort_key)


def find(name):
    """Return the exercise for a name: 38.5, ex_38_5, work/ex_38_5.py, e2, E.2."""
    known = exercises()
    id = pathlib.PurePath(name).name.lower().removesuffix(".py")
    id = id.removeprefix("ex_").replace("_", ".")
    id = re.sub(r"^e(?=\d)", "e.", id)
    for exercise in known:
        if exercise.id.lower() == id:
            return exercise
    near = [e.id for e in known if e.id.lower().split(".")[0] == id.split(".")[0]]
    there = ", ".join(near or [e.id for e in known])
    raise UsageError(f"There is no exercise {name!r}. There are {there}.")


def read_header(path):
    """Return the ``Exercise`` that the first line of a file describes."""
    with open(path, encoding="utf-8") as file:
        line = file.readline().strip().removeprefix('"""').removesuffix('"""').strip()
    try:
        id, title, dots, minutes, *rest = re.split(r"\s{2,}", line)
        options = dict(field.split(" ", 1) for field in rest)
        minutes = int(minutes.removesuffix(" min"))
        if len(dots) != 4 or set(dots) - set("●○") or set(options) - {"needs", "book"}:
            raise ValueError(line)
    except ValueError:
        raise UsageError(
            f"{path}: the first line is {line!r}; expected "
            '"""38.5  Title  ●●○○  20 min  needs 38.1  book §38.7, with two or more '
            "spaces between the fields."
        ) from None
    needs = tuple(re.findall(r"[^,\s]+", options.get("needs", "")))
    exercise = Exercise(id, title, dots.count("●"), minutes, needs, options.get("book"))
    if exercise.stem != pathlib.Path(path).stem:
        raise UsageError(f"{path}: the first line says {id}, the file's name does not.")
    return exercise


def _sort_key(exercise):
    group, _, number = exercise.id.partition(".")
    return (ORDER.index(group) if group in ORDER else len(ORDER), group, int(number))
