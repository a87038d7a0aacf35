"""Answers to every exercise, right and wrong, and what its check says of each.

    python -m tests.lessons.judge               a table of all exercises
    python -m tests.lessons.judge E.9 -v        with each answer that is judged otherwise

``answers.json`` has, for each exercise, a few texts ("bases") and its answers. An answer
is a base with edits [old, new], each of which occurs once, or a text of its own; with a
``form``, its results have another form (other_forms.py). ``name``
is what the check said of a wrong answer when the answer was added: the tag and the
sentence, or null if it said what is wrong and named no mistake. ``today`` marks the
answers that were judged wrongly then: "passed", though wrong, or "refused", though right.
"""

import argparse
import functools
import json
import os
import pathlib
import re
import sys
import tempfile
import time
from dataclasses import dataclass

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


def outcome_of(id, text):
    """Check an answer in this process; return (passed, name of the mistake or None).

    The one place that knows how an answer is checked.
    """
    from lessons.classroom import catalogue
    from lessons.course import audit

    failed, unwritten = audit.judge(source_of(id, catalogue.find(id).file), text)
    names = [o.tag for o in failed if o.tag not in NO_NAME]
    return not failed and not unwritten, names[0] if names else None


@functools.cache
def source_of(id, file):
    from lessons.course.read import Source

    return Source(file.read_text(encoding="utf-8"), id, file)


@functools.cache
def judged(id):
    """Return the verdict on each answer to an exercise."""
    return [verdict(answer) for answer in answers(id)]


def verdict(answer):
    """Return the verdict on one answer."""
    return Verdict(answer, *outcome_of(answer.id, answer.text))


def recorded(id):
    """Return how many wrong answers to an exercise had a name when they were added."""
    return sum(a.name is not None for a in answers(id))


def counts(verdicts):
    """Return [right, of these refused, wrong, of these noticed, named]."""
    right = [v for v in verdicts if v.answer.right]
    wrong = [v for v in verdicts if not v.answer.right]
    noticed = [v for v in wrong if not v.passed]
    refused, has_name = [v for v in right if not v.passed], [v for v in noticed if v.name]
    return [len(group) for group in (right, refused, wrong, noticed, has_name)]


# the program


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tests.lessons.judge")
    parser.add_argument("id", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args(argv)
    print("exercise  right  refused  wrong  noticed  named  before  seconds")
    line = "{:<8}  {:>5}  {:>7}  {:>5}  {:>7}  {:>5}  {:>6}  {:7.1f}"
    total = [0] * 7
    for id in args.id or ids():
        start = time.process_time()
        verdicts = judged(id)
        seconds = time.process_time() - start
        row = [*counts(verdicts), recorded(id), seconds]
        total = [a + b for a, b in zip(total, row)]
        print(line.format(id, *row), flush=True)
        for each in verdicts if args.verbose else ():
            show(each)
    print(line.format("all", *total))


def show(verdict):
    """Print a verdict that is wrong, or has no name or another than before."""
    answer = verdict.answer
    if answer.right and verdict.passed:
        return
    about = f"  {answer.id} [{answer.number}] {answer.origin}"
    if answer.right or verdict.passed:
        print(f"{about}: {'passed, though wrong' if verdict.passed else 'refused'}")
    elif verdict.name is None or without_numbers(verdict) != without_numbers(answer):
        print(f"{about}: {verdict.name or 'no name'}; before: {answer.name or 'no name'}")


def without_numbers(found):
    """Return a name without its numbers: measured seconds and memory vary."""
    return re.sub(r"\d[\d.,]*", "0", found.name or "")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # no answer writes into a learner's
        os.environ |= {"LESSONS_WORK": folder, "XDG_STATE_HOME": folder}
        sys.exit(main())
