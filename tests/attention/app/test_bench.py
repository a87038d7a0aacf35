"""The benchmark compares results before it times them, and prints ratios."""

import functools
import json
import math
import os
import signal

import numpy as np
import pytest

from attention.app.arguments import parser_of
from attention.app.benchmark import NAMES, rows, timing
from attention.app.benchmark.rows import ROWS, Row
from attention.app.benchmark.timing import Missing, Side, measured
from attention.app.commands import bench
from attention.app.document import print_json

# -- timing ----------------------------------------------------------------------------


class Here:
    """A side in the process of the test; its numbers are given, one after another."""

    def __init__(self, name, numbers, calls, result=None):
        self.name, self.numbers, self.calls = name, iter(numbers), calls
        self.result = result or (lambda: [np.ones(3)])

    def number(self):
        self.calls.append(self.name)
        return next(self.numbers)


def test_sides_are_measured_in_turn():
    calls = []
    sides = {"a": Here("a", [1, 5, 2], calls), "b": Here("b", [4, 4, 6], calls)}
    found = measured(sides, most=3, least=1, seconds=100)
    assert found == {"a": [1, 5, 2], "b": [4, 4, 6]}
    assert calls == ["a", "b", "b", "a", "a", "b"]
    slow = []
    measured({"a": Here("a", range(9), slow)}, most=7, least=2, seconds=-1.0)
    assert len(slow) == 2  # fewer rounds


def missing():
    raise Missing("its process has ended")


@pytest.mark.parametrize("wrong, reason", [
    (lambda: [np.array([1.0, 1.0, 1.1])], "differs from right by 1.0e-01"),
    (lambda: [np.array([1.0, np.nan, 1.0])], "differs from right by inf"),
    (lambda: [np.ones(2)], "differs from right by inf"),
    (lambda: [np.ones(3)] * 2, "differs from right by inf"),
    (missing, "its process has ended"),
])  # fmt: skip
def test_wrong_results_are_not_timed_and_the_others_are(wrong, reason):
    calls = []
    sides = {"right": Here("right", [1, 2], calls), "wrong": Here("wrong", [], calls)}
    sides["wrong"].result = wrong
    found = measured(sides, most=2, least=1, seconds=100)
    assert found == {"right": [1, 2], "wrong": reason}


def ones():
    return lambda: [np.ones(3)]


def broken():
    return lambda: 1 / 0


def test_a_side_in_a_process_of_its_own():
    side = Side(ones, timing.seconds)
    try:
        (result,) = side.result()
        assert result.tolist() == [1, 1, 1] and 0 < side.number() < 1
    finally:
        side.close()
    ended = functools.partial(os._exit, 3)
    for make, reason in (broken, "division by zero"), (ended, "has ended"):
        side = Side(make, timing.seconds)
        with pytest.raises(Missing, match=reason):
            side.result()
        side.close()


def ignores_ctrl_c():
    return lambda: [np.array(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)]


def test_ctrl_c_ends_the_command_and_it_ends_its_processes():
    """A process that is still importing would print a traceback."""
    before = signal.getsignal(signal.SIGINT)
    side = Side(ignores_ctrl_c, timing.seconds)
    assert side.result() == [True] and signal.getsignal(signal.SIGINT) is before
    side.close()


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
    "causal": (rows.attention_sides, dict(causal=True, backward=False, n=70, E=8)),
    "all": (rows.attention_sides, dict(causal=False, backward=True, n=70, E=8)),
    "additive": (rows.additive_sides, dict(B=2, L=3, S=4, A=5)),
    "window": (rows.window_sides, dict(n=80, w=16, E=8)),
    "decay": (rows.recurrence_sides, dict(backward_of=rows.decay_backward, n=70)),
    "delta": (rows.recurrence_sides, dict(backward_of=rows.delta_backward, n=70)),
    "memory": (rows.memory_sides, dict(n=128, E=8)),
    "gru": (rows.gru_sides, dict(B=2, T=3, hidden=4)),
    "gpt": (rows.gpt_sides, dict(B=2, T=5, D=8, heads=2, layers=2, V=7)),
    "reversal": (rows.reversal_sides, dict(steps=1)),
    "tiny": (rows.tiny_sides, dict(operations=4)),
    "sgd": (rows.sgd_sides, dict(width=5, batch=3)),
}
OF_THE_ENGINE = "tiny", "sgd"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in OF_THE_ENGINE else [pytest.mark.deep])
        for name in SIDES
    ],
)
def test_the_sides_agree(name):
    """Those of torch are compared by the command, wherever they are measured."""
    if name not in OF_THE_ENGINE:
        pytest.importorskip("numba")
    make, sizes = SIDES[name]
    sides = make(True, None, **sizes)
    arrays = {
        name: timing.as_arrays(side()) for name, side in sides.items() if callable(side)
    }
    ours = arrays.pop("ours")
    for name, theirs in arrays.items():
        assert (theirs is None) == (ours is None), name
        assert ours is None or timing.difference(theirs, ours) < timing.TOLERANCE, name


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
    monkeypatch.setattr(rows, "both_backends", lambda run: {"ours": run})
    sides = rows.crossing_sides(True, None, call("state"), 1024)
    assert sides["ours"]() == 512 and sides["n = 1024"] == 1024
    found = {"ours": [512], "n = 1024": [1024]}
    line = next(bench.table_lines(ROWS["decay-from"], found))
    assert line.split()[-7:] == "n = 1024 512 1024 0.500 1.000".split()


def test_the_window_row_says_that_torch_computes_all_pairs():
    row, times = ROWS["window"], {"ours": [1.0], "numpy": [2.0]}
    assert "all pairs" not in "".join(bench.table_lines(row, {**times}))
    *_, last = bench.table_lines(row, times | {"fused": [30.0]})
    assert "PyTorch computes all pairs, with a mask matrix" in last


def test_a_row_is_compared_with_the_sides_that_it_has():
    """Those of torch need torch."""
    assert NAMES == tuple(ROWS)
    for name in "memory", "sgd", "import", "translate", "translate-cold", "tiny", "gru":
        row = ROWS[name]
        sides = row.make(True, None)
        assert {"ours", *row.against} - {*rows.TORCH} == set(sides)


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
