"""Check an answer to E.8."""

import math

import numpy as np

from lessons.checks.measure import no_epsilon, peak_numbers, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, several, shape_all
from lessons.classroom.steps import edges, laws, numbers, shape, values

OWN_STATE = {"update": ("m", "z", "u")}  # may be overwritten, as the stub says
AXES = {"m": "L", "z": "L", "u": ("L", "Ev"), "o": ("L", "Ev"), "lse": "L"}

# THE EXERCISE IN LOOPS


def online_attention(s, V, block):
    """The stub has it, complete."""
    L, S = s.shape
    m, z, u = np.full(L, -np.inf), np.zeros(L), np.zeros((L, V.shape[1]))
    for j in range(0, S, block):
        m, z, u = update(m, z, u, s[:, j : j + block], V[j : j + block])
    return finish(m, z, u)


def update(m, z, u, s, V):
    """One row after the other, and one key after the other"""
    m, z, u = m.copy(), z.copy(), u.copy()
    for i, row in enumerate(s):
        top = max(m[i], *row)
        if top > -np.inf:  # there is a key
            z[i] *= np.exp(m[i] - top)
            u[i] *= np.exp(m[i] - top)
            for x, v in zip(row, V):
                z[i] += np.exp(x - top)
                u[i] += np.exp(x - top) * v
        m[i] = top
    return m, z, u


def finish(m, z, u):
    o, lse = np.zeros(u.shape), np.full(len(m), -np.inf)
    for i in range(len(m)):
        if z[i] > 0:
            o[i] = u[i] / z[i]
            lse[i] = m[i] + np.log(z[i])
    return o, lse


def merge(o1, lse1, o2, lse2):
    """The weights of the two sets are exp(lse1) and exp(lse2)."""
    o, lse = np.zeros(o1.shape), np.full(len(lse1), -np.inf)
    for i, (a, b) in enumerate(zip(lse1, lse2)):
        high = max(a, b)
        if high > -np.inf:
            w1, w2 = np.exp(a - high), np.exp(b - high)
            o[i] = (w1 * o1[i] + w2 * o2[i]) / (w1 + w2)
            lse[i] = high + np.log(w1 + w2)
    return o, lse


# THE CHECK


def whole(s, V):
    """Return o and lse over all keys at once."""
    return online_attention(s, V, len(V))


def sums(s, V):
    """Return m, z and u over all keys at once."""
    L, Ev = len(s), V.shape[1]
    return update(np.full(L, -np.inf), np.zeros(L), np.zeros((L, Ev)), s, V)


def compare(my, found, s, V):
    """Fail unless o and lse are those of all scores and values."""
    equal_all(my, found, dict(zip(("o", "lse"), whole(s, V))), AXES)


def draw(rng, L=3, S=7, Ev=5):
    return rng.normal(size=(L, S)) * 2, rng.normal(size=(S, Ev))


def finite(my, found, what):
    found = np.asarray(found)
    bad = found[~np.isfinite(found)]
    my.holds(
        not bad.size,
        "nan",
        f"expected finite numbers in {what}",
        f"found {bad[:1]} in {bad.size} of {found.size} entries",
    )


@shape("three sums for each row, an output and an lse")
def three_sums(my, rng):
    s, V = draw(rng)
    found = my.update(*sums(s[:, :4], V[:4]), s[:, 4:], V[4:])
    shape_all(my, found, {"m": (3,), "z": (3,), "u": (3, 5)}, AXES)
    shape_all(my, my.finish(*sums(s, V)), {"o": (3, 5), "lse": (3,)}, AXES)


@numbers("scores ln 1, then ln 2 and ln 4, by hand")
def by_hand(my, rng):
    before = np.log([1.0]), np.ones(1), np.array([[8.0]])
    s, V = np.log([[2.0, 4.0]]), np.array([[1.0], [2.0]])
    # exponentials 1, 2, 4 relative to 4; values 8, 1, 2
    want = {"m": [math.log(4)], "z": [7 / 4], "u": [[8 / 4 + 1 / 2 + 2]]}
    want = {name: np.array(each) for name, each in want.items()}
    with without_loops():
        equal_all(my, my.update(*before, s, V), want, AXES)


@values("update, after larger scores and after smaller ones")
def after_others(my, rng):
    for sizes in ((), (4, 8, 4)):  # also as many rows as keys in a block, and values
        s, V = draw(rng, *sizes)
        s[0, :4] += 9  # the largest score comes before the block
        s[1, 4:] += 9  # and in it
        found = my.update(*sums(s[:, :4], V[:4]), s[:, 4:], V[4:])
        equal_all(my, found, dict(zip("mzu", sums(s, V))), AXES)


@values("finish, and attention in blocks")
def in_blocks(my, rng):
    s, V = draw(rng)
    m, z, u = sums(s, V)
    compare(my, my.finish(m, z, u), s, V)
    o, lse = several(my, my.finish(m, z, u), ("o", "lse"))
    with np.errstate(all="ignore"):
        added = {
            "u / (z": (u / o - z[:, None]).mean(1),
            "ln (z": np.exp(lse - m) - z,
        }
    for what, each in added.items():
        no_epsilon(my, each, what, "finish")
    for block in (1, 2, 3, 7, 11):
        compare(my, my.online_attention(s, V, block), s, V)
    s, V = draw(rng, 5, 5, 5)
    compare(my, my.online_attention(s, V, 5), s, V)


@values("merge of 4 keys and 3")
def of_two_sets(my, rng):
    s, V = draw(rng)
    (o1, lse1), (o2, lse2) = whole(s[:, :4], V[:4]), whole(s[:, 4:], V[4:])
    compare(my, my.merge(o1, lse1, o2, lse2), s, V)
    high = np.maximum(lse1, lse2)
    w1, w2 = (np.exp(lse - high)[:, None] for lse in (lse1, lse2))
    o, lse = several(my, my.merge(o1, lse1, o2, lse2), ("o", "lse"))
    with np.errstate(all="ignore"):
        added = ((w1 * o1 + w2 * o2) / o - (w1 + w2)).mean(1)
    no_epsilon(my, added, "(w1 o1 + w2 o2) / (w1 + w2", "merge")


@laws("blocks in any order, sets in any order")
def in_any_order(my, rng):
    s, V = draw(rng)
    order = rng.permutation(7)
    compare(my, my.online_attention(s[:, order], V[order], 2), s, V)
    parts = [whole(s[:, a:b], V[a:b]) for a, b in ((0, 3), (3, 5), (5, 7))]
    for a, b, c in ((0, 1, 2), (2, 0, 1)):
        compare(my, my.merge(*my.merge(*parts[a], *parts[b]), *parts[c]), s, V)


@edges("rows whose first block, last block, or every block is masked")
def no_keys(my, rng):
    s, V = draw(rng)
    s[0, :4] = s[1, 4:] = s[2] = -np.inf
    m, z, u = my.update(*sums(s[:, :4], V[:4]), s[:, 4:], V[4:])
    finite(my, z, "z")
    finite(my, u, "u")
    found = my.finish(*sums(s, V))
    finite(my, found[0], "o (0 for a row without keys)")
    compare(my, found, s, V)
    for block in (2, 7):
        compare(my, my.online_attention(s, V, block), s, V)
    first, last = whole(s[:, :4], V[:4]), whole(s[:, 4:], V[4:])
    found = my.merge(*first, *last)
    finite(my, found[0], "o (0 if neither set has a key)")
    compare(my, found, s, V)


@edges("scores of 1e4, and of -1e4")
def large(my, rng):
    s, V = draw(rng)
    s[0] += 1e4
    s[1] -= 1e4
    s[2, ::2] += 1e4
    compare(my, my.online_attention(s, V, 3), s, V)
    parts = (*whole(s[:, :4], V[:4]), *whole(s[:, 4:], V[4:]))
    found = [np.asarray(x) for x in several(my, my.merge(*parts), ("o", "lse"))]
    my.holds(
        np.isfinite(found[0]).all() and np.isfinite(found[1]).all(),
        "overflow",
        f"expected finite numbers for lse1 of {parts[1][0]:.6g} and {parts[1][1]:.6g}",
        f"found {found[0][0, 0]:.6g} and {found[0][1, 0]:.6g} as o[0, 0] and o[1, 0]",
    )
    compare(my, found, s, V)


@edges("merge of lse that are far apart")
def far_apart(my, rng):
    o1, o2 = rng.normal(size=(2, 4, 5))
    lse1 = np.array([0.0, 1000.0, -np.inf, 800.0])
    lse2 = np.array([1000.0, 0.0, 800.0, -np.inf])
    o1[2] = o2[3] = 0.0  # a set without keys
    found = my.merge(o1, lse1, o2, lse2)
    for each in several(my, found, ("o", "lse")):
        for k, value in enumerate(np.asarray(each).reshape(4, -1)[:, 0]):
            my.holds(
                np.isfinite(value),
                "overflow",
                f"expected finite numbers for lse1 of {lse1[k]:g} and lse2 of "
                f"{lse2[k]:g}",
                f"found {value:g}",
            )
    o = np.where((lse1 > lse2)[:, None], o1, o2)
    equal_all(my, found, {"o": o, "lse": np.maximum(lse1, lse2)}, AXES)


@edges("memory, for 2000 keys in blocks of 5")
def memory(my, rng):
    s, V = draw(rng, S=2000)
    for given in (s, V):
        given.flags.writeable = False  # then the call makes no copy
    peak = peak_numbers(my.online_attention, s, V, 5)
    with without_loops():
        my.holds(
            peak < s.size / 3,
            "all-pairs",
            f"expected far fewer than L S = {s.size} numbers in memory",
            f"found {peak:.0f} numbers in memory",
        )


OLD, NEW = "np.exp(m[i] - top)", "np.exp(x - top)"
TOP = "top = max(m[i], *row)"
Z_OLD, U_OLD = f"z[i] *= {OLD}", f"u[i] *= {OLD}"
Z_NEW, U_NEW = f"z[i] += {NEW}", f"u[i] += {NEW} * v"
BLOCK = f"""{Z_OLD}
            {U_OLD}
            for x, v in zip(row, V):
                {Z_NEW}
                {U_NEW}"""
STORE = "m[i] = top"
O_Z = "o[i] = u[i] / z[i]"
M_LN_Z = "lse[i] = m[i] + np.log(z[i])"
WEIGHTS = "w1, w2 = np.exp(a - high), np.exp(b - high)"
SHARES = "o[i] = (w1 * o1[i] + w2 * o2[i]) / (w1 + w2)"
BOTH = "lse[i] = high + np.log(w1 + w2)"


def in_sums(name, what, factor, wrong):
    """Return rows with another factor of the old or new sums: of z, of u, of both."""
    z, u = (Z_OLD, U_OLD) if factor == OLD else (Z_NEW, U_NEW)
    both = f"{z}\n{' ' * (12 if factor == OLD else 16)}{u}"
    for line, where in ((both, "z and u"), (z, "z"), (u, "u")):
        yield name, f"{what}, in {where}", "", line, line.replace(factor, wrong)


SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("block-maximum", "the largest score of the new block alone", "", TOP,
     "top = max(row)"),
    ("global-maximum", "m, with the largest score of all rows", "", TOP,
     "top = max(m[i], s.max())"),
    ("minimum", "the smaller of m and the largest new score",
     "Which number keeps every exponent s - m at most 0?", TOP,
     "top = min(m[i], max(row))"),
    ("sum-of-maxima", "m + the largest new score",
     "The largest of two numbers is one of them, not their sum.", TOP,
     "top = m[i] + max(row)"),
    ("maximum-kept", "m, as it was before the block",
     "A block may have a score above all that came before.", STORE, "pass"),
    *in_sums("not-rescaled", "the old sum as it was, and the new", OLD, "1"),
    *in_sums("rescaled-upwards", "exp(m' - m) times the old sum, and the new", OLD,
             "np.exp(top - m[i])"),
    *in_sums("wrong-factor", "exp(2 (m - m')) times the old sum, and the new", OLD,
             f"{OLD} ** 2"),
    *in_sums("no-maximum", "exp(m) times the old sum, and the new", OLD,
             "np.exp(m[i])"),
    ("no-maximum", "sums of exp(s), from which no maximum is subtracted", "", BLOCK,
     BLOCK.replace(" - top", "")),
    *in_sums("no-exponential", "(m - m') times the old sum, and the new", OLD,
             "m[i] - top"),
    *in_sums("overwrites", "the new sum alone", OLD, "0"),
    *in_sums("block-maximum", "the new sum relative to its own maximum", NEW,
             "np.exp(x - max(row))"),
    *in_sums("not-relative", "the new sum without any maximum", NEW, "np.exp(x)"),
    *in_sums("not-relative", "the new sum relative to the old maximum", NEW,
             "np.exp(x - m[i])"),
    *in_sums("both-rescaled", "exp(m - m') times the old and the new", NEW,
             f"{OLD} * {NEW}"),
    *in_sums("mean", "the old sum and a mean over the block", NEW, f"{NEW} / len(V)"),
    ("maximum", "the old sum and the largest new exponential",
     "z is a sum over all keys of the block.", Z_NEW, f"{Z_NEW} * (x == max(row))"),
    *in_sums("no-weights", "the old sum, and the new one without weights", NEW, "1"),
    ("scores-as-weights", "the old sum and s @ V",
     "Which numbers weight the values: s, or exp(s - m')?", U_NEW, "u[i] += x * v"),
    ("divided-early", "u / z, divided in every block",
     "u is a sum until the last block. Which function divides?", STORE,
     "m[i], u[i] = top, u[i] / z[i]"),
    ("divided-early", "the old sum and the average of the block", "", U_NEW,
     f"{U_NEW} / np.exp(row - top).sum()"),
    ("nan", "-inf subtracted from -inf, in a row without keys", "",
     "if top > -np.inf", "if True"),
    ("not-divided", "u, the sum itself", "u is a sum. Divide it to get an average.",
     O_Z, "o[i] = u[i]"),
    *(("wrong-factor", f"o with {text}", "", O_Z, f"o[i] = u[i] {new}")
      for text, new in (
          ("z for 1 / z", "* z[i]"), ("1 / m for 1 / z", "/ m[i]"),
          ("exp(-m) for 1 / z", "* np.exp(-m[i])"), ("1 / z twice", "/ z[i] ** 2"),
          ("a factor 1 / m too many", "/ z[i] / m[i]"),
          ("a factor exp(-m) too many", "/ z[i] * np.exp(-m[i])"))),
    ("nan", "0 / 0, in a row without keys", "", "if z[i] > 0", "if True"),
    ("empty-row", "lse with 0 in a row without keys", "", "np.full(len(m), -np.inf)",
     "np.zeros(len(m))"),
    *(("lse", text, "", M_LN_Z, f"lse[i] = {new}") for text, new in (
        ("ln z, without m", "np.log(z[i])"), ("ln z - m", "np.log(z[i]) - m[i]"),
        ("m + z, without the logarithm", "m[i] + z[i]"),
        ("ln (m + z)", "np.log(abs(m[i] + z[i]))"), ("m - ln z", "m[i] - np.log(z[i])"),
        ("m alone", "m[i]"), ("m z", "m[i] * z[i]"), ("m ln z", "m[i] * np.log(z[i])"),
        ("m + exp(z)", "m[i] + np.exp(z[i])"),
        ("m + ln(1 + z)", "m[i] + np.log1p(z[i])"))),
    *(("log-base", f"m + {text} z", "", M_LN_Z, f"lse[i] = m[i] + np.{text}(z[i])")
      for text in ("log2", "log10")),
    ("equal-shares", "the mean of o1 and o2", "", SHARES, "o[i] = (o1[i] + o2[i]) / 2"),
    ("equal-shares", "o1 + o2", "", SHARES, "o[i] = o1[i] + o2[i]"),
    ("equal-shares", "the mean of o1 and o2, and the larger lse", "", WEIGHTS,
     "w1 = w2 = 0.5"),
    ("larger-alone", "the output of the larger lse alone",
     "Both sets have keys. Which share has each of them?", SHARES,
     "o[i] = o1[i] if a > b else o2[i]"),
    ("lse-shares", "lse1 and lse2 as the weights",
     "lse is a logarithm. Which number is it the logarithm of?", SHARES,
     "o[i] = (a * o1[i] + b * o2[i]) / (a + b)"),
    ("shares-exchanged", "each output with the share of the other",
     "Which of the two has the weight exp(lse1)?", SHARES,
     "o[i] = (w2 * o1[i] + w1 * o2[i]) / (w1 + w2)"),
    ("not-divided", "exp(lse1 - m) o1 + exp(lse2 - m) o2, m the larger of the two", "",
     SHARES, "o[i] = w1 * o1[i] + w2 * o2[i]"),
    ("lse", "exp(lse1 - lse) o1 + exp(lse2 - lse) o2 with lse1 + lse2 for lse", "",
     f"{SHARES}\n            {BOTH}",
     "lse[i], o[i] = a + b, np.exp(-b) * o1[i] + np.exp(-a) * o2[i]"),
    ("overflow", "exp(lse1) o1 + exp(lse2) o2, divided by their sum", "", WEIGHTS,
     f"high = 0.0\n            {WEIGHTS}"),
    ("nan", "-inf subtracted from -inf, in a row without keys", "",
     "if high > -np.inf", "if True"),
    *(("lse", text, "", BOTH, f"lse[i] = {new}") for text, new in (
        ("lse1 + lse2", "a + b"), ("the mean of lse1 and lse2", "(a + b) / 2"),
        ("the larger of lse1 and lse2", "high"),
        ("lse, without the larger of the two", "np.log(w1 + w2)"))),
]  # fmt: skip

HINTS = {
    "all-pairs": ["Which numbers of a block are needed after its update?"],
    "no-exponential": ["A difference of exponents is a ratio of the exponentials."],
    "overwrites": ["The keys of earlier blocks count as well."],
    "wrong-factor": ["o is a sum of values, divided by the sum of their weights."],
    "no-weights": ["Each value has a weight of its own: exp(s - m')."],
    "no-maximum": ["z and u are relative to m': which number is subtracted from s?"],
    "both-rescaled": ["The sums of the block are relative to the new maximum already."],
    "update": ["By which factor do sums change when the maximum changes from m to m'?"],
    "finish": ["z may be 0 in a row without keys: what are o and lse there?"],
    "merge": ["exp(lse1) and exp(lse2) are the shares of the two sets."],
    "": [
        "exp(s - m') = exp(s - m) exp(m - m'): to make a sum relative to m', "
        "multiply each row by one number.",
        "With m' the larger of m and the largest score of the block, multiply z and "
        "u by exp(m - m') and add the sums of the block. In a row without keys m' is "
        "-inf, and the difference of two infinities is NaN: subtract another number "
        "there.",
        "z' = exp(m - m') z + sum_j exp(s_j - m'), and u' likewise, with exp(s - m') "
        "@ V. For merge, exp(lse) is the sum of all exponentials of a set, so the "
        "sets have the weights exp(lse1) and exp(lse2), each divided by their sum; "
        "subtract the larger lse first.",
    ],
    "not-rescaled": [
        "After the block the sums are relative to m'. What were the old sums "
        "relative to?",
    ],
    "rescaled-upwards": [
        "The old sums are relative to m. If m' is larger, do they grow or shrink?",
    ],
    "block-maximum": [
        "m is the largest score of all keys so far, not of the last block only.",
    ],
    "not-relative": ["The sums are relative to m': exp(s - m'), not exp(s)."],
    "equal-shares": [
        "A set of one key and a set of a thousand keys have different weights. Which "
        "number contains the weight of a set?",
    ],
    "overflow": [
        "exp(lse) may be larger than any float64, but the ratio of two is not.",
    ],
    "lse": ["lse = ln sum_j exp(s_j); z is that sum divided by exp(m)."],
}
