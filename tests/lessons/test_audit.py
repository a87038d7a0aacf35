"""Every exercise: its answer, its stub, and the mistakes that its file names."""

import itertools
import re
from types import SimpleNamespace

import pytest

from lessons.classroom import catalogue
from lessons.classroom.authors import tables
from lessons.course import audit

EXERCISES = catalogue.exercises()
ENGINE = [e for e in EXERCISES if e.id.startswith("E.")]
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)


@every_exercise
def test_every_written_mistake_is_noticed_and_named(exercise):
    found = audit.audit_exercise(exercise)
    assert not found.faults, "\n" + audit.table([found])
    assert found.named == found.noticed == found.written


@every_exercise
def test_two_sentences_say_why_an_answer_works(exercise):
    why = exercise.parts.why
    assert len(re.findall(r"[a-z0-9\])]\.(?: [A-Z0-9a-z]|$)", why)) == 2, why


@pytest.mark.parametrize("exercise", ENGINE, ids=lambda e: e.id)
def test_a_hint_does_not_repeat_the_one_before(exercise):
    """On a function, then in general; the last gives the answer."""
    own = exercise.parts.hints
    for key in own.keys() - {""}:
        for text, other in itertools.product(own[key], own[""][:-1]):
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


def test_dev_audit_reports_a_slow_check(monkeypatch, capsys):
    monkeypatch.setattr(audit, "BUDGET", 1e-9)
    assert audit.audit(SimpleNamespace(id=["38.5"])) == 1
    assert "a check of the answer takes" in capsys.readouterr().out
