"""Mistakes listed by someone who wrote none of the checks: none has a wrong name."""

import functools

import pytest

from lessons.classroom import catalogue
from lessons.classroom.authors.audit import run

from .classroom_cases import answer, sampled
from .held_out import HELD_OUT

README = catalogue.LESSONS / "exercises" / "README.md"
NO_NAME = {  # the report says what is expected and found, and names no mistake
    "unknown", "raises", "shape", "dtype", "type", "none", "links", "written",
}  # fmt: skip
NAMES = [f"{id} {new}" for id, _, new, _ in HELD_OUT]
cases = pytest.mark.parametrize(
    "number", sampled([(k,) for k in range(len(HELD_OUT))], NAMES)
)


@pytest.fixture(autouse=True)
def plenty_of_time(monkeypatch):
    monkeypatch.setenv("LESSONS_TIMEOUT", "120")


@functools.cache
def checked(number):
    """Return the exit code of a check, and the name of the mistake, or None."""
    id, old, new, _ = HELD_OUT[number]
    code, failed = run(catalogue.find(id), answer(id, old, new))
    return code, failed and failed.tag


@cases
def test_a_mistake_is_noticed_and_no_name_is_wrong(number):
    code, tag = checked(number)
    assert code == 1
    assert tag in HELD_OUT[number][3] | NO_NAME


@pytest.mark.deep
def test_the_readme_publishes_how_many_have_a_name():
    tags = [checked(number)[1] for number in range(len(HELD_OUT))]
    named = sum(tag in case[3] for tag, case in zip(tags, HELD_OUT))
    sentence = (
        f"Someone who wrote none of the checks listed {len(HELD_OUT)} natural "
        f"mistakes. The checks notice all of them. They name {named}, all of them "
        "rightly."
    )
    assert sentence in " ".join(README.read_text(encoding="utf-8").split()), sentence
