"""The progress line: what is done, how fast, and how long the rest takes."""

import sys

from attention.app import progress_line as module
from attention.app.progress_line import Progress


def lines_of(capsys, monkeypatch, live, *updates):
    """Return what is printed by updates of 100 steps, 10 s after each other."""
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: live)
    progress = Progress("dot", 100)
    for update in updates:
        progress.update(*update)
    progress.close()
    return capsys.readouterr().err.replace("\r", "\n").split("\n")


def test_a_log_has_a_line_every_ten_seconds(capsys, monkeypatch):
    lines = lines_of(capsys, monkeypatch, False, (1, 2.5), (51, 0.25))
    assert lines == [
        "dot       1/100  loss 2.5000",
        "dot       51/100  loss 0.2500  5 steps/s  0:00:10 left",
        "",
    ]


def test_a_terminal_has_one_line_that_is_cleared_at_the_end(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = lines_of(capsys, monkeypatch, True, (0, 2.5), (50, 0.25))
    assert lines[2].startswith("dot       [#") and "loss 0.2500" in lines[2]
    assert set(map(len, lines[1:-1])) == {79} and lines[-2].strip() == ""


def test_work_without_a_loss(capsys, monkeypatch):
    lines = lines_of(capsys, monkeypatch, False, (0,), (25,))
    assert lines[1] == "dot       25/100  0:00:30 left"
