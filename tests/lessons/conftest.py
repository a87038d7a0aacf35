"""A learner's folder, for the tests that write answers."""

import pytest


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with spaces and letters beyond ASCII, from another working directory."""
    folder = tmp_path / "mein Übungsheft · 练习"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LESSONS_WORK", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder
