"""Check an answer to E.12."""

import numpy as np

from lessons.checks.measure import ends, has_all_digits, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, numbers, shape, values

# THE EXERCISE IN LOOPS


def bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """One distance after the other, in integers without a limit"""
    distances = np.asarray(relative_position)
    found = np.zeros(distances.shape, int)
    for i in np.ndindex(*distances.shape):
        d, far = int(distances[i]), max_distance
        nb = num_buckets // 2 if bidirectional else num_buckets
        base = nb if bidirectional and d > 0 else 0
        n = abs(d) if bidirectional else max(-d, 0)
        e = nb // 2
        K = nb - e
        if n < e:
            found[i] = base + n
            continue
        k = 0
        while k < K - 1 and n**K >= e ** (K - k - 1) * far ** (k + 1):
            k += 1
        found[i] = base + e + k
    return found


def relative_bias(table, L, S, **how):
    """One pair of a query i and a key j after the other"""
    bias = np.zeros((table.shape[1], L, S))
    b = bucket([[j - i for j in range(S)] for i in range(L)], **how)
    for h, i, j in np.ndindex(*bias.shape):
        bias[h, i, j] = table[b[i, j], h]

    def backward(g):
        dtable = np.zeros(table.shape)
        for h, i, j in np.ndindex(*g.shape):
            dtable[b[i, j], h] += g[h, i, j]
        return dtable

    return bias, backward


# THE CHECK


def near_a_boundary(distances, both, num, far):
    """Return where K ln(n / e) / ln(max_distance / e) is nearly a whole number."""
    nb = num // 2 if both else num
    e = nb // 2
    n = np.maximum(np.abs(distances) if both else -distances, e)
    quotient = (nb - e) * np.log(n / e) / np.log(far / e)
    return (np.abs(quotient - np.round(quotient)) < 1e-5) & (quotient > 0.5)


def compare(my, distances, both=True, num=32, far=128, want=None):
    """Fail unless the buckets of these distances are right."""
    how, nb = (both, num, far), num // 2 if both else num
    want = bucket(distances, *how) if want is None else want
    found, wrong, goes_on = my.bucket(distances, *how), [], False
    if np.shape(found) == want.shape and not np.array_equal(found, want):
        last = nb - 1 + nb * both * (distances > 0)
        goes_on = np.array_equal(np.minimum(found, last), want)
        is_near = near_a_boundary(distances, *how)
        if (np.abs(found - want) <= is_near).all():
            text = "expected, but for distances with a whole-number logarithm"
            wrong = [("rounding", text, np.array(found))]
    my.holds(
        not goes_on,
        "no-end",
        f"expected at most bucket {nb - 1} of each direction",
        f"found up to {np.max(found)}; all other buckets are right",
    )
    my.equal(found, want, None, wrong)


@shape("a bucket for each distance")
def for_each(my, rng):
    my.shape(my.bucket(np.arange(-3, 4)), (7,), None, int)
    my.shape(my.bucket(np.zeros((3, 5), int)), (3, 5), None, int)


@numbers("8 buckets a direction, by hand")
def by_hand(my, rng):
    """nb = 8, e = 4, K = 4, max_distance = 64: buckets begin at 4, 8, 16, 32."""
    distances = np.array([-1, 0, -3, -4, -7, -9, -17, -33, -500, 1, 3, 5, 40])
    with without_loops():  # few distances, for which many mistakes agree
        want = np.array([1, 0, 3, 4, 4, 5, 6, 7, 7, 0, 0, 0, 0])
        compare(my, distances, False, 8, 64, want)
        want = np.array([1, 0, 3, 4, 4, 5, 6, 7, 7, 9, 11, 12, 15])
        compare(my, distances, True, 16, 64, want)


@values("every distance up to 50, and 130, with three settings")
def every_distance(my, rng):
    """Leave out whole-number logarithms, which have a test of their own."""
    near = np.r_[-130, -50:51, 130]
    # the loops have ended for distances whose powers need fewer bits
    end = "expected an end: n^K needs more than 64 bits here, as 50^16 does"
    endless = "found a loop without one: powers of 64 bits become 0"
    for how in ((True, 32, 128), (False, 32, 128), (True, 22, 100)):
        with ends(my, "overflow", end, endless):
            compare(my, near[~near_a_boundary(near, *how)], *how)


@values("the bias, pair by pair")
def pair_by_pair(my, rng):
    for L, S in ((17, 7), (3, 3)):  # also as many queries as keys and heads
        table = rng.normal(size=(8, 3))
        for both in (True, False):
            how = {"bidirectional": both, "num_buckets": 8, "max_distance": 20}
            found, want = (f(table, L, S, **how)[0] for f in
                           (my.relative_bias, relative_bias))  # fmt: skip
            my.equal(found, want, "HLS")


@gradients("of the table, whose rows many pairs share")
def of_the_table(my, rng):
    how = {"bidirectional": False, "num_buckets": 6, "max_distance": 9}
    for L, S, H in ((5, 7, 2), (5, 5, 2), (5, 5, 5)):
        table, g = rng.normal(size=(6, H)), rng.normal(size=(H, L, S))
        found, want = (f(table, L, S, **how)[1](g) for f in
                       (my.relative_bias, relative_bias))  # fmt: skip
        my.equal(found, want, ("bucket", "H"), rtol=1e-5, atol=1e-6)
        has_all_digits(my, found, want, "dtable")
    my.gradients(lambda table: my.relative_bias(table, 5, 7, **how), [table])


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


D = "d, far = int(distances[i]), max_distance"
NB = "nb = num_buckets // 2 if bidirectional else num_buckets"
BASE = "base = nb if bidirectional and d > 0 else 0"
N = "n = abs(d) if bidirectional else max(-d, 0)"
LOOP = """k = 0
        while k < K - 1 and n**K >= e ** (K - k - 1) * far ** (k + 1):
            k += 1"""
BELOW, FROM = "found[i] = base + n", "found[i] = base + e + k"
PAIR = "[[j - i for j"
ADD = "dtable[b[i, j], h] += g[h, i, j]"


def quotient(name, what, floor):
    """Return a row with another formula for the buckets from e on."""
    return name, f"buckets from {what}", "", LOOP, f"k = min(K - 1, {floor})"


SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("sign", "the buckets of query minus key", "", D, D.replace("int", "-int")),
    ("sign", "the buckets with earlier and later keys exchanged, but for 0", "", BASE,
     BASE.replace(">", "<")),
    ("sign", "the buckets of later keys, where only earlier ones are allowed", "", N,
     N.replace("-d", "d")),
    ("one-sided", "the same buckets for earlier and later keys", "", BASE, "base = 0"),
    ("zero-distance", "the buckets with distance 0 among those of later keys",
     "A key at the position of the query is not a later key.", BASE,
     BASE.replace(">", ">=")),
    ("not-halved", "buckets with nb = num_buckets",
     "With both directions, each direction has half of the buckets.", NB,
     "nb = num_buckets"),
    ("not-causal", "buckets of |j - i|, later keys too",
     "If only earlier keys are allowed, later keys need no bucket: n is 0.", N,
     "n = abs(d)"),
    ("halved", "buckets with nb = num_buckets // 2",
     "Only with both directions, each of them has half of the buckets.", NB,
     "nb = num_buckets // 2"),
    ("base-is-e", "buckets with base = e for later keys",
     "A direction has nb buckets: the other begins after all of them.", BASE,
     BASE.replace("nb", "nb // 2")),
    ("quarter", "buckets with e = nb // 4",
     "e is half of nb, and nb is half of num_buckets already.", "e = nb // 2",
     "e = nb // 4"),
    ("fixed-size", "buckets with num_buckets=32, whatever it is",
     "The three options are arguments. Does a formula ignore one?", NB,
     "nb = 16 if bidirectional else 32"),
    ("fixed-size", "buckets with max_distance=128, whatever it is", "", D,
     D.replace("max_distance", "128")),
    ("wrong-base", "buckets without the base nb of later keys below the distance e",
     "base is nb for a later key, 0 for others, and part of both cases.", BELOW,
     "found[i] = n"),
    ("wrong-base", "buckets without the base nb of later keys from the distance e on",
     "", FROM, "found[i] = e + k"),
    ("wrong-base", "buckets with the base nb of later keys for earlier keys too", "",
     BASE, "base = nb if bidirectional else 0"),
    ("wrong-base", "buckets with num_buckets for the base nb of later keys", "", BASE,
     BASE.replace("nb", "num_buckets")),
    ("base-lost", "buckets without e: they begin at base + k",
     "e buckets come before the first logarithmic one.", FROM, "found[i] = base + k"),
    ("off-by-one", "buckets that are one too high from the distance e on", "", FROM,
     f"{FROM} + 1"),
    ("off-by-one", "buckets that are one too low from the distance e on", "", FROM,
     f"{FROM} - 1"),
    ("off-by-one", "buckets that are one too high below the distance e", "", BELOW,
     f"{BELOW} + 1"),
    ("off-by-one",
     "buckets that are one too high from the distance e on, but the last", "", FROM,
     "found[i] = base + e + min(k + 1, K - 1)"),
    ("K-is-e", "buckets with K = e, where nb is odd and K = nb - e is e + 1",
     "K = nb - e: how many buckets are left if nb is odd?", "K = nb - e", "K = e"),
    ("K-is-e", "buckets with K = e in the quotient, where nb is odd", "", LOOP,
     LOOP.replace("n**K", "n**e").replace("(K - k - 1)", "(e - k - 1)")),
    ("one-less", "buckets that end with nb - 2, and nb - 1 is the last",
     "A direction has nb buckets, from 0 to nb - 1.", LOOP,
     LOOP.replace("k < K - 1", "k < K - 2")),
    ("no-end", "buckets that go on behind the last", "", LOOP,
     LOOP.replace("k < K - 1", "k < 10 * K")),
    ("strict", "buckets with > for >=: n at a boundary is below it",
     "At a boundary n^K = e^(K - k) max_distance^k: does n belong to bucket k?", LOOP,
     LOOP.replace(">=", ">")),
    ("powers", "buckets from n^K >= e^(K - k - 1) max_distance^k",
     "The exponents of e and of max_distance sum to K.", LOOP,
     LOOP.replace("(k + 1)", "k")),
    ("powers", "buckets from n^K >= e^(K - k) max_distance^(k + 1)", "", LOOP,
     LOOP.replace("(K - k - 1)", "(K - k)")),
    ("overflow", "what powers of integers of 64 bits give", "", D,
     "d, far = distances[i], max_distance"),
    ("overflow", "what powers of integers of 64 bits give", "", D,
     "d, far = distances[i], np.int64(max_distance)"),
    quotient("no-e", "K ln(n) / ln(max_distance / e), without e",
             "math.floor(K * math.log(n) / math.log(far / e))"),
    quotient("no-e", "K ln(n) / ln(max_distance), without e",
             "math.floor(K * math.log(n) / math.log(far))"),
    quotient("log-base", "K log2(n / e) / ln(max_distance / e)",
             "math.floor(K * math.log2(n / e) / math.log(far / e))"),
    quotient("rounded", "round(…) in place of floor(…)",
             "round(K * math.log(n / e) / math.log(far / e))"),
    quotient("rounded-up", "ceil(…) in place of floor(…)",
             "math.ceil(K * math.log(n / e) / math.log(far / e))"),
    quotient("n-plus-one", "ln((n + 1) / e)",
             "math.floor(K * math.log((n + 1) / e) / math.log(far / e))"),
    quotient("n-minus-one", "ln((n - 1) / e)",
             "math.floor(K * math.log((n - 1) / e) / math.log(far / e))"),
    quotient("all-buckets", "nb ln(n / e) / ln(max_distance / e), with nb for K",
             "math.floor(nb * math.log(n / e) / math.log(far / e))"),
    quotient("not-logarithmic",
             "K (n - e) / (max_distance - e), without logarithms",
             "K * (n - e) // (far - e)"),
    quotient("exchanged", "logarithms with e and max_distance exchanged",
             "math.floor(K * math.log(n / far) / math.log(e / far))"),
    quotient("exchanged", "ln(e / max_distance) for ln(max_distance / e)",
             "math.floor(K * math.log(n / e) / math.log(e / far))"),
    quotient("rounding", "logarithms in float64",
             "int(K * math.log(n / e) / math.log(far / e))"),
    quotient("rounding", "logarithms in float64",
             "int(math.log(n / e) / math.log(far / e) * K)"),
    quotient("rounding", "the logarithms + 1e-9",
             "int(K * math.log(n / e) / math.log(far / e) + 1e-9)"),
    quotient("rounding", "logarithms in float32",
             "int(np.log(np.float32(n / e)) / np.float32(math.log(far / e))"
             " * np.float32(K))"),
    quotient("rounding", "differences of logarithms, ln n - ln e",
             "int(K * (math.log(n) - math.log(e)) / (math.log(far) - math.log(e)))"),
    ("sign", "the bias of query minus key", "", PAIR, "[[i - j for j"),
    ("one-sided", "the bias of |j - i|", "", PAIR, "[[abs(j - i) for j"),
    ("transpose", "the bias with queries and keys exchanged", "",
     "return bias, backward", "return bias.swapaxes(1, 2), backward"),
    ("overwrites", "the last pair of each bucket", "", ADD, ADD.replace("+=", "=")),
    ("mean", "the mean over the pairs of each bucket", "", ADD,
     f"{ADD} / (b == b[i, j]).sum()"),
    ("reshape", "the sums of g.reshape(L, S, H), no transpose",
     "reshape keeps the order in memory: (H, L, S) has to be transposed.", ADD,
     ADD.replace("g[h, i, j]", "g.reshape(L, S, -1)[i, j, h]")),
    ("sums-heads", "the sum over all heads, for every head",
     "Each head has its own column of the table.", ADD,
     ADD.replace("g[h, i, j]", "g[:, i, j].sum()")),
    ("transpose", "the sums of g with queries and keys exchanged", "", ADD,
     ADD.replace("g[h, i, j]", "(g.swapaxes(1, 2) if L == S else g)[h, i, j]")),
    ("ignores-upstream", "the number of pairs of each bucket, without g", "", ADD,
     ADD.replace("g[h, i, j]", "1.0")),
]  # fmt: skip

HINTS = {
    "rounded": ["floor, round and ceil differ. Which of them is in the formula?"],
    "rounded-up": ["floor, round and ceil differ. Which of them is in the formula?"],
    "n-minus-one": ["Is n itself the distance, or n - 1?"],
    "n-plus-one": ["Is n itself the distance, or n + 1?"],
    "all-buckets": ["K buckets have logarithmic lengths, not all nb."],
    "not-logarithmic": ["Boundaries grow by a factor from one to the next."],
    "no-e": ["The logarithmic buckets begin at e. What is the quotient there?"],
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
    "one-sided": ["Earlier keys and later keys have different buckets."],
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
