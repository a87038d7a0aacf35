"""A diagnosis rests on what was measured: no name without evidence."""

import pathlib
import re

import numpy as np
import pytest

import minigrad as mg
from lessons.classroom.catalogue import LESSONS
from lessons.classroom.checking import diagnose, harness, hypotheses
from lessons.classroom.checking.diagnose import of_masks, of_values, of_variants
from lessons.classroom.learner.hints import FOR_KNOWN_MISTAKES
from minigrad.checking.diagnosis import Case
from minigrad.checking.diagnosis import diagnose as of_case
from minigrad.checking.hypotheses import same

RAISED = re.compile(r'(?:CheckFailed|holds|fail)\(\s*(?:[^"()]*,)?\s*"([a-z0-9-]+)"')
GENERAL = [
    *pathlib.Path(diagnose.__file__).parent.glob("[!t]*.py"),  # theory: 38.6
    *(LESSONS / "checks" / f"{name}.py" for name in ("own_work", "results", "measure")),
]
X = np.random.default_rng(0).normal(size=(3, 5))
SEVENS = np.full((3, 5), 7.0)


@pytest.mark.parametrize("entry", [np.inf, -np.inf, np.nan])
def test_an_infinite_entry_equals_nothing(entry):
    bad = X.copy()
    bad[0, 1] = entry
    with np.errstate(all="raise"):
        assert not same(bad, SEVENS) and not same(SEVENS, bad) and not same(bad, bad)
    wrong = [("sevens", "seven everywhere", SEVENS)]
    assert of_variants(bad, wrong) is None
    assert of_values(bad, X, wrong)[0] == "nan"
    case = Case(bad, X, variants=[("sevens", "yours is seven", lambda: SEVENS)])
    assert of_case(case).tag == "nan"


def test_nan_alone_is_no_evidence():
    nowhere, last = np.full(3, np.nan), np.array([0.0, 0.0, np.nan])

    def tag(got, want):
        return of_values(got, want, [("overflow", "exp(e) / sum exp(e)", got)])[0]

    assert tag(nowhere, [0.1, 0.2, 0.7]) == "nan"
    assert tag(last, [0.0, 0.0, 1.0]) == "nan"
    assert tag(last, [0.1, 0.2, 0.7]) == "overflow"


def test_a_gradient_with_an_infinity_is_nan():
    def op(x):
        return np.tanh(x), lambda g: np.where(x == X[0, 1], np.inf, g * (1 - x * x))

    assert mg.gradcheck(mg.lift(op), [X]).tag == "nan"
    known = {"x": [("sevens", "seven everywhere", lambda g: SEVENS)]}
    found = diagnose.of_gradients(op, [X], ["x"], variants=known)
    assert found[0] == "nan" and "sevens" not in found[1]


def test_a_variant_that_is_right_here_has_no_name():
    wrong = [("twin", "the same in another order", X * (1 + 1e-15))]
    assert of_values(X * (1 + 1e-7), X, wrong)[0] != "twin"


@pytest.mark.parametrize(
    "off, tag", [(1e-8, "nearly"), (3e-7, "nearly"), (3e-11, "nearly")]
)
def test_nearly_right_values_are_no_multiple_and_not_transposed(off, tag):
    symmetric = X @ X.T
    found, sentence = of_values((1 + off) * symmetric, symmetric)
    assert found == tag and f"by {off:.0e} of the largest entry" in sentence
    assert of_case(Case((1 + off) * X, X)).tag == "unknown"
    assert of_case(Case((1 + 1e-4) * X, X)).tag == "scale:1.0001"


def test_a_factor_of_one_or_two_entries_is_chance():
    for want in (np.array(0.25), np.array([0.25, -0.25])):
        for k in (0.5, -1, 2):
            assert of_values(k * want, want)[0] == "unknown"
    assert of_values(X[0, :3] / 2, X[0, :3])[0] == "scale:1/2"


def test_a_mask_leak_needs_a_mask():
    want = np.where(np.arange(5) % 2, X, 0.0)
    got, allowed = want + 0.1 * (want == 0), want != 0
    assert of_values(got, want)[0] != "mask-leak"
    assert of_values(got, want, mask=allowed)[0] == "mask-leak"
    assert of_values(got, want, mask=np.ones_like(allowed))[0] != "mask-leak"


def test_a_constant_mask_has_no_complement():
    every, some = np.ones((2, 3), bool), np.eye(2, 3, dtype=bool)
    assert of_masks(~every, every)[0] == "unknown"
    assert of_masks(~some, some)[0] == "complement"


def test_every_general_mistake_has_a_hint():
    texts = [file.read_text("utf-8") for file in GENERAL]
    raised = {tag for text in texts for tag in RAISED.findall(text)}
    assert {"results", "dtype", "no-backward", "patches"} <= raised
    raised |= {"swapped", "type", "empty", "differences"}
    assert raised <= {*FOR_KNOWN_MISTAKES, "unknown"}
    text = pathlib.Path(hypotheses.__file__).read_text("utf-8")
    known = {tag for tag, _, _ in hypotheses.ELEMENTWISE}
    known |= set(re.findall(r'return f?"([a-z]+-?[a-z0-9-]*)", ', text))
    known |= {*harness.SUMS, "flipped", "off-by-one", "offset", "plain-softmax"}
    assert len(known) > 24 and known <= {*FOR_KNOWN_MISTAKES}
