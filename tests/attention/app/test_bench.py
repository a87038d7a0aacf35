"""The benchmark compares results before it times them, and prints ratios."""

import functools
import json
import math
import os
import signal
from contextlib import closing

import numpy as np
import pytest

from attention import kernels
from attention.app.arguments import parser_of
from attention.app.benchmark import NAMES, rows, timing
from attention.app.benchmark.rows import ROWS, Row
from attention.app.benchmark.timing import Side, measured
from attention.app.commands import bench
from attention.app.document import print_json

# -- timing ----------------------------------------------------------------------------


class Here:
    """A side in the process of the test; its answers are given, one after another."""

    def __init__(self, name, calls, *answers):
        self.name, self.calls, self.answers = name, calls, iter(answers)

    def answer(self):
        self.calls.append(self.name)
        answer = next(self.answers)
        if isinstance(answer, RuntimeError):
            raise answer
        return answer


RIGHT = [np.ones(3)]


def test_sides_are_measured_in_turn():
    calls = []
    sides = {"a": Here("a", calls, RIGHT, 1, 5, 2), "b": Here("b", calls, None, 4, 4, 6)}
    found = measured(sides, most=3, least=1, seconds=100)
    assert found == {"a": [1, 5, 2], "b": [4, 4, 6]}
    assert calls == ["a", "b", "a", "b", "b", "a", "a", "b"]
    slow = []
    measured({"a": Here("a", slow, RIGHT, 1, 2)}, most=7, least=2, seconds=-1.0)
    assert len(slow) == 1 + 2  # fewer rounds


@pytest.mark.parametrize("wrong, reason", [
    ([np.array([1.0, 1.0, 1.1])], "differs from right by 1.0e-01"),
    ([np.array([1.0, np.nan, 1.0])], "differs from right by inf"),
    ([np.ones(3)] * 2, "differs from right by inf"),
    (RuntimeError("its process has ended"), "its process has ended"),
])  # fmt: skip
def test_wrong_results_are_not_timed_and_the_others_are(wrong, reason):
    sides = {"right": Here("right", [], RIGHT, 1, 2), "wrong": Here("wrong", [], wrong)}
    found = measured(sides, most=2, least=1, seconds=100)
    assert found == {"right": [1, 2], "wrong": reason}
    first = {"first": Here("first", [], RuntimeError("no")), "other": Here("other", [], RIGHT)}
    assert measured(first, most=2, least=1, seconds=100) == {"first": "no"}


def blocked_signals():
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return lambda: [np.array(signal.SIGINT in blocked)]


def broken():
    return lambda: 1 / 0


def test_a_side_in_a_process_of_its_own_which_ctrl_c_does_not_reach():
    with closing(Side(blocked_signals, timing.seconds)) as side:
        assert side.answer() == [True] and 0 < side.answer() < 1
    ended = functools.partial(os._exit, 3)
    for make, reason in (broken, "division by zero"), (ended, "has ended"):
        with closing(Side(make, timing.seconds)) as side:
            with pytest.raises(RuntimeError, match=reason):
                side.answer()


def test_the_mean_of_a_short_call_that_is_repeated(monkeypatch):
    calls = []

    def seconds_of(run):
        before = len(calls)
        run()
        return 0.01 * (len(calls) - before)

    monkeypatch.setattr(timing, "timed", seconds_of)
    assert timing.seconds(lambda: calls.append(0)) == pytest.approx(0.01)
    assert len(calls) == 1 + 5  # one that does not count, then 50 ms


def test_the_ratio_is_the_median_of_the_ratios_of_the_rounds():
    # two rounds of four run at half the speed
    assert timing.ratio([2, 4, 4, 2], [4, 8, 8, 4]) == 0.5
    assert timing.ratio([1, 6, 3], [2, 4, 8]) == 0.5


# -- rows ------------------------------------------------------------------------------


SIDES = {
    "causal": (rows.attention, dict(causal=True, backward=False, n=70, E=8)),
    "all": (rows.attention, dict(causal=False, backward=True, n=70, E=8)),
    "additive": (rows.additive, dict(B=2, L=3, S=4, A=5)),
    "window": (rows.window, dict(n=80, w=16, E=8)),
    "decay": (rows.recurrence, dict(backward_of=rows.decay_backward, n=70)),
    "delta": (rows.recurrence, dict(backward_of=rows.delta_backward, n=70)),
    "gru": (rows.gru, dict(B=2, T=3, hidden=4)),
    "gpt": (rows.gpt, dict(B=2, T=5, D=8, heads=2, layers=2, V=7)),
    "sgd": (rows.sgd, dict(width=5, batch=3)),
}


@pytest.mark.parametrize(
    "name",
    [name if name == "sgd" else pytest.param(name, marks=pytest.mark.deep) for name in SIDES],
)
def test_the_sides_agree(name):
    """Those of torch are compared by the command, wherever they are measured."""
    make, sizes = SIDES[name]
    found = []
    for side in "numba", "optim.SGD" if name == "sgd" else "numpy":
        if side == "numba":
            pytest.importorskip("numba")
        with kernels.backend("numba" if side == "numba" else "numpy"):
            found.append(timing.as_arrays(make(side, True, **sizes)()))
    assert timing.difference(*found) < timing.TOLERANCE


def test_the_least_n_from_which_on_a_state_is_faster(monkeypatch):
    """With times that grow with n for the state, and with its square for the tiles."""
    sizes = []

    def call(side):
        return lambda n: lambda: sizes.append((side, n))

    def seconds(run):
        run()
        side, n = sizes[-1]
        return 300 * n if side == "state" else n * n

    monkeypatch.setattr(rows, "tiled_causal", call("tiled"))
    monkeypatch.setattr(rows, "timed", seconds)
    ours, limit = (rows.crossing(side, True, call("state"), 1024) for side in ("ours", ""))
    assert ours() == 512 and limit == 1024
    found = {"ours": [512], "n = 1024": [1024]}
    line = next(bench.table_lines(ROWS["decay-from"], found))
    assert line.split()[-7:] == "n = 1024 512 1024 0.500 1.000".split()


def test_the_window_row_says_that_torch_computes_all_pairs():
    row, times = ROWS["window"], {"ours": [1.0], "numpy": [2.0]}
    assert "all pairs" not in "".join(bench.table_lines(row, {**times}))
    *_, last = bench.table_lines(row, times | {"fused": [30.0]})
    assert "PyTorch computes all pairs, with a mask matrix" in last


def test_every_row_has_all_its_sides():
    """Those of torch need torch, and those of write a model."""
    assert NAMES == tuple(ROWS)
    for name in "memory", "sgd", "import", "translate", "translate-cold", "tiny", "gru":
        for side in {"ours", *ROWS[name].against} - {*rows.TORCH}:
            made = ROWS[name].make(side, True)
            assert callable(made) == (not side[0].isdigit() and side != "score matrix")


# -- the command -----------------------------------------------------------------------


@pytest.fixture
def table_of(monkeypatch, capsys):
    """Return a function that runs the command with rows {name: (Row, numbers)}."""

    def printed(known, *words, chosen=None):
        table = {name: row for name, (row, _) in known.items()}
        monkeypatch.setattr(rows, "ROWS", table)
        monkeypatch.setattr(bench, "found_in", lambda name, *_: {**known[name][1]})
        args = parser_of("bench").parse_args(["--no-torch", *words])
        args.rows = chosen
        assert bench.run(args) == 0
        return capsys.readouterr().out.splitlines()

    return printed


def test_the_table(table_of):
    known = {
        "zero": (Row("broken", None, {}), {"ours": "division by zero"}),
        "one": (Row("first", None, {"eager": 0.05, "numpy": None}),
                {"ours": [1.0], "eager": [25.0], "numpy": [5.0]}),
        "two": (Row("second", None, {"eager": 0.5}), {"ours": [1e-3], "eager": [1e-3]}),
        "three": (Row("third", None, {"eager": 1}),
                  {"ours": [1.0], "eager": "division by zero"}),
    }  # fmt: skip
    lines = table_of(known, "--quick")
    assert [line.split() for line in lines[2:]] == [
        "broken not measured: division by zero".split(),
        "first eager 1.00 s 25.00 s 0.040 0.050".split(),
        "numpy 1.00 s 5.00 s 0.200".split(),
        "second eager 1.00 ms 1.00 ms 1.000 0.500 !".split(),
        "third eager 1.00 s division by zero".split(),
        "Limits missed (!): 1. A ratio is a median of rounds.".split(),
    ]
    assert max(map(len, lines)) <= 80
    assert "first" not in "".join(table_of(known, chosen=["two"]))


def test_the_document_has_each_round(table_of):
    known = {
        "zero": (Row("broken", None, {}), {"ours": "division by zero"}),
        "one": (Row("first", None, {"eager": 0.5, "numpy": None}, rows.peak_bytes),
                {"ours": [2, 4, 3], "eager": "no torch", "numpy": [8, 8, 6]}),
    }  # fmt: skip
    (line,) = table_of(known, "--json")
    document = json.loads(line)
    assert {"versions", "threads", "load", "rows"} == document.keys()
    assert document["rows"]["zero"]["sides"] == {"ours": "division by zero"}
    assert document["rows"]["one"] == {
        "title": "first", "measure": "peak_bytes", "sides": known["one"][1],
        "ratios": {"numpy": 0.5}, "limits": {"eager": 0.5, "numpy": None},
    }  # fmt: skip


def test_without_torch_our_sides_are_measured(monkeypatch, capsys):
    def no_version(package):
        raise bench.importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(bench, "versions", dict)
    monkeypatch.setattr(bench.importlib.metadata, "version", no_version)
    assert bench.run(parser_of("bench").parse_args(["--quick", "--rows", "tiny"])) == 0
    found = capsys.readouterr()
    assert "No torch here: measuring without it." in found.err
    assert "nothing to compare with" in found.out


def test_a_document_has_numbers_of_json_alone(capsys):
    print_json({"x": np.float32(0.5), "y": np.ones(2)})
    assert capsys.readouterr().out == '{"x": 0.5, "y": [1.0, 1.0]}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"x": math.nan})
