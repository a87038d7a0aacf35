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
    #! one = v_s * v_h  | the variance without means
    return d * one  #? How many independent terms are added, and is it their variance or its root?
    #! return (d * one) ** 0.5  | the square root of the variance


def derivation():
    """Return a chain of three or more expressions that derives ``var_dot``.

    Each expression is a function of (E, d, mu_s, mu_h, v_s, v_h), with a reason, as in
    38.1. E(f) is the expected value of f(s_k, h_k): E(lambda s, h: s * h) is that of
    one product. The first expression is d times the variance of one product, written
    with d and E alone. The last has no E. Between them, use that s and h are independent.
    """
    return (  #? E[x^2] - (E x)^2, with x = s h: which step needs that s and h are independent?
        Chain(
            lambda E, d, *_: d * E(lambda s, h: (s * h) ** 2) - d * E(lambda s, h: s * h) ** 2,
            "d independent products have d times the variance of one",
        )
        .then(
            lambda E, d, *_: (
                d * E(lambda s, h: s**2) * E(lambda s, h: h**2)
                - d * (E(lambda s, h: s) * E(lambda s, h: h)) ** 2
            ),
            "the mean of a product of independent factors is the product of the means",
        )
        .then(
            lambda E, *rest: var_dot(*rest),
            "E s^2 = v_s + mu_s^2, and mu_s^2 mu_h^2 cancels",
        )
    )


def var_between_keys(d, mu_s, mu_h, v_s, v_h):
    """Return the variance of e over random keys h, as a mean over the queries s: how
    far apart the scores of one row of attention are.
    """
    return d * v_h * (v_s + mu_s**2)  #? For one query the s_k are constants. Which mean cancels in the softmax? The queries are random too: what is E s^2?
    #! return var_dot(d, mu_s, mu_h, v_s, v_h)  | the variance if s is random as well
    #! return d * v_s * (v_h + mu_h**2)  | the variance over queries, for a given key


def centred_gain(mu_s, mu_h, v_s, v_h):
    """Return the variance of e, divided by its variance for means of 0."""
    return 1 + mu_h**2 / v_h + mu_s**2 / v_s  #? Divide the two variances: which variance cancels in v_h mu_s^2?
    #! return 1 + mu_s**2 + mu_h**2  | 1 + mu_s^2 + mu_h^2, the gain for variances of 1
    #! return 1 + mu_h**2 * v_s + mu_s**2 * v_h  | 1 + mu_s^2 v_h + mu_h^2 v_s
    #! return var_dot(1, mu_s, mu_h, v_s, v_h)  | the variance before, not divided
    #! return 1 + mu_h**2 / v_s + mu_s**2 / v_h  | 1 + mu_s^2 / v_h + mu_h^2 / v_s
    #! return 1 / (1 + mu_h**2 / v_h + mu_s**2 / v_s)  | the variance after, divided by that before
    #! return (1 + mu_h**2 / v_h) * (1 + mu_s**2 / v_s)  | (1 + mu_s^2 / v_s) (1 + mu_h^2 / v_h)
    #! return 1 + mu_h / v_h + mu_s / v_s  | the formula with mu_s and mu_h not squared


def centre(x):
    """Subtract from each row of x (…, d) its own mean, as LayerNorm does first."""
    return x - x.mean(axis=-1, keepdims=True)  #? Each row has its own mean, over which axis? And its spread?
    #! return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)  | rows whose spread is 1 as well


def explanation():
    """Return a string: why does this argue for centring the inputs of attention, as
    LayerNorm does? Write ten words or more; they are not graded.
    """
    return (  #? Which of the two means changes the weights, and what does LayerNorm do to it?
        "a mean of the keys adds one number to all scores of a query and cancels in the "
        "softmax; a mean of the queries does not\n"
        "LayerNorm removes the mean over the entries of each vector, not one that each "
        "entry has of its own"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from fractions import Fraction

from lessons.course.words import your_own_words  # noqa: F401
from lessons.classroom.theory import check_chain, holds, rationals, two_point_mean


def point(rng):
    """Return mu_s, mu_h and two deviations above 0, exact fractions."""
    mu_s, mu_h, a, b = rationals(rng, 4)
    return mu_s, mu_h, abs(a) + Fraction(1, 3), abs(b) + Fraction(1, 5)


def all_random(my, rng):
    """the variances and the gain, in exact fractions, and the rows of centre"""
    for d in (1, 2, 3, 17, 64):
        for numbers in (point(rng), point(rng), [*map(float, point(rng))]):
            my.var_dot(d, *numbers)
            my.var_between_keys(d, *numbers)
            my.centred_gain(*numbers)
    for shape in ((3, 5), (5, 5), (11,), (2, 3, 7), (2, 1)):
        my.centre(rng.normal(size=shape) + rng.normal(size=(*shape[:-1], 1)))


def the_derivation(my, rng):
    """the derivation, at exact fractions"""

    def draw():
        *means, sd_s, sd_h = point(rng)
        E = lambda f: two_point_mean(lambda x: f(*x), means, (sd_s, sd_h))  # noqa: E731
        return E, int(rng.integers(2, 9)), *means, sd_s**2, sd_h**2

    both_large = lambda f: (f(Fraction(2), Fraction(3)) + f(Fraction(5), Fraction(7))) / 2  # noqa: E731
    (first, _), *_, (last, _) = derivation().links
    links = check_chain(my, my.only.derivation(), first, last, draw)
    _, *rest = draw()
    want, found = first(both_large, *rest), [link(both_large, *rest) for link in links]
    doubled = [link(lambda f: 2 * both_large(f), *rest) for link in links]
    expected = f"E alone in the first expression: {want} for dependent s and h"
    holds(my, found[0] == want, "starts-elsewhere", expected, found[0])
    expected, text = "no E in the last expression", "another value for another E"
    holds(my, found[-1] == doubled[-1], "arrives-elsewhere", expected, text)
    needs_it = any(a != want and a != b for a, b in zip(found, doubled))
    expected = "an expression of E between the two ends that needs independence"
    text = "that all hold for dependent s and h too, or that E is no part of them"
    holds(my, needs_it, "no-independence", expected, text)


HINTS = """
1  The d products are independent and alike: find the variance of one, s_k h_k.
2  Var(x) = E[x^2] - (E x)^2, and E[s^2 h^2] = E[s^2] E[h^2]. Write E[s^2] with mu_s and
   v_s. For one query the s_k are constants, and Var(a h) = a^2 Var(h).
3  (v_s + mu_s^2)(v_h + mu_h^2) - mu_s^2 mu_h^2: expand it, and one term cancels. For
   one query: v_h times sum_k s_k^2, then the mean over s.
"""
WHY = """A product of independent numbers has variance v_s v_h + mu_s^2 v_h + mu_h^2 v_s,
and the variances of d independent products add. Only the terms with v_h differ between
the keys of one query, and a softmax ignores what all scores of a row have in common."""
