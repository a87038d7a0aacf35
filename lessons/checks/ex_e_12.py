"""Check an answer to E.12."""

import functools
import math
from fractions import Fraction

import numpy as np

from lessons.checks.measure import ends, has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, numbers, shape, values


def exactly(n, e, K, far):
    """Count the buckets between e and n with exact fractions.

    There is no end if e, of a wrong formula, is max_distance or more.
    """
    ratio, full = Fraction(n, e) ** K, Fraction(far, e)
    return next((k for k in range(999) if ratio < full ** (k + 1)), 999)


def with_logarithms(n, e, K, far):
    """Count them with logarithms in float64."""
    return int(math.log(n / e) / math.log(far / e) * K)


def in_float32(n, e, K, far):
    top = np.log(np.float32(n) / np.float32(e))
    return int(top / np.float32(math.log(far / e)) * np.float32(K))


def by_differences(n, e, K, far):
    return int(K * (math.log(n) - math.log(e)) / (math.log(far) - math.log(e)))


def with_margin(n, e, K, far):
    return int(K * math.log(n / e) / math.log(far / e) + 1e-9)


LOGARITHMS = {  # each is wrong for other distances
    "what logarithms in float64 give": with_logarithms,
    "what the logarithms + 1e-9 give": with_margin,
    "what logarithms in float32 give": in_float32,
    "what differences of logarithms, ln n - ln e, give": by_differences,
}


def in_64_bits(*overflows):
    """Return a function that counts them with powers of 64 bits.

    overflows  whether each of the two compared powers is kept in 64 bits
    """

    def kept(number, overflows):
        return (number + 2**63) % 2**64 - 2**63 if overflows else number

    def count(n, e, K, far):
        k, power = 0, kept(n**K, overflows[0])
        while k < K - 1:
            if power < kept(e ** (K - k - 1) * far ** (k + 1), overflows[1]):
                break
            k += 1
        return k

    return count


def rounded(how, shift=0):
    """Return a function that rounds the quotient of logarithms in another way."""

    def count(n, e, K, far):
        return int(how(K * math.log((n + shift) / e) / math.log(far / e)))

    return count


def below(n, e, K, far):
    """Return the largest k whose boundary is below n, not at n."""
    k = exactly(n, e, K, far)
    at_boundary = Fraction(n, e) ** K == Fraction(far, e) ** k
    return max(0, k - at_boundary)


def with_powers(of_e, of_far):
    """Return a function that compares n^K with other powers of e and max_distance."""

    def count(n, e, K, far):
        k = 0
        while k < K - 1 and n**K >= e ** (K - k + of_e) * far ** (k + of_far):
            k += 1
        return k

    return count


COUNTS = [  # wrong ways to count the buckets between e and n
    ("powers", "buckets from n^K >= e^(K - k - 1) max_distance^k", with_powers(-1, 0)),
    ("powers", "buckets from n^K >= e^(K - k) max_distance^(k + 1)", with_powers(0, 1)),
    ("off-by-one", "buckets that are one too high from the distance e on, but the last",
     lambda n, e, K, far: exactly(n, e, K, far) + 1),
    ("no-e", "buckets from K ln(n) / ln(max_distance / e), without e",
     lambda n, e, K, far: math.floor(K * math.log(n) / math.log(far / e))),
    ("log-base", "buckets from K log2(n / e) / ln(max_distance / e)",
     lambda n, e, K, far: math.floor(K * math.log2(n / e) / math.log(far / e))),
    ("rounded", "buckets from round(…) in place of floor(…)", rounded(round)),
    ("rounded-up", "buckets from ceil(…) in place of floor(…)", rounded(math.ceil)),
    ("n-plus-one", "buckets from ln((n + 1) / e)", rounded(math.floor, 1)),
    ("n-minus-one", "buckets from ln((n - 1) / e)", rounded(math.floor, -1)),
    ("strict", "buckets with > for >=: n at a boundary is below it", below),
    ("all-buckets",
     "buckets from nb ln(n / e) / ln(max_distance / e), with nb for K",
     lambda n, e, K, far: int(2 * K * math.log(n / e) / math.log(far / e))),
    ("no-e", "buckets from K ln(n) / ln(max_distance), without e",
     lambda n, e, K, far: math.floor(K * math.log(n) / math.log(far))),
    ("not-logarithmic",
     "buckets from K (n - e) / (max_distance - e), without logarithms",
     lambda n, e, K, far: K * (n - e) // (far - e)),
    ("exchanged", "buckets with e and max_distance exchanged",
     lambda n, e, K, far: math.floor(K * math.log(n / far) / math.log(e / far))),
    ("exchanged", "buckets with ln(e / max_distance) for ln(max_distance / e)",
     lambda n, e, K, far: math.floor(K * math.log(n / e) / math.log(e / far))),
    ("base-lost", "buckets without e: they begin at base + k",
     lambda n, e, K, far: min(K - 1, exactly(n, e, K, far)) - e),
]  # fmt: skip


def bucket_of(d, both=True, num=32, far=128, count=exactly, share=2):
    """Return the bucket of one distance; e = nb // share."""
    nb, d = num // 2 if both else num, int(d)
    e = nb // share
    n = abs(d) if both else max(-d, 0)
    base = nb if both and d > 0 else 0
    return base + (n if n < e else e + min(nb - e - 1, count(n, e, nb - e, far)))


def table_of(distances, *how):
    found = [bucket_of(d, *how) for d in distances.reshape(-1)]
    return np.array(found, int).reshape(distances.shape)


def mistakes(distances, both=True, num=32, far=128, counts=()):
    """Return wrong buckets: (tag, what, array)."""
    how = both, num, far
    turned = table_of(-distances, *how)
    found = [("sign", "the buckets of query minus key", turned)]
    nb = num // 2 if both else num
    one = table_of(-np.abs(distances), *how)
    if both:
        found += [
            ("one-sided", "the same buckets for earlier and later keys", one),
            (
                "sign",
                "the buckets with earlier and later keys exchanged, but for 0",
                np.where(distances == 0, 0, turned),
            ),
            (
                "zero-distance",
                "the buckets with distance 0 among those of later keys",
                table_of(distances, *how) + nb * (distances == 0),
            ),
        ]
        whole = table_of(-np.abs(distances), False, num, far)
        shifted = whole + num * (distances > 0)
        if num != 16:  # there a fixed nb = 32 // 2 gives the same buckets
            found.append(("not-halved", "buckets with nb = num_buckets", shifted))
    else:
        found.append(("not-causal", "buckets of |j - i|, later keys too", one))
        text = "buckets with nb = num_buckets // 2"
        half = functools.partial(table_of, distances, False, num // 2, far)
        found += [("halved", text, half)] * (num != 32)  # nb = 16 gives the same
    right = table_of(distances, *how)
    text = "buckets with base = e for later keys"
    found.append(("base-is-e", text, right - (nb - nb // 2) * (right >= nb)))
    text = "buckets with e = nb // 4"
    found.append(("quarter", text, lambda: table_of(distances, *how, exactly, 4)))
    for text, *fixed in (("num_buckets=32", 32, far), ("max_distance=128", num, 128)):
        is_evidence = distances.size > 20 and (num != 16 or fixed[0] == num)
        if fixed != [num, far] and is_evidence:
            make = functools.partial(table_of, distances, both, *fixed)
            found.append(("fixed-size", f"buckets with {text}, whatever it is", make))
    for text, count in LOGARITHMS.items():
        logs = table_of(distances, *how, count)
        if not np.array_equal(logs, right):
            found.append(("rounding", text, logs))
    for of in ((True, True), (True, False)):
        wrapped = table_of(distances, *how, in_64_bits(*of))
        if not np.array_equal(wrapped, right):
            text = "what powers of integers of 64 bits give"
            found.append(("overflow", text, wrapped))
    e = nb // 2
    n = np.abs(distances) if both else np.maximum(-distances, 0)
    own = np.where(n < e, n, 0) + nb * both * (distances > 0)
    far_off = n >= e
    if both:
        later, base = distances > 0, "the base nb of later keys"
        found += [
            ("wrong-base", f"buckets without {base} {where}", right - nb * later * cut)
            for where, cut in (
                ("below the distance e", n < e), ("from the distance e on", n >= e)
            )
        ]  # fmt: skip
        found += [
            ("wrong-base", f"buckets with {base} for earlier keys too",
             right + nb * ~later),
            ("wrong-base", f"buckets with num_buckets for {base}", right + nb * later),
        ]  # fmt: skip
    for step, word in ((1, "high"), (-1, "low")):
        text = f"buckets that are one too {word} from the distance e on"
        found.append(("off-by-one", text, right + step * far_off))
    if nb % 2:
        few = table_of(distances, *how, lambda n, e, K, far: exactly(n, e, e, far))
        fewest = np.minimum(few, nb - 2 + nb * both * (distances > 0))
        text = "buckets with K = e, where nb is odd and K = nb - e is e + 1"
        found += [("K-is-e", text, few), ("K-is-e", text, fewest)]
    if distances.size < 20:  # in other arrays nb - 1 may be rare
        last = nb - 2 + nb * both * (distances > 0)
        text = "buckets that end with nb - 2, and nb - 1 is the last"
        found.append(("one-less", text, np.minimum(right, last)))
    text = "buckets that are one too high below the distance e"
    found.append(("off-by-one", text, right + ~far_off))
    if (n < e).all():
        found.append(("one-sided", "n itself, without the base", own))
    for tag, text, count in counts:
        other = table_of(distances, *how, count)
        if not np.array_equal(other, right):
            found.append((tag, text, other))
    return found


def near_a_boundary(distances, both, num, far):
    """Return where K ln(n / e) / ln(max_distance / e) is nearly a whole number."""
    nb = num // 2 if both else num
    e = nb // 2
    n = np.maximum(np.abs(distances) if both else -distances, e)
    quotient = (nb - e) * np.log(n / e) / np.log(far / e)
    return (np.abs(quotient - np.round(quotient)) < 1e-5) & (quotient > 0.5)


def compare(my, distances, both=True, num=32, far=128, want=None, counts=()):
    """Fail unless the buckets of these distances are right.

    counts  wrong ways to count, which may agree by chance among few distances
    """
    want = table_of(distances, both, num, far) if want is None else want
    found = my.bucket(distances, both, num, far)
    beyond = np.asarray(found).reshape(-1)
    if beyond.shape == (distances.size,) and not np.array_equal(found, want):
        nb = num // 2 if both else num
        limit = nb - 1 + nb * both * (distances.reshape(-1) > 0)
        inside = np.minimum(beyond, limit)
        my.holds(
            not np.array_equal(inside.reshape(want.shape), want),
            "no-end",
            f"expected at most bucket {nb - 1} of each direction",
            f"found up to {beyond.max()}; all other buckets are right",
        )
    wrong = mistakes(distances, both, num, far, counts)
    if np.shape(found) == want.shape:
        is_near = near_a_boundary(distances, both, num, far)
        if (np.abs(found - want) <= is_near).all():
            text = "expected, but for distances with a whole-number logarithm"
            wrong.append(("rounding", text, np.array(found)))
    my.equal(found, want, None, wrong)


@shape("a bucket for each distance")
def for_each(my, rng):
    my.shape(my.bucket(np.arange(-3, 4)), (7,), None, int)
    my.shape(my.bucket(np.zeros((3, 5), int)), (3, 5), None, int)


@numbers("8 buckets a direction, by hand")
def by_hand(my, rng):
    """nb = 8, e = 4, K = 4, max_distance = 64: buckets begin at 4, 8, 16, 32."""
    distances = np.array([0, -1, -3, -4, -7, -9, -17, -33, -500, 1, 3, 5, 40])
    want = np.array([0, 1, 3, 4, 4, 5, 6, 7, 7, 0, 0, 0, 0])
    compare(my, distances, False, 8, 64, want)
    want = np.array([0, 1, 3, 4, 4, 5, 6, 7, 7, 9, 11, 12, 15])
    compare(my, distances, True, 16, 64, want)


@values("every distance up to 50, with three settings")
def every_distance(my, rng):
    """Leave out whole-number logarithms, which have a test of their own."""
    near = np.arange(-50, 51)
    # the loops have ended for distances whose powers need fewer bits
    end = "expected an end: n^K needs more than 64 bits here, as 50^16 does"
    endless = "found a loop without one: powers of 64 bits become 0"
    for how in ((True, 32, 128), (False, 32, 128), (True, 22, 100)):
        agree = table_of(near, *how, with_logarithms) == table_of(near, *how)
        with ends(my, "overflow", end, endless):
            compare(my, near[agree], *how, counts=COUNTS)


@values("the bias, pair by pair")
def pair_by_pair(my, rng):
    for L, S in ((5, 7), (3, 3)):  # also as many queries as keys and heads
        of_pairs(my, rng.normal(size=(8, 3)), L, S)


def of_pairs(my, table, L, S):
    """Fail unless the bias of L queries and S keys is right."""
    for both in (True, False):
        want, turned, alike = np.empty((3, 3, L, S))
        for i in range(L):
            for j in range(S):
                want[:, i, j] = table[bucket_of(j - i, both, 8, 20)]
                turned[:, i, j] = table[bucket_of(i - j, both, 8, 20)]
                alike[:, i, j] = table[bucket_of(abs(j - i), both, 8, 20)]
        how = {"bidirectional": both, "num_buckets": 8, "max_distance": 20}
        bias, _ = my.relative_bias(table, L, S, **how)
        wrong = [("sign", "the bias of query minus key", turned)]
        wrong.append(("one-sided", "the bias of |j - i|", alike))
        my.equal(bias, want, "HLS", wrong)


@gradients("of the table, whose rows many pairs share")
def of_the_table(my, rng):
    table = rng.normal(size=(6, 2))
    L, S = 5, 7
    how = {"bidirectional": False, "num_buckets": 6, "max_distance": 9}
    b = np.array([[bucket_of(j - i, False, 6, 9) for j in range(S)] for i in range(L)])

    def relative_bias(table):
        return my.relative_bias(table, L, S, **how)

    def one_of_many(g):
        found = np.zeros_like(table)
        found[b] = g.transpose(1, 2, 0)
        return found

    def means(g):
        found = np.zeros_like(table)
        for k in np.unique(b):
            found[k] = g[:, b == k].mean(-1)
        return found

    def reshaped(g):
        found = np.zeros_like(table)
        np.add.at(found, b, g.reshape(L, S, -1))
        return found

    def all_heads(g):
        sums = [g[:, b == k].sum() for k in range(len(table))]
        return np.tile(np.array(sums)[:, None], (1, table.shape[1]))

    wrong = [
        ("overwrites", "the last pair of each bucket", one_of_many),
        ("mean", "the mean over the pairs of each bucket", means),
        ("reshape", "the sums of g.reshape(L, S, H), no transpose", reshaped),
        ("sums-heads", "the sum over all heads, for every head", all_heads),
    ]
    my.gradients(relative_bias, [table], variants={"table": wrong})
    for L, S, H in ((5, 7, 2), (5, 5, 2), (5, 5, 5)):
        table, g = rng.normal(size=(6, H)), rng.normal(size=(H, L, S))
        distance = np.arange(S) - np.arange(L)[:, None]
        b = table_of(distance, False, 6, 9)
        want = np.array([[each[b == k].sum() for each in g] for k in range(6)])
        found, wrong = my.relative_bias(table, L, S, **how)[1](g), []
        if L == S:
            of_keys = [[each[b.T == k].sum() for each in g] for k in range(6)]
            text = "the sums of g with queries and keys exchanged"
            wrong = [("transpose", text, np.array(of_keys))]
        my.equal(found, want, ("bucket", "H"), wrong, rtol=1e-5, atol=1e-6)
        has_all_digits(my, found, want, "dtable")


@edges("distances with a whole-number logarithm, and just below one")
def whole_numbers(my, rng):
    for how in ((False, 9, 128), (True, 18, 128), (True, 32, 128), (False, 12, 1000)):
        compare(my, np.arange(-140, 141), *how)
    for how in ((19, 16), (17, 27), (17, 1000), (6, 81), (17, 216), (9, 972)):
        compare(my, np.arange(-80, 1), False, *how)
    # n^2 = e max_distance - 1: the quotient is 1 - 4e-14, and 1 - 3e-16
    n = 1_000_001
    compare(my, np.arange(-n - 2, -n + 3), False, 4, (n * n + 1) // 2)
    n = 10_000_001
    compare(my, np.array([-n]), False, 4, (n * n + 1) // 2)


@edges("very large distances, and an empty array")
def far_away(my, rng):
    compare(my, np.array([-100_000, 100_000, -(10**9), 10**9, -1, 0]))
    found = np.asarray(my.bucket(np.zeros(0, int)), int)  # [] is an array of floats
    my.shape(found, (0,), None, int)


HINTS = {
    "strict": [
        "At a boundary n^K = e^(K - k) max_distance^k: does n belong to bucket k?",
    ],
    "wrong-base": ["base is nb for a later key, 0 for others, and part of both cases."],
    "powers": ["The exponents of e and of max_distance sum to K."],
    "one-less": ["A direction has nb buckets, from 0 to nb - 1."],
    "rounded": ["floor, round and ceil differ. Which of them is in the formula?"],
    "rounded-up": ["floor, round and ceil differ. Which of them is in the formula?"],
    "n-minus-one": ["Is n itself the distance, or n - 1?"],
    "n-plus-one": ["Is n itself the distance, or n + 1?"],
    "K-is-e": ["K = nb - e: how many buckets are left if nb is odd?"],
    "all-buckets": ["K buckets have logarithmic lengths, not all nb."],
    "not-logarithmic": ["Boundaries grow by a factor from one to the next."],
    "base-lost": ["e buckets come before the first logarithmic one."],
    "halved": ["Only with both directions, each of them has half of the buckets."],
    "base-is-e": ["A direction has nb buckets: the other begins after all of them."],
    "quarter": ["e is half of nb, and nb is half of num_buckets already."],
    "fixed-size": ["The three options are arguments. Does a formula ignore one?"],
    "no-e": ["The logarithmic buckets begin at e. What is the quotient there?"],
    "reshape": ["reshape keeps the order in memory: (H, L, S) has to be transposed."],
    "sums-heads": ["Each head has its own column of the table."],
    "bucket": ["Try one distance by hand: nb, base and n first, then the two cases."],
    "relative_bias": [
        "Index the table by an (L, S) array of buckets; every pair adds to its bucket.",
    ],
    "": [
        "Write bucket for one distance first, with plain Python integers, and call "
        "it for each distance. The first line of the formula gives nb, base and n; "
        "the rest depends on n only.",
        "Count k upwards from 0 while n^K is at least e^(K - k - 1) max_distance^(k "
        "+ 1), at most to K - 1: that is the floor and the min in one. For the bias, "
        "the buckets of all pairs are an (L, S) array of integers that indexes the "
        "table.",
        "distance = j - i with the keys along the columns; table[b] is (L, S, H), "
        "and its axes must move. In the backward every pair adds its g to the row of "
        "its bucket: np.add.at(dtable, b, …), because dtable[b] += … keeps one pair "
        "of many.",
    ],
    "rounding": [
        "K ln(n/e) / ln(max_distance/e) comes out as 0.9999999999999999 or 1 where it "
        "should be 1. Compare powers of integers instead.",
        "floor(…) >= k means n^K >= e^(K - k) max_distance^k. Which k is the largest?",
    ],
    "sign": ["The distance is key minus query. On which side is a later key?"],
    "zero-distance": ["A key at the position of the query is not a later key."],
    "one-sided": ["Earlier keys and later keys have different buckets."],
    "not-causal": [
        "If only earlier keys are allowed, later keys need no bucket: n is 0.",
    ],
    "not-halved": ["With both directions, each direction has half of the buckets."],
    "off-by-one": [
        "e is the first distance that shares a bucket: its bucket is base + e.",
    ],
    "no-end": ["The last bucket contains all distances beyond max_distance."],
    "overflow": ["n^K may need more than 64 bits. What do NumPy's integers do then?"],
    "overwrites": [
        "dtable[b] += g keeps one pair of each bucket, the last one. Which function "
        "of NumPy adds all of them?",
    ],
}
