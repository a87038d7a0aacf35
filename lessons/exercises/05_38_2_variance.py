"""38.2  The variance of a score  ●●●○  35 min  book §38.3

    e = s . h = sum_k s_k h_k      k = 1 … d

All entries are independent. Those of s have mean mu_s and variance v_s, those of h have
mean mu_h and variance v_h. With means of 0 and variances of 1 the variance of e is d,
and the factor 1 / sqrt(d) makes it 1. How much do other means add? A softmax compares
the keys of one query: which part of the variance changes its weights?

The check calls your formulas with Fractions: write exact ones, without roots.
"""

from lessons.classroom.theory import Chain


def var_dot(d, mu_s, mu_h, v_s, v_h):
    """Return the variance of e when both s and h are random."""
    one = v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2  #? E s^2 E h^2 - (E s E h)^2: which terms remain, in which units?
    #! one = v_s * v_h + v_s * mu_h + v_h * mu_s  | the formula with mu_s and mu_h not squared
    #! one = (v_s + mu_s**2) * (v_h + mu_h**2) - mu_s * mu_h  | d (E s^2 E h^2 - mu_s mu_h)
    #! one = v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2 + 2 * mu_s * mu_h  | the variance + 2 d mu_s mu_h
    #! one = 1 + mu_s**2 + mu_h**2  | d (1 + mu_s^2 + mu_h^2), for variances of 1
    #! one = v_s**2 * v_h**2 + v_s**2 * mu_h**2 + v_h**2 * mu_s**2  | the variance with v_s^2 and v_h^2 for v_s and v_h
    #! one = v_s * v_h  | the variance without means
    #! one = (v_s + mu_s**2) * (v_h + mu_h**2)  | d E[(s_1 h_1)^2]
    #! one = v_s * v_h + v_h * mu_h**2 + v_s * mu_s**2  | the variance with v_s and v_h exchanged
    #! one = v_s + v_h  | d (v_s + v_h): s and h are factors
    #! one = v_s * v_h + mu_h**2 + mu_s**2  | d (v_s v_h + mu_s^2 + mu_h^2)
    return d * one  #? How many independent terms are added, and is it their variance or its root?
    #! return (d * one) ** 0.5  | the square root of the variance


def derivation():
    """Return a chain of three or more expressions that derives ``var_dot``.

    Each expression is a function of (E, d, mu_s, mu_h, v_s, v_h), with a reason, as in
    38.1. E(f) is the expected value of f(s_k, h_k): E(lambda s, h: s * h) is that of
    one product. The first expression is d times the variance of one product, written
    with d and E alone. The last one contains d, means and variances, and no E. Between
    them stands what independence gives: E of functions of s alone and of h alone.
    """
    return (  #? E[x^2] - (E x)^2, with x = s h: which step needs that s and h are independent?
        Chain(
            lambda E, d, mu_s, mu_h, v_s, v_h: (
                d * (E(lambda s, h: (s * h) ** 2) - E(lambda s, h: s * h) ** 2)
            ),
            "d independent products have d times the variance of one",
        )
        .then(
            lambda E, d, mu_s, mu_h, v_s, v_h: (
                d
                * (
                    E(lambda s, h: s**2) * E(lambda s, h: h**2)
                    - (E(lambda s, h: s) * E(lambda s, h: h)) ** 2
                )
            ),
            "the mean of a product of independent factors is the product of the means",
        )
        .then(
            lambda E, d, mu_s, mu_h, v_s, v_h: (
                d * ((v_s + mu_s**2) * (v_h + mu_h**2) - (mu_s * mu_h) ** 2)
            ),
            "E s^2 = v_s + mu_s^2, and mu_s^2 mu_h^2 cancels",
        )
        .then(
            lambda E, d, mu_s, mu_h, v_s, v_h: var_dot(d, mu_s, mu_h, v_s, v_h),
            "expanded",
        )
    )


def var_between_keys(d, mu_s, mu_h, v_s, v_h):
    """Return the variance of e over random keys h, as a mean over the queries s.

    It measures how far apart the scores of one row of attention are.
    """
    square = v_s + mu_s**2  #? The queries are random too: what is E s^2?
    return d * v_h * square  #? For one query the s_k are constants. Which mean cancels in the softmax?
    #! return var_dot(d, mu_s, mu_h, v_s, v_h)  | the variance if s is random as well
    #! return d * v_s * (v_h + mu_h**2)  | the variance over queries, for a given key


def centred_gain(mu_s, mu_h, v_s, v_h):
    """Return the variance of e, divided by its variance for means of 0."""
    return 1 + mu_h**2 / v_h + mu_s**2 / v_s  #? Divide the two variances: which variance cancels in v_h mu_s^2?
    #! return 1 + mu_s**2 + mu_h**2  | 1 + mu_s^2 + mu_h^2, the gain for variances of 1
    #! return 1 + mu_h**2 * v_s + mu_s**2 * v_h  | 1 + mu_s^2 v_h + mu_h^2 v_s
    #! return var_dot(1, mu_s, mu_h, v_s, v_h)  | the variance before, not divided
    #! return 1 + mu_h**2 / v_s + mu_s**2 / v_h  | 1 + mu_s^2 / v_h + mu_h^2 / v_s
    #! return 1 + mu_h / v_h + mu_s / v_s  | the formula with mu_s and mu_h not squared
    #! return 1 / (1 + mu_h**2 / v_h + mu_s**2 / v_s)  | the variance after, divided by that before
    #! return (1 + mu_h**2 / v_h) * (1 + mu_s**2 / v_s)  | (1 + mu_s^2 / v_s) (1 + mu_h^2 / v_h)


def centre(x):
    """Subtract from each row of x (…, d) its own mean, as LayerNorm does first."""
    return x - x.mean(axis=-1, keepdims=True)  #? Each row has its own mean, over which axis? And its spread?
    #! return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)  | rows whose spread is 1 as well


def explanation():
    """Return a string: why does this argue for centring the inputs of attention, as
    LayerNorm does?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? Which of the two means changes the weights, and what does LayerNorm do to it?
        "1 / sqrt(d) is right for means of 0; others add d (v_s mu_h^2 + v_h mu_s^2)\n"
        "which part the softmax sees: a mean of the keys adds one number to all scores "
        "of a query and cancels; a mean of the queries does not\n"
        "a larger variance: sharper weights and smaller gradients, before training\n"
        "LayerNorm removes the mean over the entries of each vector, not one that each "
        "entry has of its own"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from fractions import Fraction

from lessons.course.words import your_own_words  # noqa: F401
from lessons.classroom.theory import check_chain, holds, rationals, two_point_mean


def points(rng, n):
    """Yield n points (mu_s, mu_h, v_s, v_h) of floats, and as many of fractions."""
    for _ in range(n):
        yield [*map(float, rng.normal(size=2)), *map(float, rng.uniform(0.5, 2, 2))]
    for _ in range(n):
        mu_s, mu_h, v_s, v_h = rationals(rng, 4)
        yield mu_s, mu_h, abs(v_s) + Fraction(1, 3), abs(v_h) + Fraction(1, 5)


def all_random(my, rng):
    """the variance of a score and between keys, and the gain, in exact fractions"""
    for d in (1, 2, 3, 17, 64):
        for point in points(rng, 2):
            my.var_dot(d, *point)
            my.var_between_keys(d, *point)
            my.centred_gain(*point)


def rows(my, rng):
    """the rows of centre, also one row, several axes, and rows of one entry"""
    for shape in ((3, 5), (5, 5), (11,), (2, 3, 7), (2, 1)):
        my.centre(rng.normal(size=shape) + rng.normal(size=(*shape[:-1], 1)))


def dependent(f):
    """Return the mean of f(s, h) for two pairs: s and h are large together."""
    return (f(Fraction(2), Fraction(3)) + f(Fraction(5), Fraction(7))) / 2


def the_derivation(my, rng):
    """the derivation, at exact fractions"""

    def draw():
        mu_s, mu_h, a, b = rationals(rng, 4)
        means, spreads = [mu_s, mu_h], [abs(a) + Fraction(1, 3), abs(b) + Fraction(1, 5)]
        E = lambda f: two_point_mean(lambda x: f(*x), means, spreads)  # noqa: E731
        return E, int(rng.integers(2, 9)), *means, *(x**2 for x in spreads)

    (first, _), *_, (last, _) = derivation().links
    links = check_chain(my, my.only.derivation(), first, last, draw)
    _, *rest = draw()
    want, found = first(dependent, *rest), [link(dependent, *rest) for link in links]
    doubled = [link(lambda f: 2 * dependent(f), *rest) for link in links]
    expected = f"E alone in the first expression: {want} for dependent s and h"
    holds(my, found[0] == want, "starts-elsewhere", expected, found[0])
    expected, text = "no E in the last expression", "another value for another E"
    holds(my, found[-1] == doubled[-1], "arrives-elsewhere", expected, text)
    needs_it = any(a != want and a != b for a, b in zip(found, doubled))
    expected = "an expression of E between the two ends that needs independence"
    text = "that all hold for dependent s and h too, or that E is no part of them"
    holds(my, needs_it, "no-independence", expected, text)


HINTS = """
1  The d products are independent and have the same distribution: find the variance of
   one, s_k h_k.
2  Var(x) = E[x^2] - (E x)^2, and E[s^2 h^2] = E[s^2] E[h^2]. Write E[s^2] with mu_s and
   v_s. For one query the s_k are constants, and Var(a h) = a^2 Var(h).
3  (v_s + mu_s^2)(v_h + mu_h^2) - mu_s^2 mu_h^2: expand it, and one term cancels. For
   one query: v_h times sum_k s_k^2, then the mean over s.
"""
WHY = """A product of independent numbers has variance v_s v_h + mu_s^2 v_h + mu_h^2 v_s,
and the variances of d independent products add. Only the terms with v_h differ between
the keys of one query, and a softmax ignores what all scores of a row have in common."""
