"""The calls of an answer: copies, what an answer may change."""

import numpy as np
import pytest

from lessons.course import differences
from lessons.course.calls import Calls
from lessons.course.outcome import CheckFailed

X = np.random.default_rng(0).normal(size=(3, 5))


def call(f, *args, own=(), **options):
    """Call a function as a check does."""
    return Calls("ex_9_9.py", {"f": own}).wrap("f", f)(*args, **options)


def fails(tag, f, *args, says=None, **options):
    """Assert that a call fails with a tag and a sentence; return the report's lines."""
    with pytest.raises(CheckFailed, match=says) as caught:
        call(f, *args, **options)
    assert caught.value.tag == tag
    return caught.value.lines


# arguments


def later(x):
    def backward(g):
        x[0] = g[0]
        return g

    return x, backward


def last(n, pairs):
    del pairs[-n:]
    return pairs


def test_an_argument_is_not_written_to_and_a_change_is_named():
    for write in (lambda x: x.fill(0), lambda x: np.multiply(x, 2, out=x)):
        fails("mutates-input", write, X, says="an array that it was given")
    backward = call(later, X)[1]
    with pytest.raises(CheckFailed, match="that it was given"):
        backward(X)  # an argument of an earlier call
    given = [1, 2, 3]
    assert fails("mutates-input", last, 1, given)[-1] == "changes its argument pairs"
    graph = {"y": [("x", 3.0)], "n": {"a": [1, 2, np.nan]}}
    assert call(lambda g: 0, graph) == 0
    fails("mutates-input", lambda g: g["n"]["a"].sort(reverse=True), graph)
    fails("mutates-input", lambda g: g.pop("y"), graph)
    assert given == [1, 2, 3] and call(last, 0, []) == []


def test_state_of_ones_own_may_change_in_place():
    def f(m, s):
        m += s
        return m

    m = np.ones(5)
    fails("mutates-input", f, m, X[0])
    assert np.array_equal(call(f, s=X[0], m=m, own=("m",)), 1 + X[0])
    assert (m == 1).all()
    fails("mutates-input", lambda m, s: f(s, m), m, X[0], own=("m",))


def test_an_exception_has_the_call_and_a_sentence():
    lines = fails("raises", lambda x: x[9], X, says="IndexError: index 9")
    assert lines[0] == "f(x=float64 (3, 5))"
    fails("recursion", lambda x: (lambda f: f(f))(lambda f: f(f)), X)
    fails("raises", lambda x: x - x.mean(1), X, says="without axis 1; .3, 1. would")


def test_differences_have_the_worst_entry_and_a_picture():
    want = np.random.default_rng(1).normal(size=(3, 7, 5))
    wrong = want + (np.arange(5) == 4)
    drawn = differences.differences(wrong, want, wrong == want)[-1].splitlines()
    assert len(drawn) == 9 and "8 by 5 signs stand for 21 by 5 entries" in drawn[-1]
    want = np.eye(3, 5, dtype=bool)
    found = want | (np.arange(5) == 4)
    lines = differences.differences(found, want, found == want, "ts")
    assert lines[:3] == [
        "entry [0, 4]  (at t 0, s 4)", "    expected  False", "    found     True",
    ]  # fmt: skip
    assert lines[3] == "3 of 15 entries differ"
