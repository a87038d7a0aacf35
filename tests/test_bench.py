"""The benchmark: what it compares, how it times, what it writes; never a wall clock."""

import argparse
import json
import pathlib
import statistics

import numpy as np
import pytest

from attention.benchmark import budgets, programs, report, rows, sides, sweep, timing
from attention.benchmark.timing import Case, measure
from attention.commands import bench as command


class Clock:
    """Seconds that pass only when somebody says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def works(clock, name, seconds, calls):
    """A side that takes the given seconds, one after the other, and notes the call."""
    times = iter(seconds)

    def run():
        calls.append(name)
        clock.now += next(times)
        return np.ones(3)

    return run


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


# Timing


def test_sides_are_timed_in_turn_and_the_median_is_told():
    clock, calls = Clock(), []
    # the first call is not timed
    run = {
        "a": works(clock, "a", [99, 1, 5, 2, 50], calls),
        "b": works(clock, "b", [99, 4, 4, 6, 50], calls),
    }
    found = measure(Case("", run, flops=10**9), 3, 100, clock=clock)
    assert calls[:8] == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert found["a"]["seconds"] == [1, 5, 2] and found["a"]["median"] == 2
    assert found["b"]["seconds"] == [4, 4, 6] and found["b"]["median"] == 4
    assert found["a"]["gflops"] == 0.5 and found["a"]["memory"] is not None


def test_a_slow_side_is_timed_less_often_and_least_times_at_least():
    clock, calls = Clock(), []
    run = {
        "slow": works(clock, "slow", [1] + [10] * 9, calls),
        "fast": works(clock, "fast", [1] + [1] * 9, calls),
    }
    found = measure(Case("", run, memory=False), 7, 5, least=2, clock=clock)
    assert len(found["slow"]["seconds"]) == 2 and len(found["fast"]["seconds"]) == 5
    assert "memory" not in found["fast"]


def test_rotation_lets_every_side_begin():
    names = ["a", "b", "c"]
    assert {timing.rotated(names, turn)[0] for turn in range(3)} == set(names)
    assert all(sorted(timing.rotated(names, turn)) == names for turn in range(7))
    assert timing.rotated([], 2) == []


@pytest.mark.parametrize("wrong, word", [
    (lambda: np.array([1.0, 2.0, 3.1]), "differs from right by 3.3e-02"),
    (lambda: np.array([1.0, np.nan, 3.0]), "differs from right by inf"),
    (lambda: np.ones(2), "differs from right by inf"),
    (lambda: [np.arange(1.0, 4.0)] * 2, "differs from right by inf"),
])  # fmt: skip
def test_wrong_numbers_are_not_timed(wrong, word):
    run = {"right": lambda: np.arange(1.0, 4.0), "wrong": wrong}
    found = measure(Case("", run, memory=False), 2, 1)
    assert word in found["wrong"]["missing"] and "seconds" not in found["wrong"]
    assert len(found["right"]["seconds"]) == 2


def test_what_cannot_run_says_why_and_the_others_go_on():
    def no_compiler():
        raise RuntimeError("InvalidCxxCompiler: no working C++ compiler\nlong\ntrace")

    run = {"compiled": no_compiler, "numpy": lambda: np.ones(2)}
    found = measure(Case("", run, memory=False), 1, 1)
    assert found["compiled"] == {
        "missing": "InvalidCxxCompiler: no working C++ compiler"
    }
    assert found["numpy"]["median"] >= 0


def test_ctrl_c_is_no_reason_to_go_on():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(Case("", {"numpy": stop}), 1, 1)


@pytest.mark.parametrize("resident", [True, False])
def test_memory_is_what_a_call_takes_and_gives_back(monkeypatch, resident):
    if not resident:
        monkeypatch.setattr(timing, "_reset_resident_peak", lambda: False)
    elif not timing._reset_resident_peak():
        pytest.skip("no /proc here")
    held = timing.peak_memory(lambda: np.ones(2**21).sum(), traced=True)
    assert 0.9 * 2**24 < held < 1.2 * 2**24
    if not resident:
        assert timing.peak_memory(lambda: np.ones(9), traced=False) is None


# Rows and budgets


def test_every_budget_belongs_to_a_row_and_every_row_has_one():
    assert {b.row for b in budgets.BUDGETS} == set(rows.ROWS)


@pytest.mark.parametrize("name", ["tiny", "gru", "alternation", "growth", "memory"])
def test_our_sides_of_a_row_agree(name, monkeypatch):
    small = {
        "tiny": lambda: rows.tiny_case(True, None, operations=6),
        "gru": lambda: rows.gru_case(True, None, B=2, T=3, I=4, H=5),
        "alternation": lambda: programs.alternation_case(True, None, times=1),
        "growth": lambda: programs.growth_case(True, None, w=8, E=8, lengths=(64, 128)),
        "memory": lambda: rows.memory_case(True, None, n=128, E=8),
    }
    case = small[name]()
    found = measure(case, 1, 1)
    assert not [x for x in found.values() if "missing" in x], found
    record = {"sides": found, "facts": case.facts}
    for budget in budgets.judged(name, record):
        assert (budget["value"] is None) == (budget["text"] == "of eager")


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("backward", [True, False])
def test_both_of_our_sides_and_torch_s_agree(causal, backward):
    peer = peer_or_none()
    cases = [
        rows.attention_case(causal, backward, n=70, heads=2, E=8)(True, peer),
        rows.additive_case(2, 3, 4, 5)(True, peer),
        rows.window_case(True, peer, n=80, w=16, E=8),
        rows.gru_case(True, peer, B=2, T=3, I=4, H=5),
        rows.tiny_case(True, peer, operations=4),
    ]
    for case in cases:
        found = measure(case, 1, 1)
        left_out = {name for name, x in found.items() if "missing" in x}
        assert left_out <= {"compiled"}, found
        if peer:
            assert set(found) & {"eager", "fused"}


def peer_or_none():
    try:
        return command.torch_of(1)[0]
    except Exception:
        return None


def test_the_peer_is_asked_for_compiling_in_a_full_run_alone():
    pytest.importorskip("torch")
    from attention.benchmark import peer

    q, k, w, g = sides.draw((1, 2, 3), (1, 4, 3), (3,), (1, 2, 4))
    with pytest.raises(timing.Missing, match="--quick leaves it out"):
        peer.additive(q, k, w, g, compiled=False)["compiled"]()


def test_operations_are_those_of_the_allowed_pairs():
    assert rows.flops(10, 4, backward=False) == 10 * 4 * 2 * 2
    assert rows.flops(10, 4, backward=True) == 10 * 4 * 2 * 7
    case = rows.attention_case(True, False, n=4, heads=2, E=8)(True, None)
    assert case.flops == rows.flops(2 * 10, 8, backward=False)


def test_budgets_are_judged():
    def record(**medians):
        return {
            "sides": {k.replace("_", " "): {"median": v} for k, v in medians.items()},
            "facts": {},
        }

    def values(name, **medians):
        return [(b["value"], b["met"]) for b in budgets.judged(name, record(**medians))]

    assert values("additive-128", numba=1.0, eager=25.0, compiled=5.0) == [
        (0.04, True), (0.2, False)
    ]  # fmt: skip
    assert values("additive-128", numba=1.0, eager=25.0) == [(0.04, True), (None, None)]
    assert values("gru", numpy=1.0, eager=1.0) == [(1.0, True)]
    alternating = values("alternation", product=1.0, kernel=1.0, in_turn=2.5)
    assert alternating == [(1.25, True)]
    growing = record(**{"n=2": 1.0, "n=4": 4.0, "n=8": 16.0})
    growing["facts"] = {"lengths": [2, 4, 8]}
    (found,) = budgets.judged("growth", growing)
    assert found["value"] == pytest.approx(2) and not found["met"]
    held = {"sides": {"numba": {"memory": 5}}, "facts": {"matrix": 100}}
    (found,) = budgets.judged("memory", held)
    assert found["value"] == 0.05 and found["met"]
    started = record(numpy_alone=0.1, all_three=0.2) | {"facts": {"loaded": ["numba"]}}
    first, second = budgets.judged("import", started)
    assert first["met"] and not second["met"]


# The command


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
    from attention.benchmark import peer

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


# The sweep


def test_the_sweep_measures_each_variant_and_stops_where_it_would_take_too_long():
    found = sweep.sweep(True, lengths=(64, 128), rounds=1, seconds=1e9)
    for name in sweep.VARIANTS:
        record = found[name]
        assert record["n"] == [64, 128], (name, record)
        assert len(record["seconds"]) == len(record["bytes"]) == 2
    found = sweep.sweep(True, lengths=(64, 128, 256), rounds=1, seconds=1e-9)
    assert all(record["n"] == [64] for record in found.values())


def test_the_sweep_begins_with_few_tokens_and_bigbird_with_whole_blocks():
    assert sweep.LENGTHS[0] == 16
    found = sweep.sweep(True, lengths=(16, 64), rounds=1, seconds=1e9)
    assert {name: record["n"] for name, record in found.items()} == {
        name: [64] if name == "bigbird" else [16, 64] for name in sweep.VARIANTS
    }


def test_short_calls_are_timed_together(monkeypatch):
    calls = []
    monkeypatch.setattr(sweep, "VARIANTS", ("dense",))
    monkeypatch.setattr(sweep, "call_of", lambda *_: lambda: calls.append(1) or 0)
    monkeypatch.setattr(sweep, "peak_memory", lambda call, traced: 0)
    monkeypatch.setattr(sweep, "timed", lambda run: run() or 32.0)
    found = sweep.sweep(True, lengths=(64, 256), rounds=1, seconds=1e9)
    assert len(calls) == 1 + sweep.REPEATS + 1 + 1
    assert found["dense"]["seconds"] == [32 / sweep.REPEATS, 32]


def test_from_which_n_linear_is_faster():
    def told(dense, linear, n=(16, 32, 64)):
        sides = {"dense": dense, "linear": linear}
        found = {k: {"n": list(n), "seconds": v} for k, v in sides.items()}
        return sweep.crossing(found)

    assert "from below n = 16 on" in told([2, 4, 8], [1, 1, 1])
    # dense / linear is 1/2 at 16, 2 at 32: 1 in the middle, 16 sqrt(2)
    assert "from n = 23 on, between 16 and 32" in told([1, 4, 16], [2, 2, 2])
    # the last n at which it is not counts
    assert "from n = 45 on, between 32 and 64" in told([4, 1, 4], [2, 2, 2])
    assert "not yet faster than dense softmax at n = 64" in told([1, 1, 1], [2, 2, 2])
    assert sweep.crossing({}) is None
    assert sweep.crossing({"dense": {"missing": "no"}, "linear": {"n": []}}) is None


def test_the_report_says_from_which_n():
    sides = {"dense": [1.0, 4.0], "linear": [2.0, 2.0]}
    found = {k: {"n": [16, 32], "seconds": v} for k, v in sides.items()}
    about = dict.fromkeys(("numpy", "numba", "torch", "load"))
    bench = {
        "machine": about | {"processor": "one", "threads": 1},
        "matmul_gflops": 1.0,
        "rows": {},
        "sweep": found,
        "finished": True,
    }
    text = report.table(bench)
    assert "sweep: linear is faster than dense softmax from n = 23 on" in text
    assert "sweep" not in report.table(bench | {"sweep": {}})


def test_a_variant_that_fails_is_left_out_of_the_figure(monkeypatch, tmp_path):
    monkeypatch.setattr(sweep, "call_of", lambda variant, *rest: 1 / 0)
    found = sweep.sweep(True, lengths=(64,), rounds=1)
    assert found["dense"] == {"missing": "ZeroDivisionError: division by zero"}
    sweep.figure(found, tmp_path / "empty.png")


def test_the_figure_asks_a_question_and_labels_its_axes():
    found = {
        "dense": {"n": [64, 128], "seconds": [1.0, 4.0], "bytes": [10**6, 4 * 10**6]},
        "linear": {"n": [64, 128], "seconds": [1.0, 2.0], "bytes": [10**6, 2 * 10**6]},
    }
    time, memory = sweep.figure(found).axes
    assert time.get_title().endswith("?") and memory.get_title().endswith("?")
    for panel in (time, memory):
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        assert panel.get_xlabel() and "(m" in panel.get_ylabel().lower()
    np.testing.assert_allclose(time.lines[0].get_ydata(), [1e3, 4e3])  # ms
    np.testing.assert_allclose(memory.lines[1].get_ydata(), [1, 2])  # MB


def test_torch_is_imported_in_one_file_of_the_package():
    folder = pathlib.Path(rows.__file__).parent
    users = [p.name for p in folder.glob("*.py") if "import torch" in p.read_text()]
    assert users == ["peer.py"]
