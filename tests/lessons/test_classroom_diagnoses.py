"""A diagnosis rests on what was measured: no name without evidence for it."""

import numpy as np
import pytest

from lessons.classroom import audit, catalogue, child, diagnose, show, stubs
from lessons.classroom.failure import CheckFailed
from lessons.classroom.mine import Mine

from .classroom_cases import answer

X = np.random.default_rng(0).normal(size=(3, 5))


def mine(**functions):
    return Mine("9.9", functions, {}, "ex_9_9.py")


def report(call):
    with pytest.raises(CheckFailed) as caught:
        call()
    return caught.value


def failure_of(id, old, new):
    """The first failure of the reference answer to ``id`` with a change."""
    return audit.run(catalogue.find(id), answer(id, old, new))[1]


def test_nan_alone_is_no_evidence():
    nowhere = np.full(3, np.nan)
    wrong = [("overflow", "exp(e) / sum exp(e)", nowhere)]
    assert diagnose.of_values(nowhere, [0.1, 0.2, 0.7], wrong)[0] == "nan"
    at_the_end = np.array([0.0, 0.0, np.nan])
    wrong = [("overflow", "exp(e) / sum exp(e)", at_the_end)]
    assert diagnose.of_values(at_the_end, [0.0, 0.0, 1.0], wrong)[0] == "nan"
    assert diagnose.of_values(at_the_end, [0.1, 0.2, 0.7], wrong)[0] == "overflow"
    assert diagnose.of_variants(at_the_end, wrong) is None  # what is right is unknown


def test_a_variant_that_is_right_here_has_no_name():
    near = X * (1 + 1e-7)
    wrong = [("twin", "the same in another order", X * (1 + 1e-15))]
    assert diagnose.of_values(near, X, wrong)[0] != "twin"


def test_a_mask_leak_of_values_takes_a_mask():
    want = np.where(np.arange(5) % 2, X, 0.0)
    got, open_keys = want + 0.1 * (want == 0), want != 0
    assert diagnose.of_values(got, want)[0] != "mask-leak"
    assert diagnose.of_values(got, want, mask=open_keys)[0] == "mask-leak"
    assert diagnose.of_values(got, want, mask=np.ones_like(open_keys))[0] != "mask-leak"
    my = mine(f=lambda: got)
    assert report(lambda: my.equal(my.f(), want, mask=open_keys)).tag == "mask-leak"
    failed = failure_of("E.12", "and d > 0", "and d >= 0")
    assert failed.tag == "zero-distance" and "mask" not in " ".join(failed.lines)


def test_one_entry_is_no_complement():
    one = np.ones((1, 1), bool)
    assert diagnose.of_masks(~one, one)[0] == "unknown"
    every = np.ones((2, 3), bool)
    assert diagnose.of_masks(~every, every)[0] == "unknown"
    some = np.eye(2, 3, dtype=bool)
    assert diagnose.of_masks(~some, some)[0] == "complement"


def spread(x):
    own = np.broadcast_to(np.zeros(5), x.shape)
    own[0] = x[0]
    return own


def diagonal(x):
    own = np.zeros((3, 3))
    own.diagonal()[:] = x[0, 0]
    return own


def fill(x):
    own = np.broadcast_to(0.0, x.shape)
    np.copyto(own, x)
    return own


def halve(x):
    x /= 2
    return x


def turn(x):
    first = x.T[0]
    first[:] = 1
    return x


def multiply(x):
    return np.multiply(x, 2, out=x)


def later(x):
    def backward(g):
        x[0] = g[0]
        return g

    return x, backward


@pytest.mark.parametrize(
    "f, tag, text",
    [
        (spread, "read-only", "writes into a read-only array"),
        (diagonal, "read-only", "writes into a read-only array"),
        (fill, "read-only", "writes into a read-only array"),
        (halve, "mutates-input", "writes into an array that it was given"),
        (turn, "mutates-input", "writes into an array that it was given"),
        (multiply, "mutates-input", "writes into an array that it was given"),
        (lambda x: x.sort(), "mutates-input", "writes into an array that it was given"),
    ],
)
def test_an_argument_is_told_from_a_view_of_ones_own(f, tag, text):
    my = mine(f=f)
    failure = report(lambda: my.f(X))
    assert failure.tag == tag and text in failure.lines


def test_an_argument_of_an_earlier_call_is_one_too():
    my = mine(later=later)
    _, backward = my.later(X)
    assert report(lambda: backward(X)).tag == "mutates-input"


@pytest.mark.parametrize("exercise", catalogue.exercises(), ids=lambda e: e.id)
def test_a_hint_on_raises_could_not_know_which_function(exercise):
    text = exercise.solution.read_text(encoding="utf-8")
    assert "raises" not in stubs.author_part(text)["HINTS"]


def test_a_recursion_and_sizes_have_their_own_names():
    def deep(x):
        return deep(x)

    my = mine(f=deep)
    assert report(lambda: my.f(X)).tag == "recursion"
    assert failure_of("38.1", "H @ W_g.T  #", "H @ W_g  #").tag == "axes"
    assert failure_of("38.1", "projected = ", "projected = W_g or ").tag == "raises"


def told(exercise, path):
    """(exit code, the parts that a check says are not written yet)."""
    facts = []
    code = child.check(exercise, path, {"seed": 0}, lambda **f: facts.append(f))
    outcomes = [f["outcome"] for f in facts if "outcome" in f]
    waiting = [o["lines"][0] for o in outcomes if o["result"] == "unwritten"]
    return code, list(dict.fromkeys(waiting))


@pytest.mark.parametrize(
    "id", ["6.1", "6.3", "6.7", "6.8", "6.10", "E.10", "E.11", "E.14"]
)
def test_all_that_is_not_written_is_named(id):
    exercise = catalogue.find(id)
    solution = exercise.solution.read_text(encoding="utf-8")
    lines = {first for first, _ in stubs.find_regions(solution)}
    parts = [
        f"{id} {name}"
        for name, (first, last) in stubs.functions_of(solution).items()
        if any(first <= line <= last for line in lines)
    ]
    assert told(exercise, exercise.stub) == (3, parts)


def test_what_is_not_written_is_named_beside_a_failure(tmp_path):
    exercise, path = catalogue.find("6.1"), tmp_path / "ex_6_1.py"
    text = exercise.stub.read_text(encoding="utf-8")
    text = text.replace('raise NotWritten("6.1 weights")', "return e.mean()")
    path.write_text(text, encoding="utf-8")
    left = ["6.1 context", "6.1 context_backward", "6.1 is_uniform"]
    assert told(exercise, path) == (1, left)


def test_a_right_answer_may_leave_what_is_never_reached(tmp_path):
    exercise, path = catalogue.find("6.1"), tmp_path / "ex_6_1.py"
    spare = '\n\ndef spare():\n    raise NotWritten("6.1 spare")\n'
    path.write_text(answer("6.1") + spare, encoding="utf-8")
    assert told(exercise, path) == (0, [])


def test_a_line_below_a_return_is_not_left_to_write():
    text = 'def f(x):\n    return x\n    raise NotWritten("9.9 f")\n'
    assert stubs.unwritten(text) == []
    text = 'def f(x):\n    if x:\n        return x\n    raise NotWritten("9.9 f")\n'
    assert stubs.unwritten(text) == ["f"]


def test_indices_do_not_read_as_sizes():
    wrong = X.copy()
    wrong[1, 2] = 9.0
    lines = show.differences(wrong, X, wrong == X, ("S", "d_h"))
    assert lines[0] == "entry [1, 2]  (at S 1, d_h 2)"
    want = np.eye(5, dtype=bool)
    lines = show.differences(~want, want, np.eye(5, dtype=int) > 1, "TS")
    assert lines[0].startswith("row t=0:  expected s = 0 ")
    assert lines[3] == "and 2 more rows"
    lines = show.differences(~want[:4], want[:4], np.zeros((4, 5), bool), "TS")
    assert lines[3] == "and 1 more row"


def test_a_gradient_has_one_diagnosis():
    failed = failure_of("E.12", "np.add.at(dtable, b, ", "dtable[b] += (")
    text = " ".join(failed.lines)
    assert failed.tag == "overwrites" and text.count("[overwrites]") == 1
    assert "yours equals the last pair alone of each bucket" in text
    bank = (
        "3 of 5 entries differ\nin 3 entries yours is\none term  [block:last]\n    .#"
    )
    assert diagnose.with_sentence(bank, "d_x: y  [z]") == (
        "3 of 5 entries differ\nd_x: y  [z]\n    .#"
    )
    assert diagnose.with_sentence("not diagnosed", "y  [z]") == "not diagnosed\ny  [z]"


def test_a_factor_may_come_from_the_width_of_the_inputs():
    my = mine(f=lambda q: q @ q.T / 14**0.5)
    q = np.random.default_rng(1).normal(size=(3, 14))
    failure = report(lambda: my.equal(my.f(q), q @ q.T))
    assert failure.tag == "scale:1/sqrt(14)"
    assert "yours = 1/sqrt(14) x expected  [scale:1/sqrt(14)]" in failure.lines


def test_the_shape_of_a_gradient_says_whose_it_is():
    failed = failure_of("6.5", "d_pre.T @ H,", "H.T @ d_pre,")
    assert failed.lines[-3:] == [
        "expected shape (11, 5)  (d_a, d_h)",
        "found shape    (5, 11)",
        "of the gradient for W_h",
    ]


def test_an_overflow_of_a_log_is_no_empty_row():
    failed = failure_of("E.7", "base + np.log(np.exp(s - base[..., None])",
                        "np.log(np.exp(s)")  # fmt: skip
    assert failed.tag == "overflow" and "found inf, 1, " in failed.lines[-1]
