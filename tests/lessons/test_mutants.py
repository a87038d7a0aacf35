"""A mistake that nobody wrote down is named by an edit of the exercise in loops."""

import re
import time

import numpy as np
import pytest

from lessons.classroom import catalogue
from lessons.classroom.authors.audit import run
from lessons.classroom.checking import mutants, twins
from lessons.classroom.checking.harness import Harness, load_checks
from lessons.classroom.checking.sequence import run_function

from .classroom_cases import answer

E_9 = catalogue.find("E.9")
TEXT = twins.text_of(vars(load_checks(E_9)))
D_V = "dv[i] += dz * t[n, i]"


@pytest.fixture(autouse=True)
def any_machine(monkeypatch):
    """Search longer than a learner waits: a slow machine finds the same names."""
    monkeypatch.setattr(mutants, "SECONDS", 30.0)


CHECK = '''
import numpy as np
from lessons.classroom.steps import values
# THE EXERCISE IN LOOPS
def f(x, n):
    return np.array([v**3 + n * np.cos(v) for v in x])
# THE CHECK
SPOILED = []
@values("of drawn numbers")
def drawn(my, rng):
    for n in (3, 5):
        x = rng.normal(size=4)
        my.equal(my.f(x, n), f(x, n))
'''
SIZES = '''
def f(x, y, W):
    z = (x @ W.T).sum(axis=0)
    if len(x) < len(y):
        z -= y
    return z
'''


@pytest.mark.parametrize(
    "old, new, change",
    [
        (D_V, "dv[i] += dz", "without the factor t[n, i] in dv"),
        (D_V, "dv[i] += dz * t[n, i] ** 2",
         "with dz * t[n, i] ** 2 for dz * t[n, i] in dv"),
        (D_V, "dv[i] = dz * t[n, i]", "with = for += in dv"),
        (D_V, "dv[i] += dz / t[n, i]", "with dz / t[n, i] for dz * t[n, i] in dv"),
        (D_V, "dv[i] += dz * t[i, n]", "with t[i, n] for t[n, i] in dv"),
        (D_V, "dv[i] += g[n] * t[n, i]", "with g[n] * t[n, i] for dz * t[n, i] in dv"),
        ("/ (D / 2) ** 2", "", "without the factor 1 / ((D / 2) ** 2) in d_p"),
        ("- p[t]", "+ p[t]", "with position[t, n] + p[t] for position[t, n] - p[t] in "
         "distance"),
        ("position[t, n] - p[t]", "p[t] - position[t, n]", "with p[t] - position[t, n] "
         "for position[t, n] - p[t] in distance"),
        ("(D / 2) ** 2", "(D / 2) ** 3", "with (D / 2) ** 3 for (D / 2) ** 2 in d_p"),
        ("S / (1 + math.exp(-z))", "-(S / (1 + math.exp(-z)))",
         "with the other sign in p"),
        ("return p, backward", "return t, backward", "with t for p in the result of "
         "centre"),
        ("axis=0", "axis=1", "with 1 for 0 in z"),
        ("W.T", "W", "with W for W.T in z"),
        ("x @ W.T", "x.T @ W.T", "with x.T @ W.T for x @ W.T in z"),
        ("x @ W.T", "W.T @ x", "with W.T @ x for x @ W.T in z"),
        ("len(x) < len(y)", "len(x) <= len(y)",
         "with len(x) <= len(y) for len(x) < len(y) in f"),
    ],
)  # fmt: skip
def test_each_rule_edits_one_place_and_says_where(old, new, change):
    text = TEXT if old in TEXT else SIZES
    plain = re.compile(r"[()\s]")  # an edit has more brackets
    wanted = plain.sub("", text.replace(old, new))
    found = {
        plain.sub("", edited): sentence
        for _, sentence, edited in mutants.edits(text, {"gaussian", "centre", "f"})
    }
    assert found[wanted] == f"the right answer {change}"


@pytest.mark.parametrize(
    "old, new, change",
    [
        ("return g * bell", "return g / bell",
         "with g[t, n] / bell[t, n] for g[t, n] * bell[t, n] in d_align"),
        ("* v * (1", "/ v * (1", "with dz / v[i] for dz * v[i] in inside"),
        ("(1 - t * t)", "(2 - t * t)",
         "with 2 - t[n, i] ** 2 for 1 - t[n, i] ** 2 in inside"),
        ("(1 - t * t)", "(1 - t**3)", "with t[n, i] ** 3 for t[n, i] ** 2 in inside"),
        ("(1 - p / S)", "(1 + p / S)", "with 1 + p[n] / S for 1 - p[n] / S in dz"),
        ("S / (1 + np.exp", "S / (2 + np.exp",
         "with 2 + math.exp(-z) for 1 + math.exp(-z) in p"),
        ("dz @ t", "g @ t", "with g[n] * t[n, i] for dz * t[n, i] in dv"),
    ],
)  # fmt: skip
def test_a_natural_mistake_has_a_true_sentence(old, new, change):
    failed = run(E_9, answer("E.9", old, new))[1]
    assert f"yours equals the right answer {change} [edit]" in re.sub(
        r"\s+", " ", " ".join(failed.lines)
    )


@pytest.mark.parametrize(
    "first, second",
    [
        (("(1 - p / S)", "(1 + p / S)"), ("(1 - t * t)", "(1 - t**3)")),
        (("(1 - t * t)", "(2 - t * t)"), ("dz @ t", "dz @ t**5")),
        (("* v * (1", "/ v * (1"), ("(1 - t * t)", "(2 - t * t)")),
    ],
)
def test_two_mistakes_have_no_name_of_one(first, second):
    assert run(E_9, answer("E.9", *first).replace(*second))[1].tag == "unknown"


def test_an_edit_that_agrees_for_one_size_only_is_no_name(tmp_path):
    """For n = 3, which is compared first, n + 2 is 5."""
    path = tmp_path / "check.py"
    path.write_text(CHECK)
    checks = {"__file__": str(path)}
    exec(CHECK, checks)

    def tag(f):
        my = Harness("X.1", {"f": f}, {"f": ["x", "n"]}, tmp_path / "a.py")
        return run_function(checks["drawn"], my).tag

    assert tag(lambda x, n: x**5 + n * np.cos(x)) == "edit"
    assert tag(lambda x, n: x ** (n + 2) + n * np.cos(x)) == "unknown"


def test_the_search_ends_in_time(monkeypatch):
    monkeypatch.setattr(mutants, "SECONDS", 0.2)
    start = time.process_time()
    failed = run(E_9, answer("E.9", "(1 - t * t)", "np.cosh(t)"))[1]
    assert failed.tag == "unknown"
    assert time.process_time() - start < 2.0
    monkeypatch.setattr(mutants, "edits", lambda *_: [("f", "", "while True: pass\n")])
    assert run(E_9, answer("E.9", "dz @ t", "g @ t"))[1].tag == "unknown"
