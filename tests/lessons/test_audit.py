"""Every exercise: its answer, its stub, and the mistakes that its file names."""

import re

import pytest

from lessons.classroom import catalogue
from lessons.classroom.authors import tables
from lessons.course import audit


@pytest.mark.parametrize("exercise", catalogue.exercises(), ids=lambda e: e.id)
def test_every_written_mistake_is_noticed_and_named(exercise):
    found = audit.audit_exercise(exercise)
    assert not found.faults, "\n" + audit.table([found])
    assert found.named == found.noticed == found.written
    why = exercise.parts.why  # it has two sentences
    assert len(re.findall(r"[a-z0-9\])]\.(?: [A-Z0-9a-z]|$)", why)) == 2, why


def test_the_tables_of_pages_are_fresh():
    for path, text in tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, "python -m lessons dev sync"
