"""Run the checks with pytest: ``pytest lessons/checks -k 38_5 --impl work``.

Without ``--impl`` the solutions are checked, so that a fresh clone is green. A failure
prints the report that the learner reads, and nothing else.
"""

import linecache
import os

import pytest

from lessons import NotWritten
from lessons.classroom import catalogue
from lessons.classroom.checking import harness, sequence
from lessons.classroom.steps import CheckFailed


def pytest_addoption(parser):
    parser.addoption(
        "--impl",
        default="solution",
        choices=("solution", "work", "stub"),
        help="which answers are checked: the solutions, yours, or the stubs",
    )
    parser.addoption("--seed", default=0, type=int, help="of the random numbers")


def pytest_configure(config):
    # as in ``python -m lessons check``: nothing is compiled
    os.environ.setdefault("ATTENTION_BACKEND", "numpy")


def pytest_collect_file(file_path, parent):
    if file_path.name.startswith("ex_") and file_path.suffix == ".py":
        return CheckFile.from_parent(parent, path=file_path)


class CheckFile(pytest.File):
    """The check of one exercise: an item for each of its functions."""

    def collect(self):
        exercise = catalogue.find(self.path.name)
        path = getattr(exercise, self.config.getoption("--impl"))
        if not path.exists():
            return
        my = harness.load(exercise, path, seed=abs(self.config.getoption("--seed")))
        shared = {"my": my, "source": linecache.cache[str(path)]}
        yield CheckItem.from_parent(self, name="written", function=None, **shared)
        for function in sequence.check_functions(harness.load_checks(exercise)):
            name = f"{function.step}: {function.title}"
            yield CheckItem.from_parent(self, name=name, function=function, **shared)


class CheckItem(pytest.Item):
    """One function of a check."""

    def __init__(self, *, function, my, source, **options):
        super().__init__(**options)
        self.function, self.my, self.source = function, my, source

    def runtest(self):
        linecache.cache[self.my.path] = self.source  # another test may replace it
        seed = abs(self.config.getoption("--seed"))
        if self.function is None:
            outcome = self.my.written()
        else:
            outcome = sequence.run_function(self.function, self.my, seed)
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
