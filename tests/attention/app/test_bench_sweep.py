"""The sweep over n measures each variant, and draws and tells what it found."""

import numpy as np

from attention.app.benchmark import report, sweep


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
