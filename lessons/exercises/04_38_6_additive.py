"""38.6  What only the additive score can do  ●●○○  25 min  needs 38.1  book §38.1

    additive   e(h) = v_a . tanh(W_a [s; h])        general   e(h) = s^T W_g h

The chapter states that every score but the additive one grows with s . h. One matrix
W_g disproves this. The real difference appears on a line: of three keys, the middle one
can have the highest additive score.
"""

import numpy as np

from lessons.classroom.theory import Chain


def witness():
    """Return an additive score that is highest for the middle one of three keys.

    ->  W_a (d_a, d_s + d_h), v_a (d_a,), s (d_s,), h1, h2, h3 (d_h,)
    with h2 = (h1 + h3) / 2 exactly, and e(h2) > e(h1), e(h2) > e(h3)

    Choose all widths yourself. [s; h] contains the entries of s first.
    """
    W_a = np.array([[1.0, 1.0], [-1.0, 1.0]])  # tanh(h + s) and tanh(h - s)  #? Which sum of shifted tanh curves rises first and falls then?
    #! W_a = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])  | shape
    v_a = np.array([1.0, -1.0])  # their difference is a bump around h = 0  #? One tanh rises everywhere, and so does a sum of rising ones.
    #! v_a = np.array([-1.0, 1.0])  | valley
    #! v_a = np.array([1.0, 1.0])  | monotone
    s = np.array([1.0])
    h1, h3 = np.array([-2.0]), np.array([2.0])  #? The three keys must differ.
    #! h1, h3 = np.array([2.0]), np.array([2.0])  | same-points
    return W_a, v_a, s, h1, (h1 + h3) / 2, h3  #? Return all results, in the order of the docstring.
    #! return W_a, v_a, s, h1, (h1 + h3) / 2 + 0.1, h3  | not-midpoint
    #! return v_a, W_a, s, h1, (h1 + h3) / 2, h3  | swapped
    #! return W_a, v_a, s, h1, h3  | results
    #= return [W_a.tolist(), v_a, s, [-2.0], [0.0], [2]]


def proof():
    """Return a chain that shows: the general score of the middle is the mean.

    So no general score is highest there. A chain, as in 38.1, of functions of (s, W_g,
    h1, h3), from the score of the middle, s @ W_g @ ((h1 + h3) / 2), to the mean of the
    scores of h1 and h3. Use one law in each step: move a number out of the product, or
    write the product with a sum as a sum of products.
    """
    return (
        Chain(lambda s, W_g, h1, h3: s @ W_g @ ((h1 + h3) / 2), "the middle")
        .then(lambda s, W_g, h1, h3: s @ W_g @ (h1 + h3) / 2, "a number moves out")
        .then(lambda s, W_g, h1, h3: (s @ W_g @ h1 + s @ W_g @ h3) / 2, "linear in h")
    )  #? In each step use one law only: the number, or the sum.
    #! return Chain(lambda s, W_g, h1, h3: s @ W_g @ ((h1 + h3) / 2), "the middle").then(lambda s, W_g, h1, h3: (s @ W_g @ h1 + s @ W_g @ h3) / 2, "linear in h")  | two-steps
    #! return Chain(lambda s, W_g, h1, h3: s @ W_g @ ((h1 + h3) / 2), "the middle").then(lambda s, W_g, h1, h3: s @ W_g @ h1, "h1").then(lambda s, W_g, h1, h3: (s @ W_g @ h1 + s @ W_g @ h3) / 2, "linear in h")  | false-link
    #! return Chain(lambda s, W_g, h1, h3: s @ W_g @ (h1 + h3) / 2, "a number moves out").then(lambda s, W_g, h1, h3: (s @ W_g @ h1 + s @ W_g @ h3) / 2, "linear in h")  | starts-elsewhere
    #! return Chain(lambda s, W_g, h1, h3: s @ W_g @ ((h1 + h3) / 2), "the middle").then(lambda s, W_g, h1, h3: s @ W_g @ (h1 + h3) / 2, "a number moves out").then(lambda s, W_g, h1, h3: s @ W_g @ h1 + s @ W_g @ h3, "linear in h")  | arrives-elsewhere
    #= return Chain(lambda s, W_g, h1, h3: s @ W_g @ (0.5 * (h1 + h3)), "the middle").then(lambda s, W_g, h1, h3: s @ W_g @ (h1 / 2) + s @ W_g @ (h3 / 2), "a sum splits").then(lambda s, W_g, h1, h3: 0.5 * (s @ W_g @ h1 + s @ W_g @ h3), "a number moves out")


def counterexample():
    """Return a general score that falls where s . h grows.

    ->  W_g (d, d), s (d,), h1, h2 (d,), with s . h1 < s . h2 and a general score that
        is higher for h1 than for h2
    """
    return -np.eye(1), np.ones(1), np.zeros(1), np.ones(1)  #? s . h is the general score with W_g = I. Which change of W_g reverses its order?
    #! return np.eye(1), np.ones(1), np.zeros(1), np.ones(1)  | no-counterexample
    #! return -np.eye(1), np.ones(1), np.ones(1), np.zeros(1)  | dot-does-not-rise
    #! return np.ones(1), -np.eye(1), np.zeros(1), np.ones(1)  | swapped


def situation():
    """Return a string: one situation that needs the additive score, and why.

    Write five words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    return (  #? Which key does a query need that lies between others?
        "A query that asks for keys near a value, neither below nor above it, such as "
        "the next position: the best key is in the middle of others, and a score that "
        "is linear in the key is highest at an end."
    )


# ---- THE CHECK: the results are not unique, so laws of them are stated

import math
from fractions import Fraction

from lessons.checks.words import self_assessed
from lessons.classroom.checking.calls import array_of_rows
from lessons.classroom.theory import check_chain, equal, links_that_run, rationals


def the_middle(my, rng):
    """the key in the middle has the highest score"""
    W_a, v_a, s, h1, h2, h3 = arrays(my, "witness", "W_a, v_a, s, h1, h2, h3")
    widths = (v_a.size, s.size + h1.size), (v_a.size,), (s.size,), *[(h1.size,)] * 3
    fit(my, "witness", "W_a, v_a, s, h1, h2, h3", (W_a, v_a, s, h1, h2, h3), widths)
    text = "h1 and h3 to differ", f"both {h1}"
    my.holds("witness", exact(h1) != exact(h3), *text, "same-points")
    twice = [2 * x for x in exact(h2)]
    ends = [a + b for a, b in zip(exact(h1), exact(h3))]
    found = [float(b - a) for a, b in zip(twice, ends)]
    text = "h2 = (h1 + h3) / 2, exactly", f"h1 + h3 - 2 h2 = {found}"
    my.holds("witness", twice == ends, *text, "not-midpoint")
    e1, e2, e3 = (additive(W_a, v_a, s, h) for h in (h1, h2, h3))
    gap = 1e-9 * max(abs(e1), abs(e2), abs(e3))
    my.holds(
        "witness",
        e2 > max(e1, e3) + gap,
        "e(h2) above e(h1) and e(h3)",
        f"e(h1) = {e1:.6g}, e(h2) = {e2:.6g}, e(h3) = {e3:.6g}",
        "valley" if e2 < min(e1, e3) else "monotone",
    )


def against_only(my, rng):
    """a general score that falls where s . h grows"""
    W_g, s, h1, h2 = arrays(my, "counterexample", "W_g, s, h1, h2")
    widths = (s.size, s.size), *[(s.size,)] * 3
    fit(my, "counterexample", "W_g, s, h1, h2", (W_g, s, h1, h2), widths)
    a, b = (float(inner(exact(s), exact(h))) for h in (h1, h2))
    text = "s . h1 below s . h2", f"{a:g} and {b:g}"
    my.holds("counterexample", a < b, *text, "dot-does-not-rise")
    a, b = (float(general(W_g, s, h)) for h in (h1, h2))
    text = "the general score of h1 above that of h2", f"{a:g} and {b:g}"
    my.holds("counterexample", a > b, *text, "no-counterexample")


def the_chain(my, rng):
    """the chain of equalities, at rational numbers"""
    chain = my.only.proof()

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
        is_equal = np.shape(found) == () and equal(np.asarray(want), np.asarray(found))
        text = f"the {what} expression to be {want} at random fractions", found
        my.holds("proof", is_equal, *text, tag)
    first = Trace.of(chain.links[0][0])
    my.holds(
        "proof",
        first is None or Trace.products == [(2, True)],
        "the score of (h1 + h3) / 2 first, one product with this key",
        "another key, a number outside the product, or products of their own",
        "starts-elsewhere",
    )
    check_chain(my, chain, middle, mean, draw)
    text = "three expressions or more, one law for each step", len(chain.links)
    my.holds("proof", len(chain.links) > 2, *text, "two-steps")
    one_law_each(my, chain)
    traced = Trace.of(chain.links[-1][0])
    my.holds(
        "proof",
        traced is None or not traced[1],
        "scores of h1 and of h3 alone in the last expression",
        "a score of a sum of both",
        "arrives-elsewhere",
    )


def your_own_words(my, rng):
    """a situation, in your own words"""
    self_assessed(
        my,
        my.only.situation(),
        "what the query must find, and among which keys",
        "why a score that is linear in the key cannot rank these keys so (or another "
        "reason: few data, different widths, a readable score)",
        "the cost: a tanh for each pair, and no single matrix product",
        "alternatives: projections, a feature of the keys, more heads",
        least=5,
    )


def one_law_each(my, chain):
    """Fail if a step moves the number out and splits the sum at once."""
    before = None
    for k, (link, _) in enumerate(chain.links):
        now = Trace.of(link)
        my.holds(
            "proof",
            before is None or now is None or np.equal(before > 0, now > 0).any(),
            "one law for each step: a number moves out of the product, or the product "
            "with a sum becomes a sum of products",
            f"both at once between links {k} and {k + 1}: show each",
            "two-steps",
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


def arrays(my, name, names):
    """Return the results of a function, if there is an array for each name."""
    found, wanted = getattr(my.only, name)(), names.split(", ")
    count = len(found) if isinstance(found, (tuple, list)) else 1
    text = f"{len(wanted)} results: {names}", count
    my.holds(name, count == len(wanted), *text, "results")
    found = [array_of_rows(a) if isinstance(a, (list, tuple)) else a for a in found]
    for each, array in zip(wanted, found):
        is_numbers = isinstance(array, np.ndarray) and array.dtype.kind in "fi"
        is_right = is_numbers and np.isfinite(array).all()
        text = f"an array of finite numbers for {each}", repr(array)
        my.holds(name, is_right, *text, "type")
    matrices = [k for k, array in enumerate(found) if array.ndim == 2]
    shapes = ", ".join(str(array.shape) for array in found)
    my.holds(
        name,
        len(matrices) != 1 or matrices == [0],
        f"{names}, of which {names[:3]} alone is a matrix",
        f"shapes {shapes}: the same results in another order",
        "swapped",
    )
    return found


def fit(my, name, names, found, shapes):
    """Fail unless each array has its shape."""
    for each, array, shape in zip(names.split(", "), found, shapes):
        text = f"{each} with shape {shape}", array.shape
        my.holds(name, array.shape == shape, *text, "shape")


HINTS = """
witness  On a line of keys, which sum of shifted tanh curves rises first and falls then?
proof  In each step use one law only: the number, or the sum.
counterexample  Which W_g changes the sign of every score?
not-midpoint  The check compares the middle exactly: choose numbers such as -2, 0, 2.
valley  The middle has the lowest score of the three. Which sign turns a valley into a
   peak?
monotone  One tanh rises everywhere, and so does a sum of rising ones.
same-points  The three keys must differ.
no-counterexample  s . h is the general score with W_g = I. Which change of W_g reverses
   its order?
dot-does-not-rise  Choose h1 and h2 first, with s . h1 below s . h2.
starts-elsewhere  The first expression is the score of (h1 + h3) / 2.
arrives-elsewhere  The last is half the sum of two scores.
false-link  The report names the link at which the value changes. What did you change
   there?
two-steps  Which of the two happens first: does the 1/2 move out, or does the sum split?
chain-repeats  Two neighbours are the same expression; + 0 and * 1 are no step. What
   does each step change?
chain  Return an expression that begins with Chain( and goes on with .then(.
link-raises  Write the size of each factor of that expression beside it.
1  Widths of 1 are enough: s, h1, h2, h3 are then arrays of one number, np.array([0.0]),
   and the score is a sum of shifted tanh curves.
2  One tanh only rises or only falls. The difference of two shifted ones rises and falls
   again.
3  tanh(h + s) - tanh(h - s) is highest at h = 0: use rows (1, 1) and (-1, 1) of W_a,
   and +1 and -1 in v_a. For the counterexample: which W_g changes a sign?
"""
WHY = """A general score is linear in h, so at the middle of two keys it is the mean of
their scores and never the largest of the three. tanh is not linear: a rising and a
falling step, side by side, have their highest sum between them."""
