"""What a report shows: the call, the entry, the picture that belong to the mistake."""

import numpy as np
import pytest

from lessons.classroom import screen, show
from lessons.classroom.failure import CheckFailed
from lessons.classroom.mine import Mine
from lessons.classroom.theory import Chain, check_chain, links_that_run, rationals

X = np.random.default_rng(0).normal(size=(3, 5))


def mine(**functions):
    return Mine("9.9", functions, {}, "ex_9_9.py")


def report(call):
    with pytest.raises(CheckFailed) as caught:
        call()
    assert all(len(line) <= 71 for line in caught.value.lines)
    return caught.value


def test_names_with_hyphens_stay_whole(capsys):
    text = "x " * 30 + "[softmax-nocentre]"
    assert "[softmax-nocentre]" in CheckFailed("", text).lines
    screen.say("x " * 33 + "[softmax-nocentre]", 2)
    assert "\n  [softmax-nocentre]\n" in capsys.readouterr().out


def test_names_with_hyphens_stay_whole_in_a_diagnosis():
    def f(x):
        y = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        return y, lambda g: y * g

    failure = report(lambda my=mine(f=f): my.gradients(my.f, [X]))
    assert failure.tag == "softmax-nocentre" and "-nocentre" in str(failure)
    assert not [line for line in failure.lines if line.endswith("-")]


def test_variants_may_come_from_a_generator():
    my, read = mine(f=lambda: X[0]), []

    def variants():
        for name in ("first", "second"):
            read.append(name)
            yield name, "another", X

    failure = report(lambda: my.equal(my.f(), X, "ij", variants()))
    assert failure.tag == "shape" and read == ["first", "second"]
    row = (("a-row", what, X[0]) for what in ["the first row"])
    failure = report(lambda: my.equal(my.f(), X, "ij", row))
    assert failure.tag == "a-row" and "yours equals the first row" in str(failure)


def test_a_generator_of_numbers_is_called_rng():
    rng = np.random.default_rng(0)
    assert show.call("draw", ["n", "rng"], [3, rng]) == "draw(n=3, rng=rng)"


def product(a, b):
    """a * b, with a mistake in both gradients: one has a name in the exercise."""
    return a * b, lambda g: (g * b + 0.1 * a * a, g * a * (1 + (b == b[0])))


@pytest.mark.parametrize("known", ["block", "variant"])
def test_the_entry_is_of_the_input_that_is_named(known):
    a, b = X, X[::-1] + 3
    if known == "block":
        known = {"blocks": {"b": {"top": np.s_[:1]}}}
    else:
        twice = ("top", "twice the first row", lambda g: product(a, b)[1](g)[1])
        known = {"variants": {"b": [twice]}}
    my = mine(f=product)
    text = str(report(lambda: my.gradients(my.f, [a, b], **known)))
    assert "d_a wrong    d_b wrong" in text and "d_b: " in text
    assert "f, d_b, entry [0, " in text or "product, d_b, entry [0, " in text
    assert "d_a, entry" not in text
    text = str(report(lambda: my.gradients(my.f, [a, b])))
    assert "d_a, entry" in text  # nothing is named: the first that is wrong


def test_the_entry_of_an_input_before_a_constant_one():
    """Numbers of inputs count all of them, and a true gradient of 0 stays declared."""

    def f(k, a, b, c):
        y, backward = product(a, b)
        return y, lambda g: (None, *backward(g), np.ones_like(c))

    my, inputs = mine(f=f), [np.arange(3), X, X[::-1] + 3, X[0]]
    options = {"no_gradient": (3,), "blocks": {"b": {"top": np.s_[:1]}}}
    text = str(report(lambda: my.gradients(my.f, inputs, **options)))
    assert "d_b, entry [0, " in text and "all wrong entries are in top" in text


def test_a_picture_says_what_it_leaves_out():
    want = np.random.default_rng(1).normal(size=(3, 7, 5))
    wrong = want + (np.arange(5) == 4)
    lines = show.differences(wrong, want, wrong == want)
    drawn = lines[-1].splitlines()
    assert len(drawn) == 9  # eight rows of 21, and what is said of them
    assert "8 by 5 signs for 21 by 5 entries" in drawn[-1]
    assert "the axes before it, as one, run down" in drawn[-1]
    lines = show.differences(wrong[0, :3], want[0, :3], (wrong == want)[0, :3])
    assert lines[-1].endswith("\n    (# differs; the last axis runs to the right)")


def test_a_picture_of_a_gradient_says_what_it_leaves_out():
    x = np.random.default_rng(1).normal(size=(3, 7, 5))

    def f(x):
        return x**2, lambda g: 2 * x * g * (1 + (np.arange(5) == 4))

    text = str(report(lambda my=mine(f=f): my.gradients(my.f, [x])))
    assert "8 by 5 signs for 21 by 5" in text.replace("\n   ", "")


def test_a_law_shows_the_call_that_it_is_about():
    def refuses(n):
        raise ValueError("no")

    my = mine(f=lambda x: x, g=lambda h: h(), refuses=refuses, n=lambda: None)

    def law(**options):
        return report(lambda: my.holds(False, "tag", "expected", **options)).lines[0]

    assert law() == "expected"  # nothing was called yet
    my.f(1)
    with pytest.raises(CheckFailed):
        my.refuses(2)
    assert law() == "refuses(n=2)"  # it has raised, and is the last
    assert my.g(lambda: my.f(3) and law()) == "f(x=3)"  # inside a callback
    assert my.g(lambda: law()).startswith("g(h=")
    assert law().startswith("g(h=")  # f was inside it
    assert law(call="f") == "f(x=3)" and law(call="refuses") == "refuses(n=2)"
    assert law(call="f after g") == "f after g"
    my.f(4)
    failure = report(lambda: my.equal(None, 0.0))  # a call that raised returned nothing
    assert failure.lines[0] == "f(x=4)"


def test_a_chain_whose_links_raise_is_a_sentence():
    def start(a, x):
        return a * x.sum()

    def draw():
        return 3, np.ones((2, 5))

    bad = Chain(start, "").then(lambda a, x: a * (x @ x), "a product")
    for call in (
        lambda: check_chain(mine(), bad, start, start, draw),
        lambda: links_that_run(mine(), bad, draw()),
    ):
        failure = report(call)
        assert failure.tag == "link-raises"
        assert failure.lines[0] == "link 1, at a 3, x (2, 5)"
        assert failure.lines[1].startswith("ValueError: ")
    seldom = Chain(start, "").then(lambda a, x: a * x.sum() / (a != 7), "at times")
    numbers = iter([1, 2, 7])

    def draw_later():
        return next(numbers), np.array(rationals(np.random.default_rng(0), 3))

    failure = report(lambda: check_chain(mine(), seldom, start, start, draw_later))
    assert failure.tag == "link-raises" and "ZeroDivisionError" in str(failure)
    failure = report(lambda: links_that_run(mine(), [start], draw()))
    assert failure.tag == "chain" and "found list" in str(failure)
