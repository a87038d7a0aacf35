"""Check an answer to E.1."""

import numpy as np

from lessons.checks.measure import exact_gradients, has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, same
from lessons.classroom.steps import (
    edges,
    gradients,
    laws,
    named,
    numbers,
    shape,
    values,
)

# THE EXERCISE IN LOOPS


def unbroadcast(g, shape):
    """One axis after the other"""
    while g.ndim > len(shape):
        g = g.sum(0)
    for axis, n in enumerate(shape):
        if n == 1:
            g = g.sum(axis, keepdims=True)
    return g


def multiply(a, b):
    y = a * b

    def backward(g):
        da = unbroadcast(g * b, a.shape)
        db = unbroadcast(g * a, b.shape)
        return da, db

    return y, backward


def windows(x, n):
    y = np.array([x[i : i + n] for i in range(len(x) - n + 1)])

    def backward(g):
        dx = np.zeros(len(x))
        for i, k in np.ndindex(*g.shape):
            dx[i + k] += g[i, k]
        return dx

    return y, backward


# THE CHECK

SHAPES = ((5, 7), (7,), (1,), (), (5, 1), (1, 7), (3, 1, 7), (3, 1, 1), (1, 5, 1))


def draw(rng, *shapes):
    return [rng.normal(size=shape) for shape in shapes]


@shape("the shape of the array that was broadcast")
def as_it_was(my, rng):
    g = rng.normal(size=(3, 5, 7))
    for n in SHAPES:
        my.equal(my.unbroadcast(g, n), unbroadcast(g, n))


@numbers("the entries 0, 1, 2, 3, 4, 5 in two rows, by hand")
def by_hand(my, rng):
    g = np.arange(6.0).reshape(2, 3)
    for to, want in (
        ((3,), [3.0, 5.0, 7.0]),
        ((2, 1), [[3.0], [12.0]]),
        ((1, 3), [[3.0, 5.0, 7.0]]),
        ((), 15.0),
    ):
        my.equal(my.unbroadcast(g, to), want)


@values("a square, whose shape does not show the alignment")
def a_square(my, rng):
    g = rng.normal(size=(5, 5))
    my.equal(my.unbroadcast(g, (5,)), unbroadcast(g, (5,)), "j")


@values("both gradients of a product, and their shapes")
def both_gradients(my, rng):
    factors, g = draw(rng, (3, 1, 7), (5, 1)), rng.normal(size=(3, 5, 7))
    found, want = (f(*factors)[1](g) for f in (my.multiply, multiply))
    equal_all(my, found, dict(zip(("da", "db"), want)), rtol=1e-7, atol=1e-9)


@laws("the sum of all entries stays the same, and equal shapes change nothing")
def the_total(my, rng):
    g = rng.normal(size=(3, 5, 7))
    for n in SHAPES:
        found = float(np.sum(my.unbroadcast(g, n)))
        my.holds(
            abs(found - g.sum()) < 1e-9,
            "total",
            f"expected entries that sum to {g.sum():.6g}, as those of g",
            f"found {found:.6g}",
        )
    my.equal(my.unbroadcast(g, g.shape), g, "ijk")


@gradients("of a product, with three kinds of broadcast")
def of_a_product(my, rng):
    for shapes in (((3, 1, 7), (5, 1)), ((5, 7), (5, 7)), ((7,), (3, 5, 1))):
        exact_gradients(my, my.multiply, multiply, draw(rng, *shapes), rng)


@gradients("of windows, in which a number stands several times")
def of_windows(my, rng):
    for S, n in ((11, 3), (7, 7), (5, 1), (7, 4)):
        x, g = rng.normal(size=S), rng.normal(size=(S - n + 1, n))
        found, want = (f(x, n)[1](g) for f in (my.windows, windows))
        if same(found, want):  # to five digits
            has_all_digits(my, found, want, "dx")
        my.gradients(named("windows", lambda x: my.windows(x, n)), [x])


@edges("a number times an array, and an empty array")
def nothing(my, rng):
    y, backward = my.multiply(np.array(3.0), rng.normal(size=(3, 5)))
    da, db = backward(g := rng.normal(size=(3, 5)))
    my.equal(db, 3 * g, "ij")
    my.shape(da, ())
    my.equal(my.unbroadcast(np.zeros((0, 5)), (5,)), np.zeros(5), "j")
    my.shape(my.unbroadcast(np.zeros((3, 0)), (3, 0)), (3, 0), "ij")


FIRST = "g = g.sum(0)"
ONES = "g = g.sum(axis, keepdims=True)"
BOTH = (
    f"{FIRST}\n    for axis, n in enumerate(shape):\n        if n == 1:\n"
    f"            {ONES}"
)
DX = "dx[i + k] += g[i, k]"
EVERY = "Every place where a number is used counts, not the largest alone."
MEAN = "A number that is used in more places has a larger gradient, not an average."
AXIS = "An axis of length 1 is an axis. Which argument of sum keeps it?"
ALIGNED = "NumPy aligns shapes at the last axis. Where does it insert missing axes?"
REMAINS = "Which of a and b remains in the derivative of a b by a?"
EACH = "One number stands in several windows. Does each of them count?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("unbroadcast", "the first of the terms, not their sum", "", BOTH,
     BOTH.replace("g.sum(0)", "g[0]").replace(ONES[4:], "g.take([0], axis)")),
    ("unbroadcast", "one row of a sum over rows", "", FIRST, "g = g[0]"),
    ("unbroadcast", "the first term along the axes of length 1", "", ONES,
     "g = g.take([0], axis)"),
    ("unbroadcast", "a sum over the inserted axes only", "", ONES, "pass"),
    ("no-keepdims", "the right sums, without the axes of length 1", AXIS, "return g",
     "return g.reshape([n for n in shape if n > 1])"),
    ("mean", "a mean over all places, not their sum", MEAN, BOTH,
     BOTH.replace("sum", "mean")),
    ("mean", "a mean over the inserted axes, not a sum", MEAN, FIRST, "g = g.mean(0)"),
    ("mean", "a mean over the axes of length 1, not a sum", MEAN, ONES,
     ONES.replace("sum", "mean")),
    ("maximum", "the largest of the terms, not their sum", EVERY, BOTH,
     BOTH.replace("sum", "max")),
    ("maximum", "the largest of the terms along the inserted axes", EVERY, FIRST,
     "g = g.max(0)"),
    ("maximum", "the largest of the terms along the axes of length 1", EVERY, ONES,
     ONES.replace("sum", "max")),
    ("left-aligned", "sums over the last axes, not the first, and those of length 1",
     ALIGNED, FIRST, "g = g.sum(-1)"),
    ("left-aligned", "a sum over the last axes, not the first", ALIGNED, BOTH,
     "g = g.sum(-1)"),
    *(
        ("other-factor", "g times its own factor",
         "In y = a b, is dy/da equal to a or to b?", f"g * {other}", f"g * {own}")
        for own, other in ("ab", "ba")
    ),
    *(
        ("no-factor", "the sum of g, without the other factor",
         "The derivative of a b with respect to a is not 1.", f"g * {other}", "g")
        for other in "ab"
    ),
    *(
        ("ignores-upstream", "the sum of the other factor, without g", "",
         f"g * {other}", f"0 * g + {other}")
        for other in "ab"
    ),
    *(
        ("sum-first", "g, summed before it is multiplied",
         "The factor differs between the places. Can you multiply by it after the sum?",
         f"unbroadcast(g * {other}, {own}.shape)",
         f"unbroadcast(g, {own}.shape) * {other}")
        for own, other in ("ab", "ba")
    ),
    *(
        ("unbroadcast", "the product, which is not summed", "",
         f"unbroadcast(g * {other}, {own}.shape)", f"g * {other}")
        for own, other in ("ab", "ba")
    ),
    *(
        ("wrong-factor", f"the sum of {text}", REMAINS, f"g * {other}", new + other)
        for other in "ab"
        for text, new in (
            ("g y, with the product for the other factor", "g * y + 0 * "),
            ("g divided by the other factor", "g / "),
            ("g and the other factor, with + for times", "g + "),
        )
    ),
    ("overwrites", "the gradient of the last window of each number", EACH, DX,
     "dx[i + k] = g[i, k]"),
    ("overwrites", "the gradient of one window for each number", EACH, DX,
     "dx[i + k] = dx[i + k] or g[i, k]"),
    ("first-places", "the gradient of the first place of each window",
     "A number is in the middle and at the end of windows as well.", DX,
     f"{DX} * (k == 0)"),
    ("mean", "the sum, divided by n", MEAN, DX, f"{DX} / n"),
    ("mean", "the sum, divided by the number of windows of each number", MEAN,
     "return dx", "return dx / np.convolve(np.ones(len(g)), np.ones(n))"),
    ("reversed", "the sum, with each window reversed", "", DX,
     "dx[i + k] += g[i, n - 1 - k]"),
    ("by-window", "the sum of each window, in its first place",
     "y[i, k] = x[i + k]: which windows contain one number?", DX, "dx[i] += g[i, k]"),
    ("times-input", "the sum, times the input itself", "", DX, f"{DX} * x[i + k]"),
    *(
        ("loop-short", f"the sum without the {text}", "", DX, f"{DX} * ({kept})")
        for text, kept in (
            ("last window", "i < len(g) - 1"),
            ("first window", "i > 0"),
            ("last place of each window", "k < n - 1"),
            ("first place of each window", "k > 0"),
        )
    ),
]  # fmt: skip

HINTS = {
    "windows": [
        "An entry that is in several windows receives the sum of their gradients.",
    ],
    "multiply": [
        "The gradient of a factor is g times the other factor; then undo the "
        "broadcast.",
    ],
    "": [
        "A broadcast does two things: it inserts axes in front, and it repeats axes "
        "of length 1. Undo them one after the other.",
        "A sum over an inserted axis removes it. A sum over an axis of length 1 "
        "needs keepdims=True, so that the axis stays.",
        "g.ndim - len(shape) axes were inserted: sum over that many first axes. Then "
        "sum over each axis k with shape[k] == 1 and keep it. In multiply, multiply "
        "by the other factor before the sum: the gradient of a is g * b, "
        "unbroadcast.",
    ],
    "unbroadcast": [
        "One number was used in several places. Each place contributes to its "
        "gradient.",
        "Which axes of g does the array not have, or have with length 1? Sum over "
        "all of these.",
    ],
}
