"""Every exercise: its stub, its solution, and wrong answers that its check names."""

import itertools
import re
from types import SimpleNamespace

import pytest

from lessons.classroom import catalogue, stubs
from lessons.classroom.authors import audit, tables
from lessons.classroom.authors.audit import Audit, audit_exercise, run, table
from lessons.classroom.learner import hints

from .classroom_cases import answer

EXERCISES = catalogue.exercises()
ENGINE = [e for e in EXERCISES if e.id.startswith("E.")]
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)


@every_exercise
def test_some_of_the_planted_mistakes_are_named(exercise):
    found = audit_exercise(exercise, automatic=False, every=40)
    assert not found.faults, "\n" + table([found])
    assert found.named == found.killed == found.planted >= 1


@every_exercise
@pytest.mark.deep
def test_every_mistake_planted_or_automatic_is_noticed(exercise):
    found = audit_exercise(exercise)
    assert not found.faults, "\n" + table([found])
    assert found.named == found.killed == found.planted


@every_exercise
def test_two_sentences_say_why_an_answer_works(exercise):
    why = hints.why(exercise)
    assert len(re.findall(r"[a-z0-9\])]\.(?: [A-Z0-9a-z]|$)", why)) == 2, why


@every_exercise
def test_a_hint_on_raises_cannot_know_which_function_raised(exercise):
    assert "raises" not in hints.own_hints(exercise)


@pytest.mark.parametrize("exercise", ENGINE, ids=lambda e: e.id)
def test_a_hint_does_not_repeat_the_one_before(exercise):
    """On a mistake, then on a function, then in general; the last gives the answer."""
    own = hints.own_hints(exercise)
    parts = stubs.signatures(exercise.source.read_text(encoding="utf-8"))
    for key in own.keys() - {""}:
        later = own[""][:-1]
        for part in parts if key not in parts else ():
            later = [*later, *own.get(part, [])]
        for text, other in itertools.product(own[key], later):
            words, again = (set(re.findall(r"\w{2,}", t.lower())) for t in (text, other))
            assert len(words & again) < max(5, 0.8 * len(words)), (text, other)


def test_the_tables_of_pages_are_fresh():
    for path, text in tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, "python -m lessons dev sync"


def test_the_exercises_need_each_other_without_a_cycle():
    needs, done = {e.id: set(e.needs) for e in EXERCISES}, set()
    while left := set(needs) - done:
        ready = {id for id in left if needs[id] <= done}
        assert ready, f"a cycle among {sorted(left)}"
        done |= ready


WRONG = [
]  # fmt: skip


@pytest.mark.parametrize("id, old, new, tag", WRONG)
def test_a_mistake_that_is_not_planted_has_its_name(id, old, new, tag):
    code, failed = run(catalogue.find(id), answer(id, old, new))
    assert (code, failed.tag) == (1, tag)


def test_dev_audit_reports_a_slow_check(monkeypatch, capsys):
    monkeypatch.setattr(audit, "BUDGET", 1e-9)
    assert audit.audit(SimpleNamespace(id=["38.5"])) == 1
    assert "a check of the solution takes" in capsys.readouterr().out


def test_automatic_mistakes_are_in_the_regions_only():
    text = (
        "import numpy as np\n\n\ndef f(a, b):\n    c = a - b\n"
        "    # BEGIN SOLUTION\n    c += a.T\n"
        "    m = -c.max(axis=-1, keepdims=True)\n"
        "    if a.sum(-1) <= 3:\n        return m + c / np.sqrt(2)\n"
        "    # END SOLUTION\n"
    )
    assert {what for what, _ in audit.automatic_mutants(text)} == {
        "c += a.T -> c = a.T",
        "a.T -> a",
        "-c.max(axis=-1, keepdims=True) -> c.max(axis=-1, keepdims=True)",
        "c.max(axis=-1, keepdims=True) -> c.max(axis=-1)",
        "c.max(axis=-1, keepdims=True) -> c.max(axis=0, keepdims=True)",
        "a.sum(-1) <= 3 -> a.sum(-1) < 3",
        "a.sum(-1) -> a.sum(0)",
        "m + c / np.sqrt(2) -> m - c / np.sqrt(2)",
        "c / np.sqrt(2) -> c",
    }


def test_the_table_counts():
    right = Audit("1", planted=3, killed=3, named=3)
    wrong = Audit("2", planted=5, killed=4, named=3, misnamed=1, faults=["one"])
    text = table([right, wrong])
    assert "precision 0.857 (6 of 7 names right)" in text
    assert "recall 0.750 (6 of 8 planted)" in text and "2: one" in text
