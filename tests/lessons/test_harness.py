"""The harness: what it calls, compares and refuses, and what its reports say."""

import types

import numpy as np
import pytest

from lessons import NotWritten
from lessons.classroom.checking import calls, diagnose, sequence
from lessons.classroom.checking.calls import is_changed, readonly
from lessons.classroom.checking.harness import Harness
from lessons.classroom.steps import CheckFailed, edges, shape, values
from lessons.classroom.theory import (
    Chain,
    Fraction,
    check_chain,
    equal,
    links_that_run,
    rationals,
    two_point_mean,
)

X = np.random.default_rng(0).normal(size=(3, 5))


def harness(signatures=None, **functions):
    return Harness("9.9", functions, signatures or {}, "ex_9_9.py")


def fails(tag, call, *sayings):
    """Assert that a call fails with a tag and sentences; return the report's lines."""
    with pytest.raises(CheckFailed) as caught:
        call()
    text = str(caught.value)
    assert caught.value.tag == tag, text
    for saying in sayings:
        assert saying in text, text
    assert all(len(line) <= 71 for line in text.splitlines())
    return caught.value.lines


# values


@pytest.mark.parametrize(
    "f, tag, saying",
    [
        (lambda x: None, "none", "nothing is returned"),
        (lambda x: [[1.0], [1.0, 2.0]], "type", "expected an array, found list"),
        (lambda x: {"y": x}, "type", "expected an array, found dict"),
        (lambda x: (-x).tolist(), "scale:-1", "15 of 15 entries differ"),
        (lambda x: x[0], "shape", "expected shape (3, 5)  (i, j)"),
        (lambda x: x.T, "transpose", "found shape    (5, 3)"),
        (lambda x: np.stack([x - 1, 1 + 0 * x]), "unbroadcast", "summed over axes [0]"),
        (lambda x: x.astype(np.float32), "float32", "expected float64"),
        (lambda x: x > 0, "dtype", "found bool"),
        (lambda x: 0 * x, "zero", "yours is 0 everywhere; expected is not"),
        (lambda x: np.where(x == x[1, 2], np.nan, x), "nan", "yours is nan at [1, 2]"),
        (lambda x: -x, "scale:-1", "15 of 15 entries differ"),
        (lambda x: x * 2.5, "scale:2.5", "in every entry"),
        (lambda x: x / 5**0.5, "scale:1/sqrt(5)", "yours = 1/sqrt(5) x expected"),
        (lambda x: x**2, "square", "yours equals the square"),
        (lambda x: x + 0.3 * np.cos(x), "unknown", "no known pattern"),
        (lambda x: x + (np.arange(5) == 4), "block:last of axis 1", "....#"),
        (lambda x: x * y, "raises", "NameError: name 'y'"),  # noqa: F821
        (lambda x: x.fill(0), "mutates-input", "writes into an array that it was"),
        (lambda x: np.multiply(x, 2, out=x), "mutates-input", "that it was given"),
        (lambda x: (lambda f: f(f))(lambda f: f(f)), "recursion", "RecursionError"),
    ],
)
def test_wrong_values_have_names(f, tag, saying):
    my = harness(f=f)
    wrong = [("square", "the square", lambda: X**2)]
    fails(tag, lambda: my.equal(my.f(X), X, "ij", wrong), saying, "f(x=float64 (3, 5))")


def test_float32_is_the_type_of_a_result_of_float32():
    my = harness(f=np.negative, g=lambda n: {"curve": X[0].astype("f4")})
    single = X.astype(np.float32)
    my.equal(my.f(single), -single.astype(float))
    my.shape(my.f(single), X.shape)
    found = my.g(3)["curve"]  # of a model of float32, for example
    my.shape(found, (5,))
    my.equal(found, X[0], rtol=1e-6)
    fails("float32", lambda: my.equal(found, X[0]), "yours differs from expected by")


def spread(x):
    own = np.broadcast_to(np.zeros(5), x.shape)
    own[0] = x[0]


def diagonal(x):
    own = np.zeros((3, 3))
    own.diagonal()[:] = x[0, 0]


def fill(x):
    own = np.broadcast_to(0.0, x.shape)
    np.copyto(own, x)


def test_a_view_of_ones_own_is_not_an_argument():
    for f in (spread, diagonal, fill):
        my = harness(f=f)
        fails("read-only", lambda my=my: my.f(X), "writes into a read-only array")


def test_right_values_pass():
    my = harness(f=lambda x: x, n=lambda: 3, t=lambda: np.True_)
    my.equal(my.f(X), X)
    my.equal(my.f(np.array([np.nan, np.inf, 1.0])), [np.nan, np.inf, 1.0])
    my.equal(my.n(), 3)
    my.equal(my.t(), True)
    my.equal(my.f(X) * (1 + 1e-12), X)
    my.shape(my.f(X), (3, 5))
    my.holds(True, "tag", "never printed")


@pytest.mark.parametrize(
    "f, want",
    [
        (lambda x: x.tolist(), X),
        (lambda x: list(x), X),
        (lambda x: tuple(x), X),
        (lambda x: [0, 1], np.array([0.0, 1.0])),
        (lambda x: [True, False], np.array([True, False])),
    ],
)
def test_a_list_of_rows_is_an_array(f, want):
    my = harness(f=f)
    my.equal(my.f(X), want)
    my.shape(my.f(X), want.shape, dtype=want.dtype)


def test_state_of_ones_own_may_change_in_place():
    def update(m, s):
        m += s
        return m

    my, m = harness(update=update), np.ones(5)
    said = fails("mutates-input", lambda: my.update(m, X[0]))
    assert "m += s" in " ".join(said) or "writes into" in " ".join(said)
    my._let_own({"update": ("m",)})
    my.equal(my.update(m, X[0]), 1 + X[0])
    my.equal(my.update(s=X[0], m=m), 1 + X[0])
    assert (m == 1).all()

    def backwards(m, s):
        s += m

    my = harness(update=backwards)
    my._let_own({"update": ("m",)})
    fails("mutates-input", lambda: my.update(m, X[0]), "that it was given")


def test_a_result_is_compared_with_the_arguments_of_its_own_call(tmp_path):
    """Two calls with equal shapes have the same text; the other one returns Y."""
    my, Y = harness(f=lambda x: (x, -x)), X[::-1] + 1
    both = my.f(X), my.f(Y)
    for (first, second), x in zip(both, (X, Y)):
        fails("unchanged", lambda: my.equal(first, np.tanh(x)), "yours equals x, un")
        my.save_case(tmp_path / "case.npz")
        assert np.array_equal(np.load(tmp_path / "case.npz")["x"], x)
        fails("swapped", lambda: my.equal(second, x), "result 1 of the call equals")
        row = second[1]  # a view of what a call returned
        fails("unknown", lambda: my.equal(row, x[1] ** 2))
        my.save_case(tmp_path / "case.npz")
        assert np.array_equal(np.load(tmp_path / "case.npz")["x"], x)
        report = fails("swapped", lambda: my.equal(second, x))
        function, [argument], options = my._calls.to_repeat(" ".join(report)).again
        assert np.array_equal(argument, x)


def test_zeros_are_compared_by_the_size_of_the_added_numbers():
    my = harness(f=lambda: np.full(3, 1e-15))
    with pytest.raises(CheckFailed):
        my.equal(my.f(), np.zeros(3))
    my.equal(my.f(), np.zeros(3), size=7)
    with pytest.raises(CheckFailed):
        my.equal(my.f() * 1e6, np.zeros(3), size=7)


def test_an_infinity_has_a_report():
    my, want = harness(f=lambda: np.zeros(2)), np.array([-np.inf, 0])
    fails("unknown", lambda: my.equal(my.f(), want), "expected  -inf", "found     +0")


def test_masks_are_shown_by_rows():
    want = np.eye(3, 5, dtype=bool)
    my = harness(f=lambda: want | (np.arange(5) == 4))
    row = "row t=0:  expected s = 0    found s = 0, 4"
    fails("unknown", lambda: my.equal(my.f(), want, "ts"), row, "3 of 15 entries")
    my = harness(f=lambda: ~want, g=lambda: want.T.copy())
    fails("complement", lambda: my.equal(my.f(), want, "ts"), "exchanged")
    fails("transpose", lambda: my.equal(my.g(), want, "ts"))


def test_indices_do_not_read_as_sizes_and_pictures_have_a_legend():
    wrong = X.copy()
    wrong[1, 2] = 9.0
    lines = diagnose.differences(wrong, X, wrong == X, ("S", "d_h"))
    assert lines[0] == "entry [1, 2]  (at S 1, d_h 2)"
    legend = "(# differs; the last axis runs to the right)"
    column = np.arange(15).reshape(3, 5) % 5 == 4
    assert diagnose.drawing(column)[0].splitlines()[-1].strip() == legend
    want = np.random.default_rng(1).normal(size=(3, 7, 5))
    wrong = want + (np.arange(5) == 4)
    drawn = diagnose.differences(wrong, want, wrong == want)[-1].splitlines()
    assert len(drawn) == 9 and "8 by 5 signs stand for 21 by 5 entries" in drawn[-1]
    call = calls.call_text("draw", ["n", "rng"], [3, np.random.default_rng(0)])
    assert call == "draw(n=3, rng=rng)"


# gradients


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def with_backward(d):
    def f(x):
        y = softmax(x)
        return y, lambda g: d(x, y, g)

    return f


def right(x, y, g):
    return y * (g - (g * y).sum(-1, keepdims=True))


@pytest.mark.parametrize(
    "d, tag, saying",
    [
        (lambda x, y, g: y * g, "softmax-nocentre", "d_x, entry"),
        (lambda x, y, g: -right(x, y, g), "scale:-1", "numeric"),
        (lambda x, y, g: 0 * g, "zero", "yours is 0"),
        (lambda x, y, g: x * g, "product", "d_x: yours equals x * g"),
        (lambda x, y, g: right(x, y, g) * (1 + (x == x[:1])), "block:top", "in top"),
        (lambda x, y, g: None, "none", "no gradient arrives"),
        (lambda x, y, g: g.sort() or g, "mutates-input", "backward(g=float64 (3,"),
        (lambda x, y, g: 1 + right(x, y, g), "not-linear", ""),
    ],
)
def test_wrong_gradients_have_names(d, tag, saying):
    my = harness(f=with_backward(d))
    known = {
        "variants": {"x": [("product", "x * g", lambda g: X * g)]},
        "blocks": {"x": {"top": np.s_[:1]}},
    }
    fails(tag, lambda: my.gradients(my.f, [X], **known), saying)


def test_right_gradients_pass_and_a_single_result_is_refused():
    my = harness(f=with_backward(right), g=lambda x: x)
    my.gradients(my.f, [X])
    fails("no-backward", lambda: my.gradients(my.g, [X]), "(array, backward)")


def test_lists_of_results_are_pairs_and_gradients():
    def product(a, b):
        return [(a * b).tolist(), lambda g: [g * b, (g * a).tolist()]]

    def one(a):
        return [a * 2, lambda g: (2 * g).tolist()]

    def single(a):
        return a * 2, lambda g: [2 * g]

    my = harness(product=product, one=one, single=single)
    my.gradients(my.product, [X, X + 1])
    my.gradients(my.one, [X])
    my.gradients(my.single, [X])
    my.gradients(my.single, [X[:1]])


def test_the_number_of_gradients_is_named():
    def product(a, b):
        return a * b, lambda g: g * b

    def more(a):
        return 2 * a, lambda g: (2 * g, g)

    my = harness(product=product, more=more)
    call = "backward of product(a=float64 (3, 5), b=float64 (3, 5))"
    said = fails("results", lambda: my.gradients(my.product, [X, X]), call)
    assert said[-2:] == ["expected 2 gradients: of a, b", "found 1"]
    fails("results", lambda: my.gradients(my.more, [X]), "expected 1 gradient: of a")


def test_the_entry_is_of_the_named_input():
    """Inputs are counted with the constant ones; a true gradient of 0 stays 0."""

    def f(k, a, b, c):
        def backward(g):
            d_a, d_b = g * b + 0.1 * a * a, g * a * (1 + (b == b[0]))
            return None, d_a, d_b, np.ones_like(c)

        return a * b, backward

    my, inputs = harness(f=f), [np.arange(3), X, X[::-1] + 3, X[0]]
    blocks = {"b": {"top": np.s_[:1]}}
    lines = fails(
        "block:top",
        lambda: my.gradients(my.f, inputs, no_gradient=(3,), blocks=blocks),
        "all wrong entries are in top",
        "d_b, entry [0, ",
    )
    assert "d_a, entry" not in " ".join(lines)
    with pytest.raises(CheckFailed, match="d_a, entry"):
        my.gradients(my.f, inputs, no_gradient=(3,))


# arguments


class Named(dict):
    """A dict of another class, as E.3's graphs are."""

    def __init__(self, title, pairs):
        super().__init__(pairs)
        self.title = title


GIVEN = Named("a graph", {"y": [("x", 3.0)], "x": [], "n": {"a": [1, 2, np.nan]}})


@pytest.mark.parametrize(
    "change",
    [
        lambda g: g["y"].append(1),
        lambda g: g.pop("x"),
        lambda g: g.update(z=[]),
        lambda g: g["y"].__setitem__(0, ("x", 4.0)),
        lambda g: g["n"]["a"].sort(reverse=True),
        lambda g: g["n"].update(array=np.ones(2)),
        lambda g: g.update(x=()),
    ],
)
def test_a_change_of_an_argument_is_noticed(change):
    given = readonly(Named("a graph", GIVEN | {"n": {**GIVEN["n"], "array": X[0]}}))
    before = readonly(given)
    assert not is_changed(before, given)
    change(given)
    assert is_changed(before, given)


def test_an_answer_that_changes_a_list_reads_which():
    def f(n, pairs, last=()):
        del pairs[-n:]
        return pairs

    my, given = harness(f=f), [1, 2, 3]
    for call in (lambda: my.f(1, given), lambda: my.f(1, pairs=given)):
        assert fails("mutates-input", call)[-1] == "changes its argument pairs"
    assert given == [1, 2, 3] and my.f(0, []) == []


def later(x):
    def backward(g):
        x[0] = g[0]
        return g

    return x, backward


def test_an_argument_of_an_earlier_call_counts_too():
    my = harness(later=later)
    _, backward = my.later(X)
    fails("mutates-input", lambda: backward(X), "writes into an array that it was")


# the steps


def test_every_function_must_be_there_with_its_parameters():
    signatures = {"score": ["q", "k"]}
    assert harness(signatures, score=lambda q, k: 0).written().result == "ok"
    outcome = harness(signatures, scores=lambda q, k: 0).written()
    assert outcome.tag == "missing" and "There is scores" in outcome.lines[-1]
    outcome = harness(signatures, score=3).written()
    assert outcome.lines == ["score is not a function: it is 3"]
    outcome = harness(signatures, score=lambda k, q: 0).written()
    assert outcome.tag == "signature" and outcome.lines[-1].endswith("score(k, q)")


def module(**actions):
    """A module of checks, each of which does what ``actions`` says."""
    checks, marks = types.ModuleType("checks"), dict(shape=shape, values=values)
    marks["edges"] = edges
    for name, action in actions.items():

        def check(my, rng, action=action):
            action()

        check.__name__ = name
        setattr(checks, name, marks[name.split("_")[0]](name)(check))
    return checks


def fine():
    pass


def wrong():
    raise CheckFailed("tag", "a line")


def todo():
    raise NotWritten("9.9 f")


def test_a_failed_step_is_finished_and_is_the_last():
    checks = module(edges_a=fine, values_a=wrong, values_b=fine, shape_a=fine)
    checks.Optimizer = type("Fake", (), {"step": fine})  # has a step, is no function
    assert [(o.title, o.result) for o in sequence.run_steps(checks, harness())] == [
        ("functions", "ok"),
        ("shape_a", "ok"),
        ("values_a", "failed"),
        ("values_b", "ok"),
    ]


@pytest.mark.parametrize(
    "actions, code",
    [
        ({"shape_a": fine, "values_a": fine}, 0),
        ({"shape_a": todo, "values_a": fine}, 3),
        ({"shape_a": todo, "values_a": wrong, "edges_a": fine}, 1),
    ],
)
def test_the_exit_code(actions, code):
    assert sequence.exit_code(list(sequence.run_steps(module(**actions), harness()))) == code


def test_a_result_that_the_check_cannot_use_has_a_report():
    def unpack(my, rng):
        y, backward = my.f(X)

    def add(my, rng):
        return 1 + my.f(X)

    def run(check, f):
        outcome = sequence.run_function(values("t")(check), harness(f=f))
        return outcome.tag, outcome.lines

    call = "f(x=float64 (3, 5))"
    expected = "results", [call, "expected 2 results", "found 1"]
    assert run(unpack, lambda x: (x,)) == expected
    tag, lines = run(unpack, lambda x: (x, x, x))
    assert tag == "results" and lines[1] == "expected 2 results"
    assert lines[2] in ("found 3", "found more")
    tag, lines = run(add, lambda x: "a")
    assert (tag, lines[0]) == ("raises", call) and lines[1].startswith("TypeError")
    assert lines[2] == "at this line of the check:  return 1 + my.f(X)"


def test_an_exception_of_the_machinery_is_a_fault_of_the_check(monkeypatch):
    monkeypatch.setattr(diagnose, "differences", None)
    compared = values("t")(lambda my, rng: my.equal(my.f(X), 2 * X))
    outcome = sequence.run_function(compared, harness(f=lambda x: x))
    assert (outcome.result, outcome.tag) == ("failed", "check-fault")
    assert outcome.lines[0] == "the check itself failed; your answer may be right"
    assert "not callable" in outcome.lines[1] and "harness.py" in outcome.lines[2]
    absent = values("t")(lambda my, rng: my.g(X))
    outcome = sequence.run_function(absent, harness(f=lambda x: x))
    assert outcome.tag == "raises" and "9.9 has no g" in outcome.lines[0]


def test_every_function_of_a_check_draws_its_own_numbers():
    seen = []
    function = values("t")(lambda my, rng: seen.append(rng.normal()))
    for seed in (0, 0, 1):
        sequence.run_function(function, harness(), seed)
    function.__name__ = "another"
    sequence.run_function(function, harness(), 0)
    assert seen[0] == seen[1] != seen[2] and seen[3] != seen[0]


def test_a_law_shows_the_call_that_it_is_about():
    def refuses(n):
        raise ValueError("no")

    my = harness(f=lambda x: x, g=lambda h: h(), refuses=refuses)

    def law(**options):
        return fails("tag", lambda: my.holds(False, "tag", "expected", **options))[0]

    assert law() == "expected"  # there was no call yet
    my.f(1)
    fails("raises", lambda: my.refuses(2))
    assert law() == "refuses(n=2)"  # it has raised, and is the last
    assert my.g(lambda: my.f(3) and law()) == "f(x=3)"  # inside a callback
    assert law().startswith("g(h=")  # f was inside it
    assert law(call="f") == "f(x=3)" and law(call="refuses") == "refuses(n=2)"
    assert law(call="f after g") == "f after g"


# theory


def square(a, b):
    return (a + b) ** 2


def test_a_chain_of_expressions_finds_the_false_step():
    def draw():
        return rationals(np.random.default_rng(0), 2)

    def check(chain):
        return lambda: check_chain(harness(), chain, square, square, draw)

    start = Chain(square, "a square")
    check(
        Chain(square, "a square").then(
            lambda a, b: a * a + 2 * a * b + b * b, "binomial"
        )
    )()
    dream = Chain(square, "a square").then(lambda a, b: a * a + b * b, "a dream")
    fails("false-link", check(dream), "a dream")
    fails("chain-repeats", check(start.then(square, "again")), "the same expression")
    fails("chain", check([square]), "found list")
    for silent in ("", " ", None):
        fails("no-reason", check(Chain(square, silent)), "with link 1")
    bad = Chain(square, "a square").then(lambda a, b: a * b / (a - a), "a quotient")
    for call in (check(bad), lambda: links_that_run(harness(), bad, draw())):
        lines = fails("link-raises", call, "ZeroDivisionError")
        assert lines[0].startswith("expected a value of link 2, at a ")


def test_fractions_are_compared_exactly_and_floats_up_to_rounding():
    third = np.array(Fraction(1, 3))
    assert equal(third, third) and equal(third, np.array(1 / 3))
    assert not equal(third, np.array(Fraction(1, 3) + Fraction(1, 10**12)))
    assert not equal(third, np.array(0.3334)) and not equal(third, X)
    assert not equal(third, np.array(None)) and not equal(
        third, np.array("one", object)
    )
    [a, b] = rationals(np.random.default_rng(1), 2)
    assert two_point_mean(lambda x: x[0] * x[1], [a, b], [2, 3]) == a * b
    assert two_point_mean(lambda x: (x[0] - a) ** 2, [a, b], [2, 3]) == 4
