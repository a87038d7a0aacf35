"""The journal keeps every text: history, mirror, undo; states are derived from it."""

import shutil

import pytest

from lessons.classroom import catalogue, journal
from lessons.classroom.catalogue import work_folder
from lessons.classroom.journal import hash_of
from lessons.classroom.learner.progress import exercise_state


@pytest.fixture
def exercise(work):
    return catalogue.find("E.2")


def put(exercise, text):
    journal.write(exercise.work, text.encode())
    return journal.snapshot(exercise, "check")


def test_a_line_that_is_broken_or_cut_off_takes_no_other_with_it(exercise):
    journal.append("E.2", "start", work="", note="Zeile\numgebrochen · 中文")
    path = work_folder() / journal.NAME
    before = path.read_bytes()
    path.write_bytes(before + b'{"ex": "E.2", "event": "che\xff\n')
    put(exercise, "one")
    put(exercise, "two")
    with open(path, "ab") as file:
        file.write(b'{"t": 1767225600.0, "ex": "E.2", "ev')  # the power failed
    put(exercise, "three")
    assert path.read_bytes().startswith(before)
    assert [e["event"] for e in journal.events()] == ["start"] + 3 * ["snapshot"]
    assert journal.events()[0]["note"] == "Zeile\numgebrochen · 中文"
    assert journal.undo(exercise) and exercise.work.read_text() == "two"


def test_undo_goes_back_step_by_step_and_loses_nothing(exercise):
    for text in ("one", "two", "three"):
        put(exercise, text)
    exercise.work.write_text("four, never checked")
    found = []
    while journal.undo(exercise) and len(found) < 5:
        found.append(exercise.work.read_text())
    assert found == ["three", "two", "one"]
    kept = {p.read_text() for p in (work_folder() / journal.HISTORY).iterdir()}
    assert kept == {"one", "two", "three", "four, never checked"}
    exercise.work.write_text("another way")
    journal.undo(exercise)
    assert exercise.work.read_text() == "one"
    assert journal.restore(exercise, hash_of(b"four, never checked")[:7])
    assert exercise.work.read_text() == "four, never checked"
    journal.undo(exercise)
    assert exercise.work.read_text() == "one"
    assert journal.restore(exercise, "0" * 64) is None
    exercise.work.unlink()
    assert journal.undo(exercise) and exercise.work.read_text() == "one"


def test_the_mirror_survives_the_folder_and_does_no_harm_without_one(
    exercise, monkeypatch, tmp_path
):
    put(exercise, "one")
    put(exercise, "two")
    shutil.rmtree(work_folder())
    assert journal.undo(exercise) == hash_of(b"two")
    assert journal.undo(exercise) == hash_of(b"one")
    assert exercise.work.read_text() == "one"
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    put(exercise, "three")
    put(exercise, "four")
    assert journal.undo(exercise) == hash_of(b"three")


def test_a_state_is_derived_from_hashes(exercise):
    def state():
        return exercise_state(exercise, journal.events("E.2"))

    assert state() == "new"
    sha, check = put(exercise, "one"), hash_of(exercise.file)
    assert state() == "started"

    def checked(work, check, ok):
        facts = {"work": work, "check": check, "ok": ok, "step": None, "code": 1}
        journal.append("E.2", "check", diag=None, **facts)
        return state()

    assert checked(sha, check, False) == "failed"
    assert checked(sha, check, True) == "passed"
    put(exercise, "two")
    assert state() == "stale"
    journal.undo(exercise)
    assert state() == "passed"  # that text has passed
    sha = put(exercise, "three")
    assert checked(sha, "another check", True) == "changed"
