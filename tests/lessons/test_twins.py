"""A mistake is named by the edit of the exercise in loops that makes the same one."""

import types

import numpy as np
import pytest

from lessons.checks import measure, results
from lessons.classroom.authors.audit import run
from lessons.classroom.catalogue import find
from lessons.classroom.checking import twins
from lessons.classroom.checking.harness import Harness
from lessons.classroom.checking.sequence import run_function, run_steps
from lessons.classroom.learner import hints
from lessons.classroom.steps import CheckFailed
from lessons.classroom.stubs import StubError

from .classroom_cases import answer

CHECK = '''
import math

import numpy as np

from lessons.classroom.steps import edges, shape, values

# THE EXERCISE IN LOOPS


def f(x):
    """y_i = 3 x_i^2 + 1"""
    return np.array([3 * v**2 + 1 for v in x])


def h(x):
    """z_i = f(x)_i - x_i"""
    return np.array([y - v for y, v in zip(f(x), x)])


# THE CHECK


@values("f, of drawn numbers")
def drawn(my, rng):
    x = rng.normal(size=5)
    my.equal(my.f(x), f(x), "i")


@values("h, of drawn numbers")
def of_h(my, rng):
    x = rng.normal(size=5)
    my.equal(my.h(x), h(x), "i")


@shape("drawn, which the loops lack; it excludes no edit")
def is_drawn(my, rng):
    my.holds(my.draw(my.f(np.ones(5))) is None, "no-drawing")


SPOILED = [
    ("no-square", "3 x + 1", "", "v**2", "v"),
    ("no-one", "3 x^2", "", "3 * v**2 + 1", "3 * v**2"),
    ("minus-one", "3 x^2 - x, without 1", "", "y - v for", "y - v - 1 for"),
    ("plus", "f(x) + x", "", "y - v for", "y + v for"),
    ("other-name", "f(x) + x, again", "", "[y - v for y, v", "[v + y for y, v"),
]
'''


def f(x):
    return 3 * x**2 + 1


def h(x):
    return f(x) - x


@pytest.fixture
def outcome(tmp_path):
    """(functions of an answer) -> the failed outcomes of the check above."""
    path = tmp_path / "check.py"
    path.write_text(CHECK)
    checks = types.ModuleType("check")
    checks.__file__ = str(path)
    exec(compile(CHECK, str(path), "exec"), vars(checks))

    def failures(**functions):
        given = {"f": f, "h": h, "draw": lambda x: None} | functions
        signatures = dict.fromkeys(given, ["x"])
        my = Harness("X.1", given, signatures, tmp_path / "a.py")
        return [(o.tag, o.lines[-1]) for o in run_steps(checks, my) if o.result != "ok"]

    return failures


def test_a_right_answer_passes_and_a_mistake_has_the_name_of_its_edit(outcome):
    assert outcome() == []
    [(tag, line)] = outcome(f=lambda x: x * 3 + np.ones(5), h=h)
    assert tag == "no-square" and line == "yours equals 3 x + 1  [no-square]"


def test_an_edit_that_another_function_of_the_check_would_notice_is_no_name(outcome):
    """h without 1 equals the edit "no-one" of f, but f is right."""
    assert [tag for tag, _ in outcome(h=lambda x: 3 * x**2 - x)] == ["minus-one"]


def test_edits_that_agree_under_different_names_are_no_name(outcome):
    [(tag, _)] = outcome(h=lambda x: f(x) + x)
    assert tag == "edit"  # by a rule (mutants.py), whose sentence is true of both


def only(step, tmp_path, twin, edits, *answer, **names):
    """Return the name of the mistake of f and g, in a check of one function."""
    path = tmp_path / "check.py"
    path.write_text(f"# THE EXERCISE IN LOOPS\n{twin}\n# THE CHECK\n")
    checks = {"__file__": str(path), "SPOILED": edits, "np": np} | names
    step = types.FunctionType(step.__code__, checks)
    step.step, step.title = "values", "f"
    functions = dict(zip("fg", answer))
    my = Harness("X.1", functions, dict.fromkeys(functions, ["x"]), tmp_path / "a.py")
    return run_function(step, my).tag


@pytest.mark.parametrize("limit, name", [(3, "small"), (4, "four")])
def test_a_condition_that_the_edit_meets_gives_no_name(tmp_path, limit, name):
    """The sentences are the same whether the condition holds or not."""

    def step(my, rng):
        my.holds(my.f(0) > my_limit, "small", "expected more", "found less")  # noqa: F821

    twin, edits = "def f(x):\n    return 3", [("four", "4", "", "return 3", "return 4")]
    assert only(step, tmp_path, twin, edits, lambda x: 2, my_limit=limit) == name


def test_an_edit_that_passes_the_comparison_is_no_name(tmp_path):
    """Of positive numbers, |x| x is x^2; the answer is right, but in float32."""

    def step(my, rng):
        my.equal(my.f(np.arange(3.0)), np.arange(3.0) ** 2)
        my.equal(my.f(-np.arange(3.0)), np.arange(3.0) ** 2)

    twin, edits = "def f(x):\n    return x**2", [("abs", "", "", "x**2", "abs(x) * x")]
    assert only(step, tmp_path, twin, edits, lambda x: abs(x) * x) == "abs"
    assert only(step, tmp_path, twin, edits, lambda x: np.float32(x**2)) == "float32"


@pytest.mark.parametrize("half, name", [("n / 2", "half"), ("1.5", "unknown")])
def test_an_edit_that_agrees_for_one_size_only_is_no_name(tmp_path, half, name):
    """n is 3 first, and n / 2 is 1.5."""

    def step(my, rng):
        for n in (3, 5):
            x = rng.normal(size=4)
            my.equal(my.f(x, n), x + np.cos(x) / n)

    twin = "def f(x, n):\n    return x + np.cos(x) / n"
    edits = [("half", "", "", "/ n", "/ (n / 2)")]
    answer = eval(f"lambda x, n: x + np.cos(x) / ({half})", {"np": np})
    assert only(step, tmp_path, twin, edits, answer) == name


def test_a_mistake_of_another_function_takes_no_name_away(tmp_path):
    def step(my, rng):
        x = rng.normal(size=4)
        my.equal(my.f(x), x**2)
        my.equal(my.g(x), x**3)

    twin = "def f(x):\n    return x**2\ndef g(x):\n    return x**3"
    edits, names = [("root", "", "", "x**2", "x"), ("one", "", "", "x**3", "x")], []
    for g in (lambda x: x**3, lambda x: x**5):
        names.append(only(step, tmp_path, twin, edits, lambda x: x, g))
    assert names == ["root", "root"]


def test_an_edit_whose_gradients_are_right_is_no_name(tmp_path):
    """The backward is wrong in its second call only; the edit concerns negative x."""

    def step(my, rng):
        my.gradients(my.f, [np.arange(1.0, 4.0)], ["x"])

    twin = """def f(x):
    def backward(g):
        return g * (2 * x)
    return x**2, backward"""
    edits = [("abs", "", "", "2 * x", "2 * abs(x)"), ("half", "", "", "(2 * x)", "x")]

    def answer(x):
        calls = []

        def backward(g):
            calls.append(g)
            return g * 2 * x * len(calls)

        return x**2, backward

    def halved(x):
        return x**2, lambda g: g * x

    assert only(step, tmp_path, twin, edits, answer) != "abs"
    assert only(step, tmp_path, twin, edits, halved) == "half"


def test_the_sentence_of_an_edit_replaces_a_longer_one_which_the_report_has_folded():
    failed = run(find("38.3"), answer("38.3", "if scaled:", "if not scaled:"))[1]
    assert failed.tag == "inverted" and "other places" not in " ".join(failed.lines)


def test_the_name_and_the_hint_of_a_row_are_texts_because_no_check_runs_for_a_hint(
    tmp_path,
):
    exercise = types.SimpleNamespace(check=tmp_path / "check.py")
    text = 'WHY = "Why?"\nSPOILED = [("a", "b", {}, "old", "new")]\n'
    exercise.check.write_text(text.format("WHY"))
    assert hints.own_hints(exercise) == {"a": ["Why?"]}
    for wrong in ("OTHER", "('x', 'y')"):
        exercise.check.write_text(text.format(wrong))
        with pytest.raises(StubError, match="line 2: expected"):
            hints.own_hints(exercise)


def test_an_edit_stands_in_the_loops_once():
    with pytest.raises(StubError, match="occurs 2 times"):
        twins.spoiled("a + a", "a", "b")


def test_a_named_result_is_compared_with_the_edits_unless_it_is_a_cost(tmp_path):
    my = Harness("X.1", {"f": f}, {"f": ["x"]}, tmp_path / "a.py")
    for block, is_compared in ((results.result("y"), True),
                               (measure.without_loops(), False)):  # fmt: skip
        with pytest.raises(CheckFailed) as failure, block:
            my.equal(my.f(np.ones(2)), np.zeros(2))
        assert (failure.value.place is not None) == is_compared
