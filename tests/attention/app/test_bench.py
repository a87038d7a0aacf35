"""The benchmark compares results before it times them, and prints ratios."""

import contextlib

import numpy as np
import pytest

from attention import kernels
from attention.app.arguments import parser_of
from attention.app.benchmark import NAMES, peer, rows, sweep, timing
from attention.app.benchmark.rows import ROWS, Row
from attention.app.benchmark.timing import Case, measure
from attention.app.commands import bench
from attention.app.experiments import reversal

# -- timing ----------------------------------------------------------------------------


def side(name, seconds, calls):
    """A side that notes its calls; ``elapsed`` gives its seconds one after another."""
    times = iter(seconds)

    def run():
        calls.append(name)
        return np.ones(3)

    run.elapsed = lambda: next(times)
    return run


def elapsed(run):
    run()
    return run.elapsed()


def test_sides_run_in_turn():
    calls = []
    sides = {
        "a": side("a", [1, 5, 2], calls),
        "b": side("b", [4, 4, 6], calls),
        "limit": 3.0,
    }
    found = measure(Case(sides, measure=elapsed), rounds=3, seconds=100)
    assert found == {"limit": [3.0] * 3, "a": [1, 5, 2], "b": [4, 4, 6]}
    assert calls == ["a", "b", "a", "b", "b", "a", "a", "b"]  # the first two untimed


def test_the_mean_of_a_short_call_that_is_repeated(monkeypatch):
    calls = []

    def seconds_of(run):
        before = len(calls)
        run()
        return 0.01 * (len(calls) - before)

    monkeypatch.setattr(timing, "timed", seconds_of)
    found = measure(Case({"a": lambda: calls.append(0)}, compare=False), 2, 100)
    assert found == {"a": [pytest.approx(0.01)] * 2}
    # one to see that it works, one as the first value, one not timed, five in 50 ms
    assert len(calls) == 1 + 1 + 1 + 5


def test_a_slow_side_is_measured_less_often():
    calls = []
    sides = {"a": side("a", range(9), calls)}
    measure(Case(sides, measure=elapsed), rounds=7, seconds=-1.0, least=2)
    assert len(calls) == 1 + 2


@pytest.mark.parametrize("wrong, reason", [
    (lambda: np.array([1.0, 2.0, 3.1]), "differs from right by 3.3e-02"),
    (lambda: np.array([1.0, np.nan, 3.0]), "differs from right by inf"),
    (lambda: np.ones(2), "differs from right by inf"),
    (lambda: [np.arange(1.0, 4.0)] * 2, "differs from right by inf"),
    (lambda: 1 / 0, "division by zero"),
])  # fmt: skip
def test_wrong_results_are_not_timed_and_the_others_are(wrong, reason):
    found = measure(Case({"right": lambda: np.arange(1.0, 4.0), "wrong": wrong}), 2, 1)
    assert found["wrong"] == reason
    assert found["right"][0] >= 0


def test_the_ratio_is_the_median_of_the_ratios_of_the_rounds():
    # two rounds of five run at half the speed; the last side has no fifth round
    assert timing.ratio([2, 4, 4, 2, 2], [4, 8, 8, 4]) == 0.5
    assert timing.ratio([1, 6, 3], [2, 4, 8]) == 0.5


@pytest.mark.parametrize("resident", [True, False])
def test_memory_is_what_a_call_holds(monkeypatch, resident):
    if not resident:
        monkeypatch.setattr(timing, "_reset_resident_peak", lambda: False)
    elif not timing._reset_resident_peak():
        pytest.skip("no /proc here")
    held = timing.peak_memory(lambda: np.ones(2**21).sum())
    assert 0.9 * 2**24 < held < 1.2 * 2**24


# -- rows ------------------------------------------------------------------------------


def cases_of_kernels(peer):
    yield rows.attention_case(True, False, n=70, heads=2, E=8)(True, peer)
    yield rows.attention_case(False, True, n=70, heads=2, E=8)(True, peer)
    yield rows.additive_case(2, 3, 4, 5)(True, peer)
    yield rows.window_case(True, peer, n=80, w=16, E=8)
    yield rows.recurrence_case(rows.decay_backward, n=70)(True, peer)
    yield rows.recurrence_case(rows.delta_backward, n=70)(True, peer)
    yield rows.memory_case(True, peer, n=128, E=8)
    yield rows.gru_case(True, peer, B=2, T=3, hidden=4)
    yield rows.gpt_case(2, 5, 8, 2, 2, V=7)(True, peer)
    yield rows.reversal_case(True, peer, steps=1)


def cases_of_the_engine(peer):
    yield rows.tiny_case(True, peer, operations=4)
    yield rows.sgd_case(True, peer, width=5, batch=3)


def assert_sides_agree(cases):
    for case in cases:
        found = measure(case, 1, 1)
        for name, x in found.items():
            assert not isinstance(x, str) or x == "left out by --quick", (name, x)


@pytest.mark.parametrize("torch", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_the_sides_of_the_engine_agree(torch):
    if torch:
        pytest.importorskip("torch")
    with kernels.backend("numpy"):
        assert_sides_agree(cases_of_the_engine(bench.torch_peer(1) if torch else None))


@pytest.mark.parametrize("kind", reversal.Config().kinds)
def test_the_reverser_of_torch_is_a_copy_of_ours(kind):
    torch = pytest.importorskip("torch")
    model = reversal.build(reversal.Config(), kind, seed=1).model
    for parameter in model.parameters():
        parameter.data = 3 * parameter.data  # so that the weights are far from uniform
    batch = reversal.Batches(1, 8, 3, 8)[0]
    inputs = batch.source, batch.target_in, batch.lengths
    copy = peer.reverser(model)
    with kernels.backend("numpy"), torch.no_grad():
        ours = model(*inputs).data
        theirs = copy(*(torch.as_tensor(x).long() for x in inputs)).numpy()
    read = batch.target_in != 0  # at padding, logits have no meaning
    np.testing.assert_allclose(ours[read], theirs[read], rtol=1e-3, atol=1e-3)


@pytest.mark.deep
@pytest.mark.parametrize("torch", [False, True])
def test_the_sides_of_the_kernels_agree(torch):
    pytest.importorskip("numba")
    if torch:
        pytest.importorskip("torch")
    assert_sides_agree(cases_of_kernels(bench.torch_peer(1) if torch else None))


def test_the_least_n_from_which_on_a_state_is_faster(monkeypatch, capsys, one_process):
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
    case = rows.crossing_case(call("state"), 1024)(True, None)
    assert case.sides["ours"]() == 512
    row = Row("from n", lambda quick, peer: case, {"n = 1024": 1})
    monkeypatch.setattr(rows, "ROWS", {"from": row})
    assert command_line("--quick", "--no-torch") == 0
    assert "from n n = 1024 512 1024 0.500 1.000" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_step_by_hand_is_the_step_of_the_optimizer():
    hand, optimizer = rows.sgd_case(True, None, width=5, batch=3).sides.values()
    weights = []
    for step in (hand, optimizer):
        step()
        cells = [cell.cell_contents for cell in step.__closure__]
        (layer,) = (content for content in cells if hasattr(content, "weight"))
        weights.append(layer.weight.data)
    np.testing.assert_allclose(*weights, rtol=1e-6)


def test_the_window_row_says_that_torch_computes_all_pairs():
    row, times = ROWS["window"], {"ours": [1.0], "numpy": [2.0]}
    assert "all pairs" not in "".join(bench.table_lines(row, {**times}, str))
    *_, last = bench.table_lines(row, times | {"fused": [30.0]}, str)
    assert "PyTorch computes all pairs, with a mask matrix" in last


def test_the_option_lists_the_rows():
    assert NAMES == tuple(ROWS)


def test_every_limit_belongs_to_a_side():
    """The peer's sides need torch; the others are there."""
    own = {"score matrix", "optim.SGD", "0.1 s", "1.5 s", "2 s"}
    own |= {"numpy", "tiled", "n = 1024", "n = 2048"}
    for row in ROWS.values():
        assert row.limits and set(row.limits) <= own | {"eager", "compiled", "fused"}


# -- the command -----------------------------------------------------------------------


@pytest.fixture
def one_process(monkeypatch):
    """Run the sides of a row that a test defines in the process of the test."""
    monkeypatch.setattr(
        bench, "isolated", lambda name, case, quick: contextlib.nullcontext(case)
    )


def command_line(*words, rows=None):
    args = parser_of("bench").parse_args(list(words))
    args.rows = rows
    return bench.run(args)


def seconds(**sides):
    """A row whose sides take these times, or fail with these reasons."""

    def make(quick, peer):
        def run_of(x):
            return lambda: np.full(3, 1 / 0 if x is None else 1.0)

        runs = {name: run_of(x) for name, x in sides.items()}
        values = {id(run): sides[name] for name, run in runs.items()}
        return Case(runs, measure=lambda run: values[id(run)])

    return make


def test_the_table(monkeypatch, capsys, one_process):
    monkeypatch.setattr(rows, "ROWS", {
        "zero": Row("broken", lambda quick, peer: 1 / 0, {}),
        "one": Row("first", seconds(ours=1.0, eager=25.0, numpy=5.0), {"eager": 0.05}),
        "two": Row("second", seconds(ours=1e-3, eager=1e-3), {"eager": 0.5}),
        "three": Row("third", seconds(ours=None, eager=1.0), {"eager": 1}),
        "four": Row("fourth", seconds(ours=1.0, eager=None), {"eager": 1}),
    })  # fmt: skip
    assert command_line("--quick", "--no-torch") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[2:]] == [
        "broken not measured: division by zero".split(),
        "first eager 1.00 s 25.00 s 0.040 0.050".split(),
        "numpy 1.00 s 5.00 s 0.200".split(),
        "second eager 1.00 ms 1.00 ms 1.000 0.500 !".split(),
        "third not measured: division by zero".split(),
        "fourth eager 1.00 s division by zero".split(),
        "Limits missed (!): 1. A ratio is a median of rounds.".split(),
    ]
    assert max(map(len, lines)) <= 80
    assert command_line("--no-torch", rows=["two"]) == 0
    assert "first" not in capsys.readouterr().out


def test_without_torch_our_sides_are_measured(monkeypatch, capsys, one_process):
    def missing(threads):
        raise timing.Missing("torch does not load: No module named 'torch'")

    monkeypatch.setattr(peer, "load", missing)
    monkeypatch.setattr(
        rows, "ROWS", {"one": Row("first", seconds(ours=1.0), {"eager": 1})}
    )
    assert command_line("--quick") == 0
    found = capsys.readouterr()
    assert "No module named 'torch': measuring without torch." in found.err
    assert "1.00 s" in found.out


# -- the sweep -------------------------------------------------------------------------


@pytest.mark.deep
def test_the_sweep_measures_each_variant_until_it_would_take_too_long():
    said = []
    with kernels.backend("numpy"):
        found = sweep.sweep(1, said.append, (16, 64, 128), seconds=1e9)
        short = sweep.sweep(1, said.append, (64, 128, 256), seconds=1e-9)
    assert all(record["n"] == [64] for record in short.values())
    for name, record in found.items():
        # the blocks of bigbird have 64 tokens
        assert record["n"] == ([64, 128] if name == "bigbird" else [16, 64, 128])
        assert {len(x) for x in record.values()} == {len(record["n"])}
        assert 0 < min(record["least"]) and record["least"] <= record["seconds"]
