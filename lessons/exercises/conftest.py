"""Run the checks with pytest: ``pytest lessons/exercises -k 38_5 --impl work``.

Without ``--impl`` the reference answers are checked, so that a fresh clone is green. A
failure prints the report that the learner reads, and nothing else.
"""

import linecache
import os
import re

import pytest

from lessons import NotWritten
from lessons.classroom import catalogue
from lessons.course.outcome import CheckFailed
from lessons.course import check


def pytest_addoption(parser):
    parser.addoption(
        "--impl",
        default="solution",
        choices=("solution", "work", "stub"),
        help="which answers are checked: the references, yours, or the stubs",
    )
    parser.addoption("--seed", default=0, type=int, help="of the random numbers")


def pytest_configure(config):
    # as in ``python -m lessons check``: nothing is compiled
    os.environ.setdefault("ATTENTION_BACKEND", "numpy")


def pytest_collect_file(file_path, parent):
    if re.fullmatch(r"\d\d_\w+\.py", file_path.name):
        return CheckFile.from_parent(parent, path=file_path)


class CheckFile(pytest.File):
    """The check of one exercise: an item for each of its functions."""

    def collect(self):
        exercise = catalogue.read_header(self.path)
        path, text = self.path, exercise.answer_text
        if self.config.getoption("--impl") == "stub":
            text = exercise.stub_text
        elif self.config.getoption("--impl") == "work":
            path, text = exercise.work, None
            if not path.exists():
                return
        seed = abs(self.config.getoption("--seed"))
        my = check.load(exercise.parts, path, text, seed)
        yield CheckItem.from_parent(self, name="written", step=None, my=my)
        for step in check.steps(my):
            title = " ".join(step.__doc__.split())
            yield CheckItem.from_parent(self, name=title, step=step, my=my)


class CheckItem(pytest.Item):
    """One function of a check."""

    def __init__(self, *, step, my, **options):
        super().__init__(**options)
        self.step, self.my, self.source = step, my, linecache.cache[my.path]

    def runtest(self):
        linecache.cache[self.my.path] = self.source  # another test may replace it
        if self.step is None:
            outcome = check.written(self.my)
        else:
            outcome = check.outcome_of(self.my, self.step, {})
        if outcome.result == "unwritten":
            raise NotWritten(outcome.lines[0])
        if outcome.result == "failed":
            raise CheckFailed(outcome.tag, *outcome.lines)

    def repr_failure(self, excinfo, style=None):
        if excinfo.errisinstance(NotWritten):
            return f"not written yet: {excinfo.value}"
        if excinfo.errisinstance(CheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, f"{self.path.stem}, {self.name}"
