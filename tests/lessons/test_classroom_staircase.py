"""The harness of the checks: what it expects of an answer, and what it says."""

import types

import numpy as np
import pytest

from lessons import NotWritten
from lessons.classroom import staircase
from lessons.classroom.failure import CheckFailed
from lessons.classroom.mine import Mine
from lessons.classroom.staircase import edges, shape, values
from lessons.classroom.theory import Chain, check_chain, rationals, two_point_mean


def mine(signatures=None, **functions):
    return Mine("9.9", functions, signatures or {}, "ex_9_9.py")


X = np.random.default_rng(0).normal(size=(3, 5))


def fails(tag, call, *sayings):
    with pytest.raises(CheckFailed) as caught:
        call()
    text = str(caught.value)
    assert caught.value.tag == tag, text
    for saying in sayings:
        assert saying in text
    assert all(len(line) <= 72 for line in text.splitlines())


@pytest.mark.parametrize(
    "f, tag, saying",
    [
        (lambda x: None, "none", "nothing is returned"),
        (lambda x: x.tolist(), "type", "expected an array, found list"),
        (lambda x: x[0], "shape", "expected shape (3, 5)  (i, j)"),
        (lambda x: x.T, "transpose", "found shape    (5, 3)"),
        (lambda x: np.stack([x - 1, 1 + 0 * x]), "unbroadcast", "summed over axes [0]"),
        (lambda x: x.astype(np.float32), "float32", "expected float64"),
        (lambda x: x > 0, "dtype", "found bool"),
        (lambda x: 0 * x, "zero", "yours is 0 everywhere; expected is not"),
        (lambda x: np.where(x == x[1, 2], np.nan, x), "nan", "yours is nan at [1, 2]"),
        (lambda x: -x, "scale:-1", "15 of 15 entries differ"),
        (lambda x: x * 2.5, "scale:2.5", "in every entry"),
        (lambda x: x**2, "square", "yours equals the square"),
        (lambda x: x + 0.3 * np.cos(x), "unknown", "no known pattern"),
        (lambda x: x + (np.arange(5) == 4), "block:last of axis 1", "....#"),
        (lambda x: x * y, "raises", "NameError: name 'y'"),  # noqa: F821
        (lambda x: x.fill(0), "mutates-input", "writes into an array"),
    ],
)
def test_wrong_values_have_names(f, tag, saying):
    my = mine(f=f)
    wrong = [("square", "the square", lambda: X**2)]
    fails(tag, lambda: my.equal(my.f(X), X, "ij", wrong), saying, "f(x=float64 (3, 5))")


def test_right_values_pass():
    my = mine(f=lambda x: x, n=lambda: 3, t=lambda: np.True_)
    my.equal(my.f(X), X)
    my.equal(my.f(np.array([np.nan, np.inf, 1.0])), [np.nan, np.inf, 1.0])
    my.equal(my.n(), 3)
    my.equal(my.t(), True)
    my.equal(my.f(X) * (1 + 1e-12), X)
    my.shape(my.f(X), (3, 5))
    my.holds(True, "tag", "never said")


def test_masks_are_shown_by_rows():
    want = np.eye(3, 5, dtype=bool)
    my = mine(f=lambda: want | (np.arange(5) == 4))
    row = "row t=0:  expected s = 0    found s = 0, 4"
    fails("unknown", lambda: my.equal(my.f(), want, "ts"), row, "3 of 15 entries")
    my = mine(f=lambda: ~want, g=lambda: want.T.copy())
    fails("complement", lambda: my.equal(my.f(), want, "ts"), "exchanged")
    fails("transpose", lambda: my.equal(my.g(), want, "ts"))


def test_the_learners_array_is_a_copy():
    x = X.copy()
    my = mine(f=lambda x, y=None: x.flags.writeable or y.flags.writeable)
    assert my.f(x, y=x) is False and x.flags.writeable


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
    my = mine(f=with_backward(d))
    known = {
        "variants": {"x": [("product", "x * g", lambda g: X * g)]},
        "blocks": {"x": {"top": np.s_[:1]}},
    }
    fails(tag, lambda: my.gradients(my.f, [X], **known), saying)


def test_right_gradients_pass_and_others_are_no_pair():
    my = mine(f=with_backward(right), g=lambda x: x)
    my.gradients(my.f, [X])
    fails("no-backward", lambda: my.gradients(my.g, [X]), "(array, backward)")


def test_a_chain_names_the_first_that_is_wrong():
    right = {"p": X, "e": 2 * X, "W": 3 * X}
    my = mine()
    my.first_wrong(right, right)
    wrong = right | {"e": -2 * X, "W": -3 * X}
    fails("scale:-1", lambda: my.first_wrong(wrong, right),
          "d_p agrees; d_e is the first that does not")  # fmt: skip


def test_functions_have_to_be_there():
    signatures = {"score": ["q", "k"]}
    assert mine(signatures, score=lambda q, k: 0).written().result == "ok"
    outcome = mine(signatures, scores=lambda q, k: 0).written()
    assert outcome.tag == "missing" and "There is scores" in outcome.lines[-1]
    assert mine(signatures, score=3).written().tag == "missing"
    outcome = mine(signatures, score=lambda k, q: 0).written()
    assert outcome.tag == "signature" and outcome.lines[-1].endswith("score(k, q)")


def stairs(**results):
    """A module of checks, each of which does what ``results`` says."""
    module = types.ModuleType("checks")

    def add(name, mark, action):
        def check(my, rng):
            action()

        check.__name__ = name
        setattr(module, name, mark(name)(check))

    marks = {"shape": shape, "values": values, "edges": edges}
    for name, action in results.items():
        add(name, marks[name.split("_")[0]], action)
    return module


def fine():
    pass


def wrong():
    raise CheckFailed("tag", "a line")


def todo():
    raise NotWritten("9.9 f")


def test_a_step_is_taken_whole_and_then_it_stops():
    checks = stairs(edges_a=fine, values_a=wrong, values_b=fine, shape_a=fine)
    taken = [(o.title, o.result) for o in staircase.climb(checks, mine())]
    assert taken == [
        ("functions", "ok"),
        ("shape_a", "ok"),
        ("values_a", "failed"),
        ("values_b", "ok"),
    ]


def test_what_has_a_step_and_is_no_function_is_no_stair():
    checks = stairs(shape_a=fine)
    checks.PART, checks.Optimizer = np.s_[:3], type("Fake", (), {"step": fine})
    assert [f.title for f in staircase.stairs(checks)] == ["shape_a"]


def test_what_is_not_written_is_left_for_later():
    def code(**results):
        return staircase.verdict(list(staircase.climb(stairs(**results), mine())))

    assert code(shape_a=fine, values_a=fine) == 0
    assert code(shape_a=todo, values_a=fine) == 3
    assert code(shape_a=todo, values_a=wrong, edges_a=fine) == 1


def test_a_result_that_the_check_cannot_use_is_said():
    def unpack(my, rng):
        y, backward = my.f(X)

    check = values("t")(unpack)
    outcome = staircase.take(check, mine(f=lambda x: (x,)))
    assert outcome.result == "failed" and outcome.tag == "raises"
    assert outcome.lines == [
        "f(x=float64 (3, 5))",
        "ValueError: not enough values to unpack (expected 2, got 1)",
        "where the check says:  y, backward = my.f(X)",
    ]


def test_every_function_draws_its_own_numbers():
    seen = []
    function = values("t")(lambda my, rng: seen.append(rng.normal()))
    for seed in (0, 0, 1):
        staircase.take(function, mine(), seed)
    assert seen[0] == seen[1] != seen[2]
    function.__name__ = "another"
    staircase.take(function, mine(), 0)
    assert seen[3] != seen[0]


def test_chains_find_the_false_step():
    rng = np.random.default_rng(0)

    def draw():
        return rationals(rng, 2)

    def start(a, b):
        return (a + b) ** 2

    my = mine()
    chain = Chain(start, "").then(lambda a, b: a * a + 2 * a * b + b * b, "binomial")
    check_chain(my, chain, start, lambda a, b: (b + a) ** 2, draw)
    bad = Chain(start, "").then(lambda a, b: a * a + b * b, "a dream")
    fails("false-link", lambda: check_chain(my, bad, start, start, draw), "a dream")
    same = Chain(start, "").then(start, "again")
    fails("chain-repeats", lambda: check_chain(my, same, start, start, draw))
    fails("chain", lambda: check_chain(my, [start], start, start, draw), "found list")


def test_two_point_means_are_exact():
    [a, b] = rationals(np.random.default_rng(1), 2)
    assert two_point_mean(lambda x: x[0] * x[1], [a, b], [2, 3]) == a * b
    assert two_point_mean(lambda x: (x[0] - a) ** 2, [a, b], [2, 3]) == 4
