"""The command bench writes what was measured, whatever ends it, and says so."""

import argparse
import json
import statistics

import numpy as np
import pytest

from attention.app.benchmark import report, rows, sweep, timing
from attention.app.benchmark.timing import Case
from attention.app.commands import bench as command


def command_line(*words):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(list(map(str, words))))


@pytest.fixture
def small(monkeypatch):
    """Two rows of a few numbers each in the place of the real ones."""

    def make(scale):
        x = np.arange(4.0)
        run = {"numba": lambda: scale * x, "numpy": lambda: scale * x}
        return lambda quick, peer: Case("n=4", dict(run), flops=8)

    both = {"additive-128": ("one", make(1.0)), "gru": ("two", make(2.0))}
    monkeypatch.setattr(rows, "ROWS", both)
    monkeypatch.setattr(report, "matmul_peak", lambda: 100.0)
    monkeypatch.setattr(sweep, "LENGTHS", (64, 128))
    monkeypatch.setattr(sweep.sweep, "__defaults__", (print, (64, 128), None, 1))
    return both


def test_what_is_written(small, tmp_path, capsys):
    assert command_line("--quick", "--no-torch", "--out", tmp_path / "new") == 0
    bench = json.loads((tmp_path / "new" / "bench.json").read_text())
    assert bench["finished"] and bench["quick"] and bench["machine"]["torch"] is None
    assert bench["machine"]["threads"] >= 1 and bench["machine"]["numpy"]
    row = bench["rows"]["gru"]
    assert row["title"] == "two" and row["shape"] == "n=4"
    side = row["sides"]["numba"]
    assert side["median"] == statistics.median(side["seconds"]) and side["gflops"] > 0
    assert row["budgets"] == [
        {"text": "of eager", "limit": 1.0, "value": None, "met": None}
    ]
    assert bench["sweep"]["tiled"]["n"] == [64, 128]
    assert (tmp_path / "new" / "bench.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[:-1])) <= 80  # the last one has the folder
    assert "3 open: additive-128 (of eager), additive-128 (of compiled), gru" in out


def test_ctrl_c_leaves_what_was_measured(small, tmp_path, capsys):
    def stop(quick, peer):
        raise KeyboardInterrupt

    small["gru"] = ("two", stop)
    assert command_line("--quick", "--no-torch", "--out", tmp_path) == 130
    bench = json.loads((tmp_path / "bench.json").read_text())
    assert list(bench["rows"]) == ["additive-128"] and not bench["finished"]
    assert "The run was stopped before its end." in capsys.readouterr().out
    assert [p.name for p in tmp_path.iterdir()] == [
        "bench.json"
    ]  # nothing half-written
    small["additive-128"] = ("one", stop)
    assert command_line("--no-torch", "--out", tmp_path) == 130
    assert "stopped before anything was measured" in capsys.readouterr().out
    assert (tmp_path / "earlier-1" / "bench.json").exists()


def test_a_row_that_fails_is_told_and_the_others_go_on(small, tmp_path, capsys):
    def fails(quick, peer):
        raise MemoryError("no room\nfor it")

    small["additive-128"] = ("one", fails)
    words = "--rows", "gru,additive-128", "--no-torch", "--out", tmp_path
    assert command_line(*words) == 0
    bench = json.loads((tmp_path / "bench.json").read_text())
    assert bench["rows"]["additive-128"]["error"] == "MemoryError: no room"
    assert bench["rows"]["gru"]["sides"] and "sweep" not in bench
    assert "MemoryError: no room" in capsys.readouterr().out


def test_without_torch(small, tmp_path, capsys, monkeypatch):
    from attention.app.benchmark import peer

    def missing(threads):
        raise timing.Missing("torch does not load: No module named 'torch'")

    monkeypatch.setattr(peer, "load", missing)
    assert command_line("--rows", "gru", "--out", tmp_path) == 0
    said = capsys.readouterr()
    assert "No module named 'torch': measuring our sides alone." in said.err
    assert "numba" in said.out and "eager" not in said.out.split("budget")[0]


def test_wrong_arguments_get_a_sentence(tmp_path, capsys):
    assert command_line("--rows", "gru,cosine", "--out", tmp_path) == 2
    said = capsys.readouterr().err
    assert said.startswith("bench: there is no row cosine; choose from additive-128")
    assert command_line("--rows", ",", "--out", tmp_path) == 2
    file = tmp_path / "file"
    file.write_text("")
    assert command_line("--out", file / "in") == 2
    said = capsys.readouterr().err
    assert "Cannot write to" in said and len(said.strip().splitlines()) == 2


def test_a_terminal_sees_one_line_that_is_drawn_again():
    class Terminal(list):
        write, flush, isatty = list.append, lambda self: None, lambda self: True

    screen = Terminal()
    status = command.Status(3, stream=screen)
    status.begin("tiled")
    status.show("numba, first call")
    assert (
        screen[-1].startswith("\r1/3 tiled: numba, first call")
        and "\n" not in screen[-1]
    )
    assert len(screen[-1]) <= 80
    status.close()
    assert screen[-1].strip() == ""
