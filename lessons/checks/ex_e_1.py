"""Check an answer to E.1."""

import numpy as np

from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, same
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values

SHAPES = ((5, 7), (7,), (1,), (), (5, 1), (1, 7), (3, 1, 7), (3, 1, 1), (1, 5, 1))


def by_loop(g, shape, reduce=sum):
    """Return the sum, or another reduction, of all entries of g for each place."""
    places = {index: [] for index in np.ndindex(shape)}
    for index in np.ndindex(g.shape):
        own = index[g.ndim - len(shape) :]
        places[tuple(0 if n == 1 else i for i, n in zip(own, shape))].append(g[index])
    return np.array([reduce(x) for x in places.values()], float).reshape(shape)


def mistakes(g, shape):
    """Return wrong results of unbroadcast: (tag, what, array)."""
    extra = g.ndim - len(shape)
    ones = tuple(k for k, n in enumerate(shape) if n == 1)
    summed = g.sum(tuple(range(extra)))
    right, means = by_loop(g, shape), by_loop(g, shape, np.mean)
    left = g.sum(tuple(range(len(shape), g.ndim)))
    rows, places = max(right.size, 1), g.size // max(summed.size, 1)
    found = [
        (
            "unbroadcast",
            "the first of the terms, not their sum",
            by_loop(g, shape, lambda terms: terms[0]),
        ),
        ("unbroadcast", "one row of a sum over rows", _kept(g[(0,) * extra], ones)),
        ("mean", "a mean over all places, not their sum", means),
        ("maximum", "the largest of the terms, not their sum", by_loop(g, shape, max)),
        ("mean", f"the sum, divided by {places}", right / places),
        ("mean", f"the sum, divided by {summed.size // rows}", means * places),
    ]
    if ones:
        lost = right.reshape([n for n in shape if n > 1])
        firsts = summed[tuple(slice(1) if n == 1 else slice(None) for n in shape)]
        found += [
            ("unbroadcast", "the first term along the axes of length 1", firsts),
            ("no-keepdims", "the right sums, without the axes of length 1", lost),
            ("unbroadcast", "a sum over the inserted axes only", summed),
            ("maximum", "the largest term along the axes of length 1",
             summed.max(ones, keepdims=True)),
        ]  # fmt: skip
    if extra:
        found.append(("left-aligned", "a sum over the last axes, not the first", left))
        turned = _kept(left, ones) if left.ndim == len(shape) else left
        found.append(("left-aligned", "sums over the last axes and those of 1", turned))
    return found


def _kept(g, axes):
    return g.sum(axes, keepdims=True)


@shape("the shape of the array that was broadcast")
def as_it_was(my, rng):
    g = rng.normal(size=(3, 5, 7))
    for n in SHAPES:
        my.equal(my.unbroadcast(g, n), by_loop(g, n), None, mistakes(g, n))


@numbers("the entries 0, 1, 2, 3, 4, 5 in two rows, by hand")
def by_hand(my, rng):
    g = np.arange(6.0).reshape(2, 3)
    for to, want in (
        ((3,), [3.0, 5.0, 7.0]),
        ((2, 1), [[3.0], [12.0]]),
        ((1, 3), [[3.0, 5.0, 7.0]]),
        ((), 15.0),
    ):
        my.equal(my.unbroadcast(g, to), want, None, mistakes(g, to))


@values("a square, whose shape does not show the alignment")
def a_square(my, rng):
    g = rng.normal(size=(5, 5))
    my.equal(my.unbroadcast(g, (5,)), by_loop(g, (5,)), "j", mistakes(g, (5,)))


@values("both gradients of a product, and their shapes")
def both_gradients(my, rng):
    a, b = rng.normal(size=(3, 1, 7)), rng.normal(size=(5, 1))
    y, backward = my.multiply(a, b)
    g = rng.normal(size=(3, 5, 7))
    want, known = {}, {}
    for name, x, other in (("da", a, b), ("db", b, a)):
        want[name] = by_loop(g * other, x.shape)
        known[name] = [(tag, what, f(g)) for tag, what, f in of_factors(x, other)]
    equal_all(my, backward(g), want, variants=known, rtol=1e-7, atol=1e-9)


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
    for p, q in (((3, 1, 7), (5, 1)), ((5, 7), (5, 7)), ((7,), (3, 5, 1))):
        a, b = rng.normal(size=p), rng.normal(size=q)
        known = {"a": of_factors(a, b), "b": of_factors(b, a)}
        my.gradients(my.multiply, [a, b], variants=known)
        y, backward = my.multiply(a, b)
        g = rng.normal(size=y.shape)
        da, db = backward(g)
        has_all_digits(my, da, by_loop(g * b, p), "da")
        has_all_digits(my, db, by_loop(g * a, q), "db")


@gradients("of windows, in which a number stands several times")
def of_windows(my, rng):
    for S, n in ((11, 3), (7, 7), (5, 1), (7, 4)):

        def op(x):
            return my.windows(x, n)

        op.__name__ = "windows"

        def by_row(g):
            dx = np.zeros(S)
            for i, row in enumerate(g):
                dx[i : i + n] = row
            return dx

        def by_column(g):
            dx = np.zeros(S)
            for k in range(n):
                dx[k : k + len(g)] = g[:, k]
            return dx

        def first(g):
            return np.concatenate([g[:, 0], np.zeros(n - 1)])

        def row_sums(g):
            return np.concatenate([g.sum(1), np.zeros(n - 1)])

        def without_last(g):
            return np.pad(by_sum(g[:-1]), (0, 1))

        def without_first(g):
            return np.pad(by_sum(g[1:]), (1, 0))

        def by_sum(g):
            return sum(np.pad(g[:, k], (k, n - 1 - k)) for k in range(n))

        known = [
            ("overwrites", "the gradient of one window for each number", by_column),
            ("overwrites", "the gradient of the last window of each number", by_row),
            ("first-places", "the gradient of the first place of each window", first),
            ("mean", "the sum, divided by n", lambda g: by_sum(g) / n),
            ("mean", "the sum, divided by the number of windows of each number",
             lambda g: by_sum(g) / by_sum(np.ones_like(g))),
            ("reversed", "the sum, with each window reversed",
             lambda g: by_sum(g[:, ::-1])),
            ("by-window", "the sum of each window, in its first place", row_sums),
            ("loop-short", "the sum without the last window", without_last),
            ("loop-short", "the sum without the first window", without_first),
            ("loop-short", "the sum without the last place of each window",
             lambda g: by_sum(g * (np.arange(n) < n - 1))),
            ("loop-short", "the sum without the first place of each window",
             lambda g: by_sum(g * (np.arange(n) > 0))),
        ]  # fmt: skip
        x, g = rng.normal(size=S), rng.normal(size=(S - n + 1, n))
        found = op(x)[1](g)
        if same(found, by_sum(g)):  # to five digits
            has_all_digits(my, found, by_sum(g), "dx")
        my.gradients(op, [x], variants={"x": known if n > 1 else []})


def of_factors(x, other):
    """Return wrong gradients of x * other for x: (tag, what, function of g)."""

    def early(g):
        summed = by_loop(g, x.shape)
        return summed * other

    return [
        ("other-factor", "g times its own factor", lambda g: by_loop(g * x, x.shape)),
        (
            "no-factor",
            "the sum of g, without the other factor",
            lambda g: by_loop(g, x.shape),
        ),
        (
            "ignores-upstream",
            "the sum of the other factor, without g",
            lambda g: by_loop(other + 0 * g, x.shape),
        ),
        ("sum-first", "g, summed before it is multiplied", early),
        *(
            (
                "wrong-factor",
                f"the sum of {text}",
                lambda g, f=f: by_loop(f(g), x.shape),
            )
            for text, f in (
                ("g y, with the product for the other factor", lambda g: g * x * other),
                ("g divided by the other factor", lambda g: g / other),
                ("g and the other factor, with + for times", lambda g: g + other),
            )
        ),
    ]


@edges("a number times an array, and an empty array")
def nothing(my, rng):
    y, backward = my.multiply(np.array(3.0), rng.normal(size=(3, 5)))
    da, db = backward(g := rng.normal(size=(3, 5)))
    my.equal(db, 3 * g, "ij")
    my.shape(da, ())
    my.equal(my.unbroadcast(np.zeros((0, 5)), (5,)), np.zeros(5), "j")
    my.shape(my.unbroadcast(np.zeros((3, 0)), (3, 0)), (3, 0), "ij")


HINTS = {
    "by-window": ["y[i, k] = x[i + k]: which windows contain one number?"],
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
    "maximum": ["Every place where a number is used counts, not the largest alone."],
    "wrong-factor": ["Which of a and b remains in the derivative of a b by a?"],
    "mean": [
        "A number that is used in more places has a larger gradient, not an average.",
    ],
    "no-keepdims": ["An axis of length 1 is an axis. Which argument of sum keeps it?"],
    "overwrites": ["One number stands in several windows. Does each of them count?"],
    "first-places": ["A number is in the middle and at the end of windows as well."],
    "left-aligned": [
        "NumPy aligns shapes at the last axis. Where does it insert missing axes?",
    ],
    "other-factor": ["In y = a b, is dy/da equal to a or to b?"],
    "no-factor": ["The derivative of a b with respect to a is not 1."],
    "sum-first": [
        "The factor differs between the places. Can you multiply by it after the sum?",
    ],
}
