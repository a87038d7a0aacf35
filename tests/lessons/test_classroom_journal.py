"""Nothing that was written is ever lost: journal, history, mirror, undo."""

import json
import shutil

import pytest

from lessons.classroom import catalogue, cli, journal
from lessons.classroom.paths import hash_of, mirror_folder, work_folder


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "mein Übungsheft"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def exercise():
    return catalogue.find("E.2")


def put(exercise, text, why="check"):
    journal.write(exercise.work, text.encode())
    return journal.snapshot(exercise, why)


def test_a_torn_line_is_passed_over_and_stays(exercise):
    journal.append("E.2", "start")
    path = work_folder() / journal.NAME
    with open(path, "ab") as file:
        file.write(b'{"ex": "E.2", "event": "che')  # the power went
    assert [e["event"] for e in journal.events()] == ["start"]
    journal.append("E.2", "check", ok=True)
    assert [e["event"] for e in journal.events("E.2")] == ["start", "check"]
    assert b'"event": "che\n{' in path.read_bytes()
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n[1]\n{}\n")
    assert len(journal.events()) == 2


def test_the_journal_is_only_ever_added_to(exercise):
    seen = b""
    for k in range(3):
        put(exercise, f"text {k}")
        journal.undo(exercise)
        now = (work_folder() / journal.NAME).read_bytes()
        assert now.startswith(seen) and len(now) > len(seen)
        seen = now


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


def test_undo_brings_back_a_file_that_was_removed(exercise):
    put(exercise, "one")
    put(exercise, "two")
    exercise.work.unlink()
    assert journal.undo(exercise) and exercise.work.read_text() == "two"


def test_the_mirror_outlives_the_folder(exercise):
    put(exercise, "one")
    put(exercise, "two")
    shutil.rmtree(work_folder())
    assert journal.undo(exercise) == hash_of(b"two")
    assert journal.undo(exercise) == hash_of(b"one")
    assert exercise.work.read_text() == "one"
    assert [e["event"] for e in journal.events()] == ["snapshot"] * 2 + ["undo"] * 2


def test_a_damaged_text_is_taken_from_the_mirror(exercise):
    sha = put(exercise, "one")
    (work_folder() / journal.HISTORY / sha).write_text("one, but damaged")
    assert journal.text_of(sha) == b"one"
    put(exercise, "two")
    put(exercise, "one")  # stored again, whole
    assert (work_folder() / journal.HISTORY / sha).read_text() == "one"


def test_a_mirror_that_cannot_be_written_is_no_obstacle(
    exercise, monkeypatch, tmp_path
):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    put(exercise, "one")
    put(exercise, "two")
    assert journal.undo(exercise) == hash_of(b"one")


def test_status_is_derived_from_hashes(exercise):
    assert journal.status(exercise)[0] == "new"
    sha = put(exercise, "one")
    assert journal.status(exercise)[0] == "started"
    check = hash_of(exercise.check)

    def checked(work, check, ok):
        journal.append("E.2", "check", work=work, check=check, ok=ok)
        return journal.status(exercise)[0]

    assert checked(sha, check, False) == "failed"
    assert checked(sha, check, True) == "passed"
    put(exercise, "two")
    assert journal.status(exercise)[0] == "stale"
    journal.undo(exercise)
    assert journal.status(exercise)[0] == "passed"  # that text has passed
    sha = put(exercise, "three")
    assert checked(sha, "another check", True) == "changed"


def test_two_work_folders_have_two_mirrors(monkeypatch, tmp_path):
    first = mirror_folder()
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "other"))
    assert mirror_folder() != first


def test_every_event_is_one_line_of_json(exercise):
    journal.append("E.2", "check", note="Zeile\numgebrochen · 中文")
    [line] = (work_folder() / journal.NAME).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["note"] == "Zeile\numgebrochen · 中文"


@pytest.mark.parametrize(
    "line",
    [
        '{"ex": ["a"], "event": "check"}',
        '{"ex": "E.2", "event": {}}',
        '{"ex": "E.2", "event": "check", "work": 3}',
        '{"ex": "E.2", "event": "snapshot", "work": "../\\u0000"}',
        '{"ex": "E.2", "event": "undo", "depth": "1"}',
        '{"ex": "E.2", "event": "undo", "depth": -1}',
        '{"ex": "E.2", "event": "check", "diag": ["zero"]}',
        '{"ex": "E.2", "event": "hint", "hint": [1, "a", 3]}',
        '{"ex": "E.2", "event": "hint", "hint": ["", -1]}',
        '{"ex": "E.2", "event": "check", "t": 1e300}',
        '{"ex": "E.2", "event": "check", "t": NaN}',
        "[" * 100_000,
    ],
)
def test_a_line_of_another_form_is_passed_over(exercise, line, capsys):
    put(exercise, "one")
    journal.append("E.2", "hint", hint=["", 0])
    before = journal.events()
    with open(work_folder() / journal.NAME, "a", encoding="utf-8") as file:
        file.write(line + "\n")
    assert journal.events() == before
    for verb in (["status"], ["history", "E.2"], ["hint", "E.2"], ["list"]):
        assert cli.main(verb) == 0
    capsys.readouterr()
