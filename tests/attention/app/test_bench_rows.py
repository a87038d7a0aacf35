"""The sides of a row agree, torch's too, and its budgets are judged."""

import pathlib

import pytest

from attention.app.benchmark import budgets, programs, rows, sides, timing
from attention.app.benchmark.timing import measure
from attention.app.commands import bench as command


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
    from attention.app.benchmark import peer

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


def test_torch_is_imported_in_one_file_of_the_package():
    folder = pathlib.Path(rows.__file__).parent
    users = [p.name for p in folder.glob("*.py") if "import torch" in p.read_text()]
    assert users == ["peer.py"]
