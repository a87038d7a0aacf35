"""Sides are timed in turn, by a clock of the test's own, and wrong ones are not."""

import numpy as np
import pytest

from attention.app.benchmark import timing
from attention.app.benchmark.timing import Case, measure


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
