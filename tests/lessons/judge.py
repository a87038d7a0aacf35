"""Answers to every exercise, right and wrong, and what its check says of each.

``answers.json`` has, for each exercise, a few texts ("bases") and its answers. An answer
is a base with edits [old, new], each of which occurs once, or a text of its own; with a
``form``, its results have another form (other_forms.py). ``name``
is what the check said of a wrong answer when the answer was added: the tag and the
sentence, or null if it said what is wrong and named no mistake. ``today`` marks the
answers that were judged wrongly then: "passed", though wrong, or "refused", though right.
"""

import functools
import json
import pathlib
from dataclasses import dataclass

from lessons.classroom import catalogue
from lessons.course import audit
from lessons.course.read import Source

FILE = pathlib.Path(__file__).with_name("answers.json")
NO_NAME = {  # the report says what is expected and found, and names no mistake
    "unknown", "nearly", "raises", "shape", "dtype", "type", "none", "results", "missing",
    "signature", "check-fault", "links", "written", "syntax", "law", "value",
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """One answer, as a learner may hand it in."""

    id: str  # of the exercise
    number: int
    right: bool
    origin: str
    text: str
    name: str | None = None
    today: str | None = None
    form: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What the check says of an answer."""

    answer: Answer
    passed: bool
    name: str | None


# the answers


@functools.cache
def stored():
    """Return the contents of the file: {id: {"bases": {name: text}, "answers": […]}}."""
    contents = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for exercise in contents.values():
        bases = exercise["bases"]
        exercise["bases"] = {name: "\n".join(lines) + "\n" for name, lines in bases.items()}
    return contents


def ids():
    return list(stored())


def answers(id=None):
    """Yield the answers to one exercise, or to all, with their complete texts."""
    for each in [id] if id else ids():
        for number, row in enumerate(stored()[each]["answers"]):
            text = text_of(row, stored()[each]["bases"])
            facts = (row.get(key) for key in ("name", "today", "form"))
            yield Answer(each, number, row["right"], row["origin"], text, *facts)


def text_of(row, bases):
    """Return the complete text of a row: its own, or a base with edits."""
    text = row["text"] if "text" in row else bases[row["base"]]
    for old, new in row.get("edits", ()):
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times; expected 1: {row}")
        text = text.replace(old, new)
    return text + other_form(row["form"]) if "form" in row else text


def other_form(name):
    """Return what turns the results of an answer into another form (other_forms.py)."""
    path = pathlib.Path(__file__).with_name("other_forms.py")
    return "\n\n" + path.read_text(encoding="utf-8").replace("MODE'", f"{name}'")


# the check


@functools.cache
def source_of(id):
    file = catalogue.find(id).file
    return Source(file.read_text(encoding="utf-8"), id, file)


def verdict(answer):
    """Return the verdict on one answer.

    The one place that knows how an answer is checked.
    """
    failed, unwritten = audit.judge(source_of(answer.id), answer.text)
    names = [o.tag for o in failed if o.tag not in NO_NAME]
    passed = not failed and not unwritten
    return Verdict(answer, passed, names[0] if names else None)


@functools.cache
def judged(id):
    """Return the verdict on each answer to an exercise."""
    return [verdict(answer) for answer in answers(id)]
