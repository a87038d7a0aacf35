"""Check an answer to E.8."""

import math

import numpy as np

from lessons.checks.measure import no_epsilon, peak_numbers
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, several, shape_all, wrong_factors
from lessons.classroom.steps import edges, laws, numbers, shape, values

OWN_STATE = {"update": ("m", "z", "u")}  # may be overwritten, as the stub says
AXES = {"m": "L", "z": "L", "u": ("L", "Ev"), "o": ("L", "Ev"), "lse": "L"}


def compare(my, found, s, V, **variants):
    """Fail unless o and lse are those of all scores and values."""
    equal_all(my, found, dict(zip(("o", "lse"), whole(s, V))), AXES, variants)


def sums(s, V):
    """Return m, z and u over all keys at once, row by row."""
    m, z, u = [], [], []
    for row in s:
        top = max(row)
        p = [math.exp(x - top) if x > -math.inf else 0.0 for x in row]
        m.append(top)
        z.append(sum(p))
        u.append(sum(w * v for w, v in zip(p, V)))
    return np.array(m), np.array(z), np.array(u)


def whole(s, V):
    """Return o and lse over all keys at once, row by row."""
    o, lse = [], []
    for row, (top, z, u) in zip(s, zip(*sums(s, V))):
        o.append(u / z if z else 0.0 * V[0])
        lse.append(top + math.log(z) if z else -math.inf)
    return np.array(o), np.array(lse)


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
    wrong = {
        "z": [
            ("rescaled-upwards", "4 + 2/4 + 4/4: the old sum made larger", [5.5]),
            ("both-rescaled", "(1 + 2/4 + 4/4) / 4: the new sum too", [2.5 / 4]),
            ("mean", "1/4 + (2/4 + 4/4) / 2: a mean over the block", [1.0]),
            ("no-maximum", "1 + 2 + 4: no maximum is subtracted", [7.0]),
        ],
        "u": [
            ("rescaled-upwards", "32 + 1/2 + 2: the old sum made larger", [[34.5]]),
            ("both-rescaled", "(8 + 1/2 + 2) / 4: the new sum too", [[10.5 / 4]]),
            ("mean", "8/4 + (1/2 + 2) / 2: a mean over the block", [[3.25]]),
            ("no-maximum", "8 + 2 + 8: no maximum is subtracted", [[18.0]]),
        ],
    }
    want = {name: np.array(each) for name, each in want.items()}
    equal_all(my, my.update(*before, s, V), want, AXES, wrong)


@values("update, after larger scores and after smaller ones")
def after_others(my, rng):
    after(my, *draw(rng))
    after(my, *draw(rng, 4, 8, 4))  # as many rows as keys in a block, and values


def after(my, s, V):
    """Fail unless the sums are right after a block of the keys from 4 on."""
    s[0, :4] += 9  # the largest score comes before the block
    s[1, 4:] += 9  # and in it
    old, new = sums(s[:, :4], V[:4]), sums(s[:, 4:], V[4:])
    want, known = sums(s, V), {}
    known["m"] = [
        ("block-maximum", "the largest score of the new block alone", new[0]),
        ("maximum-kept", "m, as it was before the block", old[0]),
        (
            "global-maximum",
            "m, with the largest score of all rows",
            np.maximum(old[0], max(new[0])),
        ),
    ]
    for k, name in ((1, "z"), (2, "u")):
        own = np.exp(new[0] - want[0])
        up = np.exp(want[0] - old[0])
        shrunk, bare = 1 / up, np.exp(new[0])
        if k == 2:
            own, up, shrunk, bare = (f[:, None] for f in (own, up, shrunk, bare))
        known[name] = [
            (
                "block-maximum",
                "the new sum relative to its own maximum",
                shrunk * old[k] + new[k],
            ),
            (
                "not-relative",
                "the new sum without any maximum",
                shrunk * old[k] + bare * new[k],
            ),
            (
                "not-rescaled",
                "the old sum as it was, and the new",
                old[k] + own * new[k],
            ),
            (
                "not-relative",
                "the new sum relative to the old maximum",
                shrunk * old[k] + up * own * new[k],
            ),
            ("overwrites", "the new sum alone", own * new[k]),
            (
                "wrong-factor",
                "exp(2 (m - m')) times the old sum, and the new",
                shrunk**2 * old[k] + own * new[k],
            ),
            (
                "no-maximum",
                "exp(m) times the old sum, and the new",
                shrunk / own * bare * old[k] + own * new[k],
            ),
            (
                "rescaled-upwards",
                "exp(m' - m) times the old",
                up * old[k] + own * new[k],
            ),
            (
                "both-rescaled",
                "exp(m - m') times the old and the new",
                shrunk * (old[k] + own * new[k]),
            ),
            (
                "mean",
                "the old sum and a mean over the block",
                shrunk * old[k] + own * new[k] / len(V[4:]),
            ),
            (
                "no-exponential",
                "(m - m') times the old sum, and the new",
                np.log(shrunk) * old[k] + own * new[k],
            ),
        ]
    shrunk_z = np.exp(old[0] - want[0]) * old[1]
    known["z"].append(("maximum", "the old sum and the largest new exponential",
                       shrunk_z + np.exp(new[0] - want[0])))  # fmt: skip
    keys = shrunk_z + len(V[4:])
    known["m"].append(("minimum", "the smaller of m and the largest new score",
                       np.minimum(old[0], new[0])))  # fmt: skip
    known["z"].append(("no-weights", "the old sum and the number of keys", keys))
    known["m"].append(("sum-of-maxima", "m + the largest new score", old[0] + new[0]))
    rest, text = shrunk * old[2], "the old sum and"
    known["u"] += [
        ("divided-early", "u / z, divided in every block", want[2] / want[1][:, None]),
        ("scores-as-weights", f"{text} s @ V", rest + s[:, 4:] @ V[4:]),
        ("no-weights", f"{text} the plain sum of V", rest + sum(V[4:])),
        ("divided-early", f"{text} the average of the block",
         rest + new[2] / new[1][:, None]),
    ]  # fmt: skip
    found = my.update(*old, s[:, 4:], V[4:])
    equal_all(my, found, dict(zip("mzu", want)), AXES, known)


@values("finish, and attention in blocks")
def in_blocks(my, rng):
    s, V = draw(rng)
    m, z, u = sums(s, V)
    column = {"1 / z": 1 / z, "z": z, "1 / m": 1 / m, "exp(-m)": np.exp(-m)}
    column = {name: x[:, None] for name, x in column.items()}
    undivided = [("not-divided", "u, the sum itself", u)]
    undivided += wrong_factors(u / z[:, None], {"1 / z": column["1 / z"]}, column)
    wrong = [
        ("lse", "ln z, without m", np.log(z)),
        ("lse", "ln z - m", np.log(z) - m),
        ("lse", "m + z, without the logarithm", m + z),
        ("lse", "ln (m + z)", np.log(np.abs(m + z))),
        ("lse", "m - ln z", m - np.log(z)),
        ("lse", "m alone", m),
        ("lse", "m z", m * z),
        ("lse", "m ln z", m * np.log(z)),
        ("lse", "m + exp(z)", m + np.exp(z)),
        ("lse", "m + ln(1 + z)", m + np.log1p(z)),
        ("log-base", "m + log2 z", m + np.log2(z)),
        ("log-base", "m + log10 z", m + np.log10(z)),
    ]
    compare(my, my.finish(m, z, u), s, V, o=undivided, lse=wrong)
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
    w, lse = (lse1 / (lse1 + lse2))[:, None], whole(s, V)[1]
    right = [np.exp(x - lse)[:, None] for x in (lse1, lse2)]
    high = np.maximum(lse1, lse2)
    of_o = [
        ("equal-shares", "the mean of o1 and o2", (o1 + o2) / 2),
        ("equal-shares", "o1 + o2", o1 + o2),
        ("equal-shares", "4/7 and 3/7 of o1 and o2", (4 * o1 + 3 * o2) / 7),
        ("larger-alone", "the output of the larger lse alone",
         np.where((lse1 > lse2)[:, None], o1, o2)),
        ("lse-shares", "lse1 and lse2 as the weights", w * o1 + (1 - w) * o2),
        (
            "shares-exchanged",
            "each output with the share of the other",
            right[1] * o1 + right[0] * o2,
        ),
        (
            "not-divided",
            "exp(lse1 - m) o1 + exp(lse2 - m) o2, m the larger of the two",
            (right[0] * o1 + right[1] * o2) * np.exp(lse - high)[:, None],
        ),
        (
            "lse",
            "exp(lse1 - lse) o1 + exp(lse2 - lse) o2 with lse1 + lse2 for lse",
            np.exp(-lse2)[:, None] * o1 + np.exp(-lse1)[:, None] * o2,
        ),
    ]  # fmt: skip
    wrong = [
        ("lse", "lse1 + lse2", lse1 + lse2),
        ("lse", "the mean of lse1 and lse2", (lse1 + lse2) / 2),
        ("lse", "the larger of lse1 and lse2", high),
        ("lse", "lse, without the larger of the two", lse - np.maximum(lse1, lse2)),
    ]
    compare(my, my.merge(o1, lse1, o2, lse2), s, V, o=of_o, lse=wrong)
    total = sum(np.exp(x - high) for x in (lse1, lse2))
    shares = [r * np.exp(lse - high)[:, None] for r in right]
    weighted = shares[0] * o1 + shares[1] * o2
    o, lse = several(my, my.merge(o1, lse1, o2, lse2), ("o", "lse"))
    with np.errstate(all="ignore"):
        added = (weighted / o - total[:, None]).mean(1)
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
    lse = whole(s, V)[1]
    zero = "empty-row", "lse with 0 in a row without keys"
    compare(my, found, s, V, lse=[(*zero, np.where(np.isinf(lse), 0.0, lse))])
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
    with np.errstate(all="ignore"):
        e1, e2 = np.exp(parts[1])[:, None], np.exp(parts[3])[:, None]
        each = (e1 * parts[0] + e2 * parts[2]) / (e1 + e2)
    my.holds(
        np.isfinite(found[0]).all() and np.isfinite(found[1]).all(),
        "overflow",
        f"expected finite numbers for lse1 of {parts[1][0]:.6g} and {parts[1][1]:.6g}",
        f"found {found[0][0, 0]:.6g} and {found[0][1, 0]:.6g} as o[0, 0] and o[1, 0]",
    )
    wrong = [("overflow", "exp(lse1) o1 + exp(lse2) o2, divided by their sum", each)]
    compare(my, found, s, V, o=wrong)


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
    my.holds(
        peak < s.size / 3,
        "all-pairs",
        f"expected far fewer than L S = {s.size} numbers in memory",
        f"found {peak:.0f} numbers in memory",
    )


HINTS = {
    "all-pairs": ["Which numbers of a block are needed after its update?"],
    "no-exponential": ["A difference of exponents is a ratio of the exponentials."],
    "divided-early": ["u is a sum until the last block. Which function divides?"],
    "scores-as-weights": ["Which numbers weight the values: s, or exp(s - m')?"],
    "overwrites": ["The keys of earlier blocks count as well."],
    "wrong-factor": ["o is a sum of values, divided by the sum of their weights."],
    "maximum": ["z is a sum over all keys of the block."],
    "minimum": ["Which number keeps every exponent s - m at most 0?"],
    "larger-alone": ["Both sets have keys. Which share has each of them?"],
    "sum-of-maxima": ["The largest of two numbers is one of them, not their sum."],
    "no-weights": ["Each value has a weight of its own: exp(s - m')."],
    "no-maximum": ["z and u are relative to m': which number is subtracted from s?"],
    "both-rescaled": ["The sums of the block are relative to the new maximum already."],
    "shares-exchanged": ["Which of the two has the weight exp(lse1)?"],
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
    "maximum-kept": ["A block may have a score above all that came before."],
    "not-relative": ["The sums are relative to m': exp(s - m'), not exp(s)."],
    "not-divided": ["u is a sum. Divide it to get an average."],
    "equal-shares": [
        "A set of one key and a set of a thousand keys have different weights. Which "
        "number contains the weight of a set?",
    ],
    "lse-shares": ["lse is a logarithm. Which number is it the logarithm of?"],
    "overflow": [
        "exp(lse) may be larger than any float64, but the ratio of two is not.",
    ],
    "lse": ["lse = ln sum_j exp(s_j); z is that sum divided by exp(m)."],
}
