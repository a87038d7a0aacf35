"""Check an answer to 38.2."""

import math
from fractions import Fraction

import numpy as np

from attention import masked_softmax, scaled_dot
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.steps import CheckFailed, edges, laws, numbers, shape, values
from lessons.classroom.theory import (
    check_chain,
    links_that_run,
    rationals,
    two_point_mean,
)  # fmt: skip


# THE EXERCISE IN LOOPS


def var_dot(d, mu_s, mu_h, v_s, v_h):
    return d * (v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2)


def var_between_keys(d, mu_s, mu_h, v_s, v_h):
    return d * v_h * (v_s + mu_s**2)


def centred_gain(mu_s, mu_h, v_s, v_h):
    return 1 + mu_h**2 / v_h + mu_s**2 / v_s


def centre(x):
    y = np.zeros(x.shape)
    for i in np.ndindex(x.shape[:-1]):
        y[i] = x[i] - sum(x[i]) / len(x[i])
    return y


# THE CHECK


def dot(x):
    """Return s . h for the entries of s and of h in one list."""
    d = len(x) // 2
    return sum(s * h for s, h in zip(x[:d], x[d:]))


def variance(d, mu_s, mu_h, sd_s, sd_h):
    """Return the variance of s . h if each entry is mean - sd or mean + sd."""
    means, spreads = [mu_s] * d + [mu_h] * d, [sd_s] * d + [sd_h] * d
    squares = two_point_mean(lambda x: dot(x) ** 2, means, spreads)
    return squares - two_point_mean(dot, means, spreads) ** 2


def between_keys(d, mu_s, mu_h, sd_s, sd_h):
    """Return the variance of s . h for a given s, as a mean over all s."""

    def given(s):
        def square(h):
            return dot([*s, *h]) ** 2

        def plain(h):
            return dot([*s, *h])

        keys = [mu_h] * d, [sd_h] * d
        return two_point_mean(square, *keys) - two_point_mean(plain, *keys) ** 2

    return two_point_mean(given, [mu_s] * d, [sd_s] * d)


def points(rng, n):
    """Yield n points (mu_s, mu_h, sd_s, sd_h) of fractions; no deviation is 0."""
    for _ in range(n):
        mu_s, mu_h, sd_s, sd_h = rationals(rng, 4)
        yield mu_s, mu_h, abs(sd_s) + Fraction(1, 3), abs(sd_h) + Fraction(1, 5)


def exactly(my, found, want):
    """Fail unless two exact numbers are equal."""
    tag, text = "unknown", "no known pattern"
    if isinstance(found, float) and math.isclose(found, want, rel_tol=1e-9):
        tag, text = "float", "yours is a float, but the exact fraction is expected"
    with my._comparing(float(found)):
        if found != want:
            lines = f"expected {want}", f"found    {found}", f"{text}  [{tag}]"
            raise CheckFailed(tag, *my.last_call(), *lines)


@shape("numbers, and rows of the same shape")
def rows_as_they_were(my, rng):
    my.shape(my.centre(rng.normal(size=(3, 5))), (3, 5), "td")
    my.shape(my.var_dot(3, 0.5, 0.5, 1.0, 1.0), (), "")
    my.shape(my.var_between_keys(3, 0.5, 0.5, 1.0, 1.0), (), "")
    my.shape(my.centred_gain(0.5, 0.5, 1.0, 1.0), (), "")


@numbers("means of 0, variances of 1: 64 at d = 64, 1024 at d = 1024")
def without_means(my, rng):
    for d in (64, 1024):
        exactly(my, my.var_dot(d, 0, 0, 1, 1), d)


@values("the variance of s . h over all cases, in fractions")
def every_case(my, rng):
    for d, n in ((1, 7), (2, 4), (3, 2)):
        for mu_s, mu_h, sd_s, sd_h in points(rng, n):
            want = variance(d, mu_s, mu_h, sd_s, sd_h)
            exactly(my, my.var_dot(d, mu_s, mu_h, sd_s**2, sd_h**2), want)


@values("the variance between the keys of a query, over all cases")
def every_key(my, rng):
    for d, n in ((1, 7), (2, 4), (3, 2)):
        for mu_s, mu_h, sd_s, sd_h in points(rng, n):
            want = between_keys(d, mu_s, mu_h, sd_s, sd_h)
            exactly(my, my.var_between_keys(d, mu_s, mu_h, sd_s**2, sd_h**2), want)


@values("the gain of removing the means, and the rows of centre")
def what_is_gained(my, rng):
    for mu_s, mu_h, sd_s, sd_h in points(rng, 8):
        after = variance(1, 0, 0, sd_s, sd_h)
        want = variance(1, mu_s, mu_h, sd_s, sd_h) / after
        exactly(my, my.centred_gain(mu_s, mu_h, sd_s**2, sd_h**2), want)
    x = rng.normal(size=(3, 5)) + rng.normal(size=(3, 1))
    my.equal(my.centre(x), centre(x), "td")


@laws("normal entries have the same variance: 40,000 draws")
def normal_entries(my, rng):
    d, mu_s, mu_h, v_s, v_h = 17, 0.5, -1.0, 2.0, 0.5
    s = mu_s + v_s**0.5 * rng.normal(size=(40_000, d))
    h = mu_h + v_h**0.5 * rng.normal(size=(40_000, d))
    measured = (s * h).sum(1).var()
    found = my.var_dot(d, mu_s, mu_h, v_s, v_h)
    my.holds(
        abs(found / measured - 1) < 0.06,
        "draws",
        f"expected about {measured:.4g}, the variance of 40,000 draws",
        f"found {found:.4g}",
    )


@laws("attention: an offset of the queries sharpens it, one of the keys does not")
def in_attention(my, rng):
    """For many keys with scores N(0, v), the entropy is log T - v / 2."""
    T, d, v_h = 1024, 64, 0.25
    Q, K = rng.normal(size=(64, d)), v_h**0.5 * rng.normal(size=(T, d))
    plain = entropy(Q, K)
    found = {
        "keys + 3": plain - entropy(Q, K + 3),
        "queries + 1.5": plain - entropy(Q + 1.5, K),
        "queries + 1.5, centred": plain - entropy(my.centre(Q + 1.5), K),
    }

    def v(mu_s, mu_h):
        return my.var_between_keys(d, mu_s, mu_h, 1, v_h) / d  # of scores / sqrt(d)

    predicted = ((v(0, 3) - v(0, 0)) / 2, (v(1.5, 0) - v(0, 0)) / 2, 0.0)
    for (what, fell), want in zip(found.items(), predicted):
        my.holds(
            abs(fell - want) < 0.03,
            "entropy",
            f"expected the entropy to fall by {want:.3f} for {what}",
            f"found {fell:.3f}",
        )


@edges("one entry, and a row of equal entries")
def one_entry(my, rng):
    my.equal(my.centre(np.array([[3.0], [4.0]])), np.zeros((2, 1)), "td", size=4)
    my.equal(my.centre(np.full((2, 3), 7.0)), np.zeros((2, 3)), "td", size=7)
    my.equal(my.centre(np.array([1.0, 3.0])), [-1.0, 1.0], "d")


@laws("the derivation, at exact fractions")
def the_derivation(my, rng):
    chain = my.derivation()

    def draw():
        [(mu_s, mu_h, sd_s, sd_h)] = points(rng, 1)

        def E(f):
            return two_point_mean(lambda x: f(*x), [mu_s, mu_h], [sd_s, sd_h])

        return E, int(rng.integers(2, 9)), mu_s, mu_h, sd_s**2, sd_h**2

    def first(E, d, *rest):
        return d * (E(lambda s, h: s * h * s * h) - E(lambda s, h: s * h) ** 2)

    def last(E, d, mu_s, mu_h, v_s, v_h):
        return d * v_s * v_h + d * v_s * mu_h**2 + d * v_h * mu_s**2

    arguments = draw()
    links_that_run(my, chain, arguments)
    for tag, (link, _), right, what in (
        ("starts-elsewhere", chain.links[0], first, "first"),
        ("arrives-elsewhere", chain.links[-1], last, "last"),
    ):
        want, found = right(*arguments), link(*arguments)
        text = f"expected the {what} expression to be {want} at random fractions"
        my.holds(found == want, tag, text, f"found {found}")
    uses_of_E = []

    def dependent(f):  # s and h are both below their means, or both above
        uses_of_E.append(f)
        _, _, mu_s, mu_h, v_s, v_h = arguments
        a, b = (Fraction(math.isqrt(v.numerator), math.isqrt(v.denominator))
                for v in (v_s, v_h))  # fmt: skip
        return (f(mu_s + a, mu_h + b) + f(mu_s - a, mu_h - b)) / 2

    want = first(dependent, *arguments[1:])
    found = [link(dependent, *arguments[1:]) for link, _ in chain.links]

    def doubled(f):
        return 2 * dependent(f)

    changed = [link(doubled, *arguments[1:]) for link, _ in chain.links]
    my.holds(
        found[0] == want,
        "starts-elsewhere",
        "expected E alone in the first expression, so that it is right for dependent "
        f"s_k and h_k as well: {want}",
        f"found {found[0]}",
    )
    uses_of_E.clear()
    chain.links[-1][0](dependent, *arguments[1:])
    text = "expected no E in the last expression", f"found {len(uses_of_E)} calls of E"
    my.holds(not uses_of_E, "arrives-elsewhere", *text)
    count = len(chain.links)
    text = "expected three expressions or more", f"found {count}"
    my.holds(count > 2, "too-short", *text)
    my.holds(
        any(a != want and a != b for a, b in zip(found[1:-1], changed[1:-1])),
        "no-independence",
        "expected an expression of E between the two ends that needs independence",
        "found that all of them hold for dependent s_k and h_k too, or that E is no "
        "part of their values",
    )
    check_chain(my, chain, first, last, draw)


@edges("why LayerNorm, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "the factor 1 / sqrt(d) is right for means of 0; other means add d (v_s "
        "mu_h^2 + v_h mu_s^2)",
        "which part the softmax sees: a mean of the keys adds one number to all "
        "scores of a query and cancels; a mean of the queries does not",
        "a larger variance means sharper weights and smaller gradients, before any "
        "training",
        "LayerNorm removes the mean over the entries of each vector, not one that "
        "each entry has of its own",
    )


def entropy(Q, K):
    """Return the mean entropy of the engine's scaled dot-product attention."""
    p = masked_softmax(scaled_dot(Q, K)).numpy()
    return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), -1).mean()


SUM, KEYS = "(v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2)", "d * v_h * (v_s + mu_s**2)"
GAIN = "1 + mu_h**2 / v_h + mu_s**2 / v_s"
WITH_MU_H, WITH_MU_S = " + v_s * mu_h**2", " + v_h * mu_s**2"
MEAN = "sum(x[i]) / len(x[i])"
UNITS = "Which units does v_s mu_h have, and which does v_s v_h have?"
UNIT = "That is lesson 05's case v_s = v_h = 1. Here they are given."
TERMS = "e is a sum of d products."
ADDED = "Variances of independent terms add up. How many terms are there?"
NO_MEANS = "That is the variance where both means are 0."
NEVER = "A mean never makes the variance smaller."
ROOT = "Is that a variance, or its square root?"
FACTORS = "Expand E s^2 E h^2: which factor does each squared mean have?"
BOTH = "Remove both means."
OWN = "Each row has its own mean, over the last axis."
CONSTANTS = (
    "For one query the s_k are constants. Does a mean of h that is the same for all "
    "keys change the differences of their scores?"
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("not-squared", "the formula with mu_s and mu_h not squared", UNITS, SUM,
     SUM.replace("**2", "")),
    ("not-squared", "d (E s^2 E h^2 - mu_s mu_h)", UNITS, SUM,
     "((v_s + mu_s**2) * (v_h + mu_h**2) - mu_s * mu_h)"),
    ("cross-term", "the variance + 2 d mu_s mu_h",
     "Which terms does (E s E h)^2 remove from E s^2 E h^2?", WITH_MU_S,
     f"{WITH_MU_S} + 2 * mu_s * mu_h"),
    ("unit-variances", "d (1 + mu_s^2 + mu_h^2), for variances of 1", UNIT, SUM,
     "(1 + mu_s**2 + mu_h**2)"),
    ("one-term", "the variance of one product", TERMS, f"d * {SUM}", SUM),
    ("d-squared", "d times the variance", ADDED, SUM, f"d * {SUM}"),
    ("deviation", "the square root of the variance", ROOT, f"d * {SUM}",
     f"(d * {SUM}) ** 0.5"),
    ("deviation", "the variance with v_s^2 and v_h^2 for v_s and v_h", ROOT, SUM,
     "(v_s**2 * v_h**2 + v_s**2 * mu_h**2 + v_h**2 * mu_s**2)"),
    ("centred-only", "the variance without means", NO_MEANS, WITH_MU_H + WITH_MU_S, ""),
    ("no-mu-h", "the variance with mu_h = 0",
     "A mean of h multiplies every deviation of s.", WITH_MU_H, ""),
    ("no-mu-s", "the variance with mu_s = 0",
     "A mean of s multiplies every deviation of h.", WITH_MU_S, ""),
    ("second-moment", "d E[(s_1 h_1)^2]",
     "E[x^2] is the variance only if the mean is 0.", WITH_MU_S,
     f"{WITH_MU_S} + mu_s**2 * mu_h**2"),
    ("exchanged", "the variance with v_s and v_h exchanged",
     "mu_h multiplies the deviations of which vector?", WITH_MU_H + WITH_MU_S,
     " + v_h * mu_h**2 + v_s * mu_s**2"),
    ("sum-for-product", "d (v_s + v_h)",
     "Var(s h) is not Var(s) + Var(h): s and h are factors.", SUM, "(v_s + v_h)"),
    ("no-variance", "d (v_s v_h + mu_s^2 + mu_h^2)", FACTORS, WITH_MU_H + WITH_MU_S,
     " + mu_h**2 + mu_s**2"),
    ("minus", "the variance with - v_h mu_s^2", NEVER, WITH_MU_S, " - v_h * mu_s**2"),
    ("minus", "the variance with - v_s mu_h^2", NEVER, WITH_MU_H, " - v_s * mu_h**2"),
    ("no-variance", "the formula without v_h", FACTORS, KEYS, "d * (v_s + mu_s**2)"),
    ("minus", "the formula with - mu_s^2", NEVER, KEYS, "d * v_h * (v_s - mu_s**2)"),
    ("one-query", "the variance for a query of entries 1",
     "The queries are random too: the result is a mean over them.", KEYS, "d * v_h"),
    ("all-random", "the variance if s is random as well", CONSTANTS, KEYS,
     f"d * {SUM}"),
    ("centred-only", "the variance without means", NO_MEANS, KEYS, "d * v_h * v_s"),
    ("other-side", "the variance over queries, for a given key",
     "Here the keys are random and the query is constant.", KEYS,
     "d * v_s * (v_h + mu_h**2)"),
    ("one-term", "the variance of one product", TERMS, KEYS,
     "v_h * (v_s + mu_s**2)"),
    ("not-squared", "the formula with mu_s not squared", UNITS, KEYS,
     "d * v_h * (v_s + mu_s)"),
    ("means-only", "the variance without v_s",
     "E s^2 = v_s + mu_s^2. Which of the two is missing?", KEYS, "d * v_h * mu_s**2"),
    ("d-squared", "d times the variance", ADDED, KEYS, f"d * {KEYS}"),
    ("unit-variances", "1 + mu_s^2 + mu_h^2, the gain for variances of 1", UNIT, GAIN,
     "1 + mu_s**2 + mu_h**2"),
    ("not-divided", "1 + mu_s^2 v_h + mu_h^2 v_s", "", GAIN,
     "1 + mu_s**2 * v_h + mu_h**2 * v_s"),
    ("not-divided", "the variance before, not divided", "", GAIN, SUM),
    ("gain-minus-one", "the gain - 1",
     "The variance without means is part of the variance with them.", GAIN,
     "mu_h**2 / v_h + mu_s**2 / v_s"),
    ("crossed", "1 + mu_s^2 / v_h + mu_h^2 / v_s",
     "Divide the two formulas: which variance cancels in v_h mu_s^2?", GAIN,
     "1 + mu_h**2 / v_s + mu_s**2 / v_h"),
    ("not-squared", "the formula with mu_s and mu_h not squared", UNITS, GAIN,
     "1 + mu_h / v_h + mu_s / v_s"),
    ("inverse", "the variance after, divided by that before",
     "Divide the variance with the means by the variance without them.", GAIN,
     f"1 / ({GAIN})"),
    ("one-mean", "the gain of removing mu_h if mu_s is 0", BOTH, GAIN,
     "1 + mu_h**2 / v_h"),
    ("one-mean", "the gain of removing mu_s if mu_h is 0", BOTH, GAIN,
     "1 + mu_s**2 / v_s"),
    ("product", "(1 + mu_s^2 / v_s) (1 + mu_h^2 / v_h)",
     "Multiply both out. Which term is not in var_dot / (d v_s v_h)?", GAIN,
     "(1 + mu_h**2 / v_h) * (1 + mu_s**2 / v_s)"),
    ("one-mean-for-all", "x less the mean of all its entries", OWN, MEAN, "x.mean()"),
    ("one-mean-for-all", "x less the mean of each column", OWN, MEAN, "x.mean(0)"),
    ("with-variance", "rows whose spread is 1 as well",
     "Subtract the mean only and keep the spread.", f"x[i] - {MEAN}",
     f"(x[i] - {MEAN}) / x[i].std()"),
    ("no-change", "x", "Over which axis is the mean, and do you subtract it?", MEAN,
     "0"),
    ("sum", "x less the sum of each row",
     "A mean is a sum, divided by the number of entries.", MEAN, "sum(x[i])"),
    ("sign", "x plus the mean of each row",
     "What is the mean of a row after its mean was removed?", f"- {MEAN}", f"+ {MEAN}"),
]  # fmt: skip

HINTS = {
    "derivation": [
        "The expected value of a product of independent factors is the product of "
        "theirs.",
    ],
    "var_dot": [
        "Find the variance of one product s_k h_k first; the d of them are "
        "independent.",
    ],
    "var_between_keys": [
        "One query is a constant for all its keys: which factor of s_k h_k is still "
        "random?",
    ],
    "centred_gain": ["Divide two results of var_dot. What becomes of d?"],
    "centre": ["Each row has its own mean, over the last axis."],
    "": [
        "The d products are independent and have the same distribution: find the "
        "variance of one, s_k h_k.",
        "Var(x) = E[x^2] - (E x)^2, and E[s^2 h^2] = E[s^2] E[h^2]. Write E[s^2] "
        "with mu_s and v_s. For one query the s_k are constants, and Var(a h) = a^2 "
        "Var(h).",
        "(v_s + mu_s^2)(v_h + mu_h^2) - mu_s^2 mu_h^2: expand it, and one term "
        "cancels. For one query: v_h times sum_k s_k^2, then the mean over s.",
    ],
    "float": [
        "The formula is right, but a float has rounded its value. Sums, products and "
        "quotients of Fractions are Fractions. Which operation returns a float?",
    ],
    "starts-elsewhere": [
        "The variance of x is E[x^2] - (E x)^2. Here x is the product s_k h_k.",
    ],
    "arrives-elsewhere": ["The last expression is var_dot(d, mu_s, mu_h, v_s, v_h)."],
    "no-independence": [
        "E[s^2 h^2] = E[s^2] E[h^2] holds for independent s and h only. Write an "
        "expression that uses it, before the last.",
    ],
    "false-link": [
        "The report names the link at which the value changes. What did you change "
        "there?",
    ],
    "too-short": ["Write what independence gives, before you put in the variances."],
}
