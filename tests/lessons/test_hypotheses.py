"""Hypotheses: each common mistake has its name, and no other answer receives it."""

import numpy as np
import pytest

from lessons.classroom.checking.harness import Harness
from lessons.classroom.checking.sequence import run_steps
from lessons.classroom.steps import CheckFailed, numbers, values

from .classroom_cases import checks_of

DRAWN = np.random.default_rng(0)
E = DRAWN.normal(size=(3, 5))
H = DRAWN.normal(size=(5, 7))


def softmax(x, axis=-1):
    z = np.exp(x - x.max(axis, keepdims=True))
    return z / z.sum(axis, keepdims=True)


P = softmax(E)
HEADS = softmax(DRAWN.normal(size=(2, 3, 5)))
CAUSAL = np.tri(5, dtype=bool)
WINDOW = np.abs(np.arange(9) - np.arange(9)[:, None]) <= 2
LOGITS = DRAWN.normal(size=(5, 5))


def causal(mask):
    return softmax(np.where(mask, LOGITS, -np.inf))


def entropy(p):
    return -(p * np.log(p)).sum(-1)


def failure(f, want, *inputs):
    """Return the failure of an answer f, for these inputs."""
    my = Harness("9.9", {"f": f}, {}, "ex_9_9.py")
    with pytest.raises(CheckFailed) as caught:
        my.equal(my.f(*inputs), want)
    return caught.value


VALUES = [  # (answer, what is right, inputs, tag, part of the report)
    (lambda e: -e @ H, E @ H, [E], "scale:-1", "yours = -1 x expected"),
    (lambda e, H: H.mean(0), P[0] @ H, [P[0], H], "plain-mean",
     "mean of H over axis 0"),
    (lambda H: H.mean(0) + 0 * H, H @ H.T @ H, [H], "plain-mean", "of H over axis 0"),
    (lambda H: H.sum(0), P[0] @ H, [H], "plain-sum", "sum of H over axis 0"),
    (lambda e: e.sum(), E.sum(-1), [E], "sum-over-everything", "sum of expected"),
    (lambda e: np.exp(e) / np.exp(e).sum(), P, [E], "sum-over-everything",
     "expected over axis 1"),
    (lambda: P / 3, P, [], "scale:1/3", ""),
    (lambda e: softmax(e, 0), P, [E], "wrong-axis", "softmax of e over axis 0"),
    (lambda e: softmax(-e), P, [E], "sign", "softmax of -e over axis 1"),
    (lambda: P * [[2], [3], [1]], P, [], "not-normalised", "over axis 1"),
    (lambda: P[0] / 2 / (P[0] / 2).sum(), P[0] / 2.31, [], "renormalised", "its sum"),
    (lambda: np.full((3, 5), 0.2), P, [], "uniform", "1/5 in every entry"),
    (lambda: E + 0.5, E, [], "added", "yours = expected + 0.5"),
    (lambda: -(P * np.log(P + 1e-5)).sum(-1), entropy(P), [], "epsilon", "- 5e-05"),
    (lambda p: entropy(p) / np.log(2), entropy(P), [P], "log-base", "/ ln 2"),
    (lambda p: entropy(p) / np.log(5), entropy(P), [P], "scale:1/ln(5)", "/ ln 5"),
    (lambda e: 1 - softmax(e), P, [E], "one-minus", "1 - expected"),
    (lambda: 1 / P, P, [], "reciprocal", "1 / expected"),
    (lambda: np.log(P), P, [], "logarithm", "ln(expected)"),
    (lambda: P[:, ::-1], P, [], "reversed", "axis 1 reversed"),
    (lambda: np.cumsum(P, 1), P, [], "cumulative", "running sums along axis 1"),
    (lambda: np.roll(E, 1, 0), E, [], "shifted", "the expected entry i - 1"),
    (lambda e: e, np.tanh(E), [E], "unchanged", "yours equals e, unchanged"),
    (lambda e: softmax(e / 5**0.5), P, [E], "scaled-scores", "softmax of 0.447214 e"),
    (lambda e: 2**e / (2**e).sum(-1, keepdims=True), softmax(2 * E), [E],
     "scaled-scores", "of 0.693147 e over axis 1; expected that of 2 e"),
    (lambda e: e / e.sum(-1, keepdims=True), P, [E], "no-exponential", "e divided by"),
    (lambda e: softmax(e) + e, P, [E], "adds-input", "expected + e"),
    (lambda e: softmax(e) - e, P, [E], "adds-input", "expected - e"),
    (lambda: P[:, [0, 2, 4, 1, 3]], P, [], "permuted", "in the order 0, 2, 4, 1, 3"),
    (lambda: HEADS.reshape(2, 5, 3).swapaxes(1, 2), HEADS, [], "permuted", "reshape"),
    (lambda: E * (np.arange(15).reshape(3, 5) % 4 > 1), E, [], "not-filled",
     "0 in 8 of 15 entries"),
    (lambda: np.repeat(HEADS[:, :1], 3, 1), HEADS, [], "repeated", "index 0"),
    (lambda: np.stack([E] * 3), np.stack([E, 2 * E, E - 1]), [], "repeated",
         "every index of axis 0"),
    (lambda: causal(~np.tri(5, k=-1, dtype=bool)), causal(CAUSAL), [], "flipped",
     "yours allows j >= i; expected j <= i"),
    (lambda: causal(np.tri(5, k=1, dtype=bool)), causal(CAUSAL), [], "off-by-one",
     "yours allows j <= i + 1; expected j <= i"),
]  # fmt: skip
MASKS = [
    (np.tri(5, k=-1), CAUSAL, "off-by-one", "j <= i - 1; expected j <= i"),
    (1 - np.tri(4, 6, -1), np.tri(4, 6), "flipped", "j >= i; expected j <= i"),
    (np.arange(9) - np.arange(9)[:, None] <= 2, WINDOW, "one-sided", "one bound"),
    (np.arange(9) - np.arange(9)[:, None] >= -2, WINDOW, "one-sided", "one bound"),
    (np.tri(4, 6, 2), np.tri(4, 6), "offset", "j <= i + 2; expected j <= i"),
    (np.abs(np.arange(9) - np.arange(9)[:, None]) < 2, WINDOW, "off-by-one", "strict"),
    (np.abs(np.arange(9) - np.arange(9)[:, None]) < 4, WINDOW, "off-by-one", "strict"),
]


@pytest.mark.parametrize("f, want, inputs, tag, words", VALUES)
def test_wrong_values_have_names(f, want, inputs, tag, words):
    found = failure(f, want, *inputs)
    assert found.tag == tag and words in " ".join(found.lines), str(found)


@pytest.mark.parametrize("got, want, tag, words", MASKS)
def test_wrong_masks_have_names(got, want, tag, words):
    found = failure(lambda: np.asarray(got, bool), np.asarray(want, bool))
    assert found.tag == tag and words in " ".join(found.lines), str(found)


NEARLY = [
    (lambda e: softmax(e) + 1e-9, P, "epsilon", "+ 1e-09 in every entry"),
    (lambda e: np.exp(e) / (np.exp(e).sum(-1, keepdims=True) + 1e-7), P, "epsilon",
     "added to the divisor"),
    (lambda e: -(P * np.log(P + 1e-9)).sum(-1), entropy(P), "epsilon", "every entry"),
    (lambda e: softmax(e) * (1 + 1e-8), P, "nearly", "1e-08"),
    (lambda e: softmax(e * (1 + 1e-8)), P, "nearly", "of the largest entry"),
    (lambda e: softmax(e).astype("f4").astype(float), P, "float32", "float32 number"),
]  # fmt: skip


@pytest.mark.parametrize("f, want, tag, words", NEARLY)
def test_digits_are_lost_in_several_ways(f, want, tag, words):
    found = failure(f, want, E)
    assert found.tag == tag and words in " ".join(found.lines), str(found)


def test_float32_needs_a_line_that_makes_one(tmp_path):
    path = tmp_path / "ex_9_9.py"
    line = "    e = e.astype(np.float32).astype(float)"
    path.write_text(f'"""Not float32."""\ndef f(e):\n{line}\n    return e\n', "utf-8")

    def tag(path):
        my = Harness("9.9", {"f": lambda e: softmax(single)}, {}, path)
        with pytest.raises(CheckFailed) as caught:
            my.equal(my.f(E), P)
        return caught.value.tag, str(caught.value)

    single = E.astype(np.float32).astype(float)
    assert tag(path)[0] == "float32" and "line 3:  e = e.astype" in tag(path)[1]
    other = tmp_path / "ex_9_8.py"
    other.write_text('"""Not float32."""\nd = {"half": 20}\n', "utf-8")
    assert tag(other)[0] == "nearly"


# gradients


def elementwise(f, d):
    def op(x):
        y = f(x)
        return y, lambda g: d(x, y, g)

    return op


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    "f, d, tag, words",
    [
        (np.tanh, lambda x, y, g: g * (1 - y), "wrong-derivative", "g * (1 - y); "),
        (np.tanh, lambda x, y, g: g * (1 - x * x), "wrong-derivative", "(1 - x^2)"),
        (
            sigmoid,
            lambda x, y, g: g * (1 - y),
            "wrong-derivative",
            "is g * y * (1 - y)",
        ),
        (np.exp, lambda x, y, g: g * x, "wrong-derivative", "g * x; numeric is g * y"),
        (np.tanh, lambda x, y, g: g, "passes-through", "the incoming gradient itself"),
        (softmax, lambda x, y, g: g * y * (1 - y), "softmax-diagonal", "diagonal"),
    ],
)
def test_wrong_derivatives_have_names(f, d, tag, words):
    my = Harness("9.9", {"op": elementwise(f, d)}, {}, "ex_9_9.py")
    with pytest.raises(CheckFailed) as caught:
        my.gradients(my.op, [E])
    text = str(caught.value).replace("\n", " ")
    assert caught.value.tag == tag and words in text
    assert "no known pattern" not in text


def test_exchanged_results_and_gradients_have_names():
    def product(a, b):
        return a * b, lambda g: (g * a, g * b)

    def pair(e):
        return softmax(e), np.tanh(e)

    my = Harness("9.9", {"product": product, "pair": pair}, {}, "ex_9_9.py")
    with pytest.raises(CheckFailed) as caught:
        my.gradients(my.product, [E, E + 1.5])
    assert caught.value.tag == "swapped", str(caught.value)
    with pytest.raises(CheckFailed) as caught:
        my.equal(my.pair(E)[0], np.tanh(E))
    assert caught.value.tag == "swapped"
    assert "result 2 of the call equals expected; this is result 1" in str(caught.value)

    def outer(a, b):
        return a @ b, lambda g: (a.T @ g, g @ b.T)

    my = Harness("9.9", {"outer": outer}, {}, "ex_9_9.py")
    with pytest.raises(CheckFailed) as caught:
        my.gradients(my.outer, [E, H])
    assert caught.value.tag == "swapped"
    assert "gradient 1 of 2 is that of b; expected that of a" in str(caught.value)

    def transposed(a, b):
        return a @ b, lambda g: ((g @ b.T).T, (a.T @ g).T)

    my = Harness("9.9", {"outer": transposed}, {}, "ex_9_9.py")
    with pytest.raises(CheckFailed) as caught:
        my.gradients(my.outer, [H.T[:5, :3].copy(), H.T[:3].copy()])
    assert caught.value.tag != "swapped"
    gates = Harness("9.9", {"f": lambda h: (1 + h, h)}, {}, "ex_9_9.py")
    half = gates.f(np.array([[0.5]]))[1]  # 0.5 and 1.5 stand in other places by chance
    with pytest.raises(CheckFailed) as caught:
        gates.equal(half, np.array([[1.5]]))
    assert caught.value.tag == "unknown"


# precision: these have another cause


NONE = [
    (lambda e: softmax(e) + 0.01 * e, P, [E]),
    (lambda e: softmax(e + 0.1 * e**2), P, [E]),
    (lambda e: softmax(e) ** 1.1, P, [E]),
    (lambda: np.array([1.0, 2.0, 4.0]), np.array([1.0, 4.0, 2.0]), []),
    (lambda: np.array([1.0, 0.5, 0.25]), np.array([1.0, 2.0, 4.0]), []),
    (lambda: np.array([0.5, 0.5, 0.5]), np.array([0.25, 0.25, 0.5]), []),
    (lambda x: x.mean(), np.array(1.0), [np.array([1.0, 2.0, 3.0])]),
    (lambda: 0.0, np.array(0.3), []),
    (lambda: -0.5, np.array(0.5), []),
]


@pytest.mark.parametrize("f, want, inputs", NONE)
def test_what_has_another_cause_has_no_name(f, want, inputs):
    assert failure(f, want, *inputs).tag == "unknown"


def test_few_numbers_are_evidence_if_they_come_from_data():
    found = failure(lambda e: -entropy(softmax(e)).mean(), entropy(P).mean(), E)
    assert found.tag == "scale:-1"
    found = failure(lambda e: entropy(P).mean() / np.log(2), entropy(P).mean(), E)
    assert found.tag == "log-base"


# a fixed example, and random numbers


def test_a_fixed_example_without_a_name_is_tried_on_random_numbers():
    def fixed(my, rng):
        my.equal(my.f(np.array([0.0, 2.0])), np.array([0.0, 4.0]))

    def random(my, rng):
        x = rng.normal(size=7)
        my.equal(my.f(x), 2 * x)

    def other(my, rng):
        x = rng.normal(size=7)
        my.equal(my.f(x) + x * x, 2 * x)

    def run(f, *functions):
        my = Harness("9.9", {"f": f}, {}, "ex_9_9.py")
        return [(o.step, o.tag) for o in run_steps(checks_of(*functions), my)][1:]

    fixed, random = numbers("fixed")(fixed), values("random")(random)
    other = values("other")(other)
    found = run(lambda x: -2 * x, fixed, random, other)
    assert found == [("numbers", "unknown"), ("values", "scale:-1")]
    assert run(lambda x: x + 0.1, fixed, other) == [("numbers", "unknown")]
