"""Check an answer to 38.6."""

import math
from fractions import Fraction

import numpy as np

from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import several
from lessons.checks.words import self_assessed
from lessons.classroom.checking.harness import array_of_rows
from lessons.classroom.steps import edges, laws, shape, values
from lessons.classroom.theory import check_chain, equal, links_that_run, rationals

SIX = "W_a, v_a, s, h1, h2, h3"
FOUR = "W_g, s, h1, h2"


@shape("six arrays and four arrays, with shapes that match")
def arrays_that_fit(my, rng):
    W_a, v_a, s, h1, h2, h3 = arrays(my, my.witness(), SIX)
    d_s, d_h = len(s.reshape(-1)), len(h1.reshape(-1))
    for name, array, size in (
        ("s", s, (d_s,)), ("h1", h1, (d_h,)), ("h2", h2, (d_h,)), ("h3", h3, (d_h,)),
        ("W_a", W_a, (v_a.size, d_s + d_h)), ("v_a", v_a, (v_a.size,)),
    ):  # fmt: skip
        fits(my, name, array, size)
    W_g, s, h1, h2 = arrays(my, my.counterexample(), FOUR)
    d = s.size
    for name, array, size in (
        ("s", s, (d,)), ("h1", h1, (d,)), ("h2", h2, (d,)), ("W_g", W_g, (d, d)),
    ):  # fmt: skip
        fits(my, name, array, size)


@values("the key in the middle has the highest score")
def the_middle(my, rng):
    W_a, v_a, s, h1, h2, h3 = arrays(my, my.witness(), SIX)
    text = "expected h1 and h3 to differ"
    my.holds(exact(h1) != exact(h3), "same-points", text, f"found both {h1}")
    twice = [2 * x for x in exact(h2)]
    ends = [a + b for a, b in zip(exact(h1), exact(h3))]
    my.holds(
        twice == ends,
        "not-midpoint",
        "expected h2 = (h1 + h3) / 2, exactly",
        f"found h1 + h3 - 2 h2 = {[float(b - a) for a, b in zip(twice, ends)]}",
    )
    e1, e2, e3 = (additive(W_a, v_a, s, h) for h in (h1, h2, h3))
    gap = 1e-9 * max(abs(e1), abs(e2), abs(e3))
    tag = "valley" if e2 < min(e1, e3) else "monotone"
    my.holds(
        e2 > max(e1, e3) + gap,
        tag,
        "expected e(h2) above e(h1) and e(h3)",
        f"found e(h1) = {e1:.6g}, e(h2) = {e2:.6g}, e(h3) = {e3:.6g}",
    )


@values("a general score that falls where s . h grows")
def against_only(my, rng):
    W_g, s, h1, h2 = arrays(my, my.counterexample(), FOUR)
    before, after = (inner(exact(s), exact(h)) for h in (h1, h2))
    my.holds(
        before < after,
        "dot-does-not-rise",
        "expected s . h1 below s . h2",
        f"found {float(before):g} and {float(after):g}",
    )
    first, second = (general(W_g, s, h) for h in (h1, h2))
    my.holds(
        first > second,
        "no-counterexample",
        "expected the general score of h1 above that of h2",
        f"found {float(first):g} and {float(second):g}",
    )


@laws("at your three keys every general score has the mean in the middle")
def every_general_score(my, rng):
    """Use exact fractions of the learner's numbers, and random W_g."""
    _, _, s, h1, h2, h3 = arrays(my, my.witness(), SIX)
    for _ in range(8):
        W_g = np.array(rationals(rng, s.size * h1.size), object)
        W_g = W_g.reshape(s.size, h1.size)
        e1, e2, e3 = (general(W_g, s, h) for h in (h1, h2, h3))
        my.holds(
            2 * e2 == e1 + e3,
            "not-midpoint",
            "expected the mean of the scores of h1 and h3, for any W_g",
            f"found {e2} in the middle of {e1} and {e3}",
        )


@laws("the chain of equalities, at rational numbers")
def the_chain(my, rng):
    chain = my.proof()

    def draw():
        shapes = (3,), (3, 5), (5,), (5,)
        drawn = [rationals(rng, math.prod(n)) for n in shapes]
        return [np.array(x, object).reshape(n) for x, n in zip(drawn, shapes)]

    def middle(s, W_g, h1, h3):
        return general(W_g, s, [(a + b) / 2 for a, b in zip(h1, h3)])

    def mean(s, W_g, h1, h3):
        return (general(W_g, s, h1) + general(W_g, s, h3)) / 2

    links_that_run(my, chain, draw())
    arguments = draw()
    for tag, (link, _), right, what in (
        ("starts-elsewhere", chain.links[0], middle, "first"),
        ("arrives-elsewhere", chain.links[-1], mean, "last"),
    ):
        want, found = right(*arguments), link(*arguments)
        my.holds(
            np.shape(found) == () and equal(np.asarray(want), np.asarray(found)),
            tag,
            f"expected the {what} expression to be {want} at random fractions",
            f"found {found}",
        )
    first = Trace.of(chain.links[0][0])
    my.holds(
        first is None or Trace.products == [(2, True)],
        "starts-elsewhere",
        "expected the score of (h1 + h3) / 2 first, one product with this key",
        "found another key, a number outside the product, or products of their own",
    )
    check_chain(my, chain, middle, mean, draw)
    my.holds(
        len(chain.links) > 2,
        "two-steps",
        "expected three expressions or more, one law for each step",
        f"found {len(chain.links)}",
    )
    one_law_each(my, chain)
    traced = Trace.of(chain.links[-1][0])
    my.holds(
        traced is None or not traced[1],
        "arrives-elsewhere",
        "expected scores of h1 and of h3 alone in the last expression",
        "found a score of a sum of both",
    )


def one_law_each(my, chain):
    """Fail if a step moves the number out and splits the sum at once."""
    before = None
    for k, (link, _) in enumerate(chain.links):
        now = Trace.of(link)
        my.holds(
            before is None or now is None or np.equal(before > 0, now > 0).any(),
            "two-steps",
            "expected one law for each step: a number moves out of the product, or the "
            "product with a sum becomes a sum of products",
            f"found both at once between links {k} and {k + 1}: show each",
        )
        before = now


class Trace:
    """A number that records how an expression computes with it.

    keys      which of h1 and h3 it contains
    scaled    how many of them it contained when a number multiplied or divided it
    products  (scaled, contains h1 and h3) for the key of each product so far
    """

    products = []

    def __init__(self, keys=(), scaled=0):
        self.keys, self.scaled = frozenset(keys), scaled

    def __add__(self, other):
        keys, scaled = getattr(other, "keys", ()), getattr(other, "scaled", 0)
        return Trace(self.keys.union(keys), min(self.scaled + scaled, 1))

    def __mul__(self, other):
        if not isinstance(other, Trace):
            return Trace(self.keys, len(self.keys))
        key = self if self.keys else other
        if key.keys:
            Trace.products.append((key.scaled, len(key.keys) == 2))
        return Trace()

    def __neg__(self):
        return Trace(self.keys, self.scaled)

    def __rtruediv__(self, other):
        return self

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __truediv__ = __mul__

    @staticmethod
    def of(link):
        """Return how a key in a product is scaled, and whether it is a sum.

        None if the expression contains more than sums and products.
        """
        Trace.products = []
        s, W_g = np.array([Trace()]), np.array([[Trace()]])
        h1, h3 = np.array([Trace({1})]), np.array([Trace({3})])
        try:
            link(s, W_g, h1, h3)
        except (TypeError, AttributeError):
            return None
        return np.max(Trace.products, axis=0) if Trace.products else None


@edges("your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.situation(),
        "what the query must find, and among which keys",
        "why a score that is linear in the key cannot rank these keys so (or another "
        "reason: few data, different widths, a readable score)",
        "the cost: a tanh for each pair, and no single matrix product",
        "alternatives: projections, a feature of the keys, more heads",
        least=5,
    )


def additive(W_a, v_a, s, h):
    x = [*s, *h]
    return sum(
        float(v) * math.tanh(sum(float(w) * float(y) for w, y in zip(row, x)))
        for v, row in zip(v_a, W_a)
    )


def general(W_g, s, h):
    """Return s^T W_g h in fractions."""
    rows = [[Fraction(w) for w in row] for row in W_g]
    return inner(exact(s), [inner(row, exact(h)) for row in rows])


def exact(x):
    """Return the entries as fractions; every float is one."""
    return [Fraction(v) for v in x]


def inner(x, y):
    return sum(a * b for a, b in zip(x, y))


def arrays(my, returned, names):
    """Return the results of a function, if there is an array for each name."""
    returned = [
        array_of_rows(each) if isinstance(each, (list, tuple)) else each
        for each in several(my, returned, names.split(", "))
    ]
    for name, array in zip(names.split(", "), returned):
        number = isinstance(array, np.ndarray) and array.dtype.kind in "fi"
        my.holds(
            number and np.isfinite(array).all(),
            "type",
            f"expected an array of finite numbers for {name}",
            f"found {array!r}",
        )
    matrices = [k for k, array in enumerate(returned) if array.ndim == 2]
    my.holds(
        len(matrices) != 1 or matrices == [0],
        "swapped",
        f"expected {names}, of which {names[:3]} alone is a matrix",
        f"found shapes {', '.join(str(array.shape) for array in returned)}: the same "
        "results in another order",
    )
    return returned


def fits(my, name, array, size):
    """Fail unless an array has its shape."""
    my.holds(
        array.shape == size,
        "shape",
        f"expected {name} with shape {size}",
        f"found {array.shape}",
    )


HINTS = {
    "witness": [
        "On a line of keys, which sum of shifted tanh curves rises first and falls "
        "then?",
    ],
    "proof": ["In each step use one law only: the number, or the sum."],
    "counterexample": ["Which W_g changes the sign of every score?"],
    "": [
        "Widths of 1 are enough: s, h1, h2, h3 are then arrays of one number, "
        "np.array([0.0]), and the score is a sum of shifted tanh curves.",
        "One tanh only rises or only falls. The difference of two shifted ones rises "
        "and falls again.",
        "tanh(h + s) - tanh(h - s) is highest at h = 0: use rows (1, 1) and (-1, 1) "
        "of W_a, and +1 and -1 in v_a. For the counterexample: which W_g changes a "
        "sign?",
    ],
    "not-midpoint": [
        "The check compares the middle exactly: choose numbers such as -2, 0, 2.",
    ],
    "valley": [
        "The middle has the lowest score of the three. Which sign turns a valley "
        "into a peak?",
    ],
    "monotone": ["One tanh rises everywhere, and so does a sum of rising ones."],
    "same-points": ["The three keys must differ."],
    "no-counterexample": [
        "s . h is the general score with W_g = I. Which change of W_g reverses its "
        "order?",
    ],
    "dot-does-not-rise": ["Choose h1 and h2 first, with s . h1 below s . h2."],
    "results": ["Return all results, in the order of the docstring."],
    "starts-elsewhere": ["The first expression is the score of (h1 + h3) / 2."],
    "arrives-elsewhere": ["The last is half the sum of two scores."],
    "false-link": [
        "The report names the link at which the value changes. What did you change "
        "there?",
    ],
    "two-steps": [
        "Which of the two happens first: does the 1/2 move out, or does the sum split?",
    ],
    "chain-repeats": [
        "Two neighbours are the same expression; + 0 and * 1 are no step. What does "
        "each step change?",
    ],
    "chain": ["Return an expression that begins with Chain( and goes on with .then(."],
    "link-raises": ["Write the size of each factor of that expression beside it."],
}
