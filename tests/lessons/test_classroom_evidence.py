"""No name without evidence: infinities, what is nearly right, and two entries.

And right answers, written in other ways than ours.
"""

import numpy as np
import pytest

import minigrad as mg
from lessons.classroom import audit, catalogue, child, diagnose, theory
from lessons.classroom.failure import CheckFailed
from lessons.classroom.mine import Mine
from minigrad.checking.diagnosis import Case
from minigrad.checking.diagnosis import diagnose as of_case
from minigrad.checking.hypotheses import same

from .classroom_cases import answer

X = np.random.default_rng(0).normal(size=(3, 5))


def with_an(entry, at=(0, 1)):
    found = X.copy()
    found[at] = entry
    return found


@pytest.mark.parametrize("entry", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_like_nothing(entry):
    bad, sevens = with_an(entry), np.full((3, 5), 7.0)
    with np.errstate(all="raise"):
        assert not same(bad, sevens) and not same(sevens, bad) and not same(bad, bad)
    wrong = [("sevens", "seven everywhere", sevens)]
    assert diagnose.of_variants(bad, wrong) is None
    assert diagnose.of_values(bad, X, wrong)[0] == "nan"
    case = Case(bad, X, variants=[("sevens", "yours is seven", lambda: sevens)])
    assert of_case(case).tag == "nan"


def test_a_gradcheck_makes_nothing_of_an_infinity():
    def op(x):
        return np.tanh(x), lambda g: np.where(x == X[0, 1], np.inf, g * (1 - x * x))

    result = mg.gradcheck(mg.lift(op), [X])
    assert result.tag == "nan"
    known = {"x": [("sevens", "seven everywhere", lambda g: np.full((3, 5), 7.0))]}
    assert diagnose.of_backward(op, [X], ["x"], 0, variants=known) is None


@pytest.mark.parametrize(
    "off, tag", [(1e-8, "float32"), (3e-7, "float32"), (3e-11, "nearly")]
)
def test_what_is_nearly_right_is_no_multiple_and_not_turned(off, tag):
    symmetric = X @ X.T
    found, sentence = diagnose.of_values((1 + off) * symmetric, symmetric)
    assert found == tag and f"by {off:.0e} of the largest entry" in sentence
    assert ("float32" in sentence) == (tag == "float32")
    assert of_case(Case((1 + off) * X, X)).tag == "unknown"
    assert of_case(Case((1 + 1e-4) * X, X)).tag == "scale:1.0001"


def test_a_factor_of_two_entries_is_by_chance():
    one, two = np.array(0.25), np.array([0.25, -0.25])
    for want in (one, two):
        for k in (0.5, -1, 2):
            assert diagnose.of_values(k * want, want)[0] == "unknown"
    assert diagnose.of_values(X[0, :3] / 2, X[0, :3])[0] == "scale:1/2"
    old = "y * (g - (g * y).sum(-1, keepdims=True))"
    spoilt = answer("E.2", old, f"(1 - y) * {old}")
    assert audit.run(catalogue.find("E.2"), spoilt)[1].tag == "unknown"


RIGHT = [
    ("38.2", "x - x.mean(axis=-1, keepdims=True)",
     "x @ (__import__('numpy').eye(x.shape[-1]) - 1 / x.shape[-1])"),
    ("38.6", "(s @ W_g @ h1 + s @ W_g @ h3) / 2",
     "0.5 * (s @ W_g @ h1 + s @ W_g @ h3)"),
    ("38.6", "s @ W_g @ (h1 + h3) / 2", "s @ W_g @ (h1 + h3) * 0.5"),
    ("6.2", "return np.eye(d)", "return np.identity(d, dtype=int)"),
    ("6.1", "bool(np.all(e == e[0]))", "np.unique(e).size == 1"),
    ("6.10", "(p * (e - mean) ** 2).sum(-1)", "(p * e**2).sum(-1) - mean[..., 0] ** 2"),
    ("E.4", "np.all(np.abs(yours - numeric) <= 1e-5 * scale)",
     "np.allclose(yours, numeric, rtol=1e-4, atol=1e-9 * scale)"),
]  # fmt: skip


@pytest.mark.parametrize("id, old, new", RIGHT)
def test_a_right_answer_passes(id, old, new):
    assert audit.run(catalogue.find(id), answer(id, old, new)) == (0, None)


@pytest.mark.parametrize(
    "id, old, new, tag",
    [
        ("38.3", "variance / 2", "variance**0.5 / 2", "deviation"),
        ("38.5", "np.abs(s - p) <= D", "np.abs(s - p) <= D / 2", "half-width"),
        ("6.4", "e.max(axis=-1, keepdims=True)", "e.max()", "whole-maximum"),
        ("6.2", "return np.eye(d)", "return np.ones((d, d), int)", "ones"),
        ("38.6", "+ s @ W_g @ h3) / 2", "+ s @ W_g @ h3) * 0.51", "arrives-elsewhere"),
    ],
)
def test_a_mistake_has_its_own_name(id, old, new, tag):
    code, failed = audit.run(catalogue.find(id), answer(id, old, new))
    assert (code, failed.tag) == (1, tag)


def test_fractions_are_exact_and_floats_are_rounded():
    third = np.array(theory.Fraction(1, 3))
    near = theory.Fraction(1, 3) + theory.Fraction(1, 10**12)
    assert theory.equal(third, third) and not theory.equal(third, np.array(near))
    assert theory.equal(third, np.array(1 / 3)) and theory.equal(
        third, np.array(1 / 3, object)
    )
    assert not theory.equal(third, np.array(0.3334))
    assert not theory.equal(third, np.array(None)) and not theory.equal(third, X)
    assert not theory.equal(np.array(1.0), np.array("one", object))


def outcome(path, text):
    path.write_bytes(text)
    facts = []
    exercise = catalogue.find("38.5")
    code = child.check(exercise, path, {"seed": 0}, lambda **f: facts.append(f))
    failed = [f["outcome"] for f in facts if "outcome" in f]
    return code, [o for o in failed if o["result"] != "ok"]


def test_a_file_may_begin_with_the_mark_of_its_encoding(tmp_path):
    path, stub = tmp_path / "ex_38_5.py", catalogue.find("38.5").stub
    assert outcome(path, answer("38.5").encode("utf-8-sig")) == (0, [])
    code, waiting = outcome(path, stub.read_text("utf-8").encode("utf-8-sig"))
    assert code == 3 and len({o["lines"][0] for o in waiting}) == 3


def test_a_nul_byte_has_a_line(tmp_path):
    code, [failed] = outcome(tmp_path / "a.py", answer("38.5").encode() + b"a\n\0b")
    lines = answer("38.5").count("\n") + 2
    assert failed["lines"][1:] == [f"line {lines} has a NUL byte in it"]


def test_what_is_no_function_is_said_to_be_there(tmp_path):
    _, [failed] = outcome(
        tmp_path / "a.py", answer("38.5").encode() + b"local_mask = 3"
    )
    assert failed["lines"] == ["local_mask is no function: it is 3"]
    assert failed["tag"] == "missing"


def test_a_gradient_has_the_name_of_the_function_that_returned_it():
    spoilt = answer("6.1", "np.outer(alpha, g)", "np.outer(alpha, g) / 2")
    lines = audit.run(catalogue.find("6.1"), spoilt)[1].lines
    assert lines[0].startswith("context_backward(alpha=") and "context(" not in lines


def test_zeros_are_compared_by_the_size_of_what_was_added():
    my = Mine("9.9", {"f": lambda: np.full(3, 1e-15)}, {}, "ex_9_9.py")
    with pytest.raises(CheckFailed):
        my.equal(my.f(), np.zeros(3))
    my.equal(my.f(), np.zeros(3), size=7)
    with pytest.raises(CheckFailed):
        my.equal(my.f() * 1e6, np.zeros(3), size=7)
