"""Check an answer to E.13."""

import numpy as np

from lessons.checks.measure import (
    calls_of,
    has_all_digits,
    no_epsilon,
    peak_numbers,
    work,
)
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, same, shape_all
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values


def draw(rng, n=5, E=3, Ev=7):
    return rng.random((n, E)) + 0.1, rng.random((n, E)) + 0.1, rng.normal(size=(n, Ev))


def by_pairs(q, k, v, seen=lambda i, j: j <= i):
    """Return y and c, summed over all pairs (i, j) with seen(i, j)."""
    y, c = np.zeros_like(v), np.zeros((len(q), 1))
    for i in range(len(q)):
        for j in range(len(k)):
            y[i] += seen(i, j) * (q[i] @ k[j]) * v[j]
            c[i] += seen(i, j) * (q[i] @ k[j])
    return y, c


def before(i, j):
    return j < i


def after(i, j):
    return j >= i


def everywhere(i, j):
    return True


def itself(i, j):
    return i == j


def from_the_end(i, j):
    return 1 + (j <= i)


NAMES = "dq", "dk", "dv"
AXES = {"dq": ("n", "E"), "dk": ("n", "E"), "dv": ("n", "Ev")}
SEEN = [
    ("exclusive", "the sum over j < i, without the pairs i = j", before),
    ("not-causal", "the sum over all pairs", everywhere),
    ("wrong-direction", "the sum over the pairs j >= i", after),
    ("own-term-alone", "the pairs i = j alone", itself),
    ("not-reset", "sums that begin with those of all positions", from_the_end),
]


def gradients_by_pairs(q, k, v, g, seen=lambda i, j: j <= i):
    """Return dq, dk and dv, summed over all pairs (i, j) with seen(i, j)."""
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for i in range(len(q)):
        for j in range(len(k)):
            weight = seen(i, j)
            dq[i] += weight * (g[i] @ v[j]) * k[j]
            dk[j] += weight * (g[i] @ v[j]) * q[i]
            dv[j] += weight * (q[i] @ k[j]) * g[i]
    return dq, dk, dv


def of_scan(q, k, v):
    """Return wrong gradients of the scan for each input."""

    def make(place, *inputs):
        return lambda g: gradients_by_pairs(*inputs[:3], g, *inputs[3:])[place]

    known = {
        name: [(tag, what, make(place, q, k, v, seen)) for tag, what, seen in SEEN]
        for place, name in enumerate("qkv")
    }
    for place, a, b, x in ((0, "k", "q", q), (1, "q", "k", k),
                           (2, "q", "k", k), (2, "k", "q", q)):  # fmt: skip
        text = f"the gradient with {b} in the place of {a}"
        known["qkv"[place]].append(("exchanged", text, make(place, x, x, v)))
    return known


def of_average(q, k, v):
    """Return wrong gradients of o = y / c for each input."""
    y, c = by_pairs(q, k, v)
    beside = np.concatenate([v, np.ones((len(v), 1))], 1)

    def make(place, dy, sign, o=y / c):
        def gradient(g):
            dc = -sign * (g * o).sum(1, keepdims=True) / c
            both = np.concatenate([dy(g), dc], 1)
            found = gradients_by_pairs(q, k, beside, both)[place]
            return found[:, :-1] if place == 2 else found

        return gradient

    wrong = [
        ("denominator-fixed", "the gradient with c held fixed", lambda g: g / c, 0),
        ("denominator-sign", "the gradient with that of c negated",
         lambda g: g / c, -1),
        ("denominator-squared", "the gradient with c^3 for c^2",
         lambda g: g / c, 1 / c),
        ("denominator-squared", "the gradient with c for c^2", lambda g: g / c, c),
        ("mean", "the gradient with a mean over the values in that of c",
         lambda g: g / c, 1 / v.shape[1]),
        ("no-average", "the gradient with -sum(g) / c^2 for that of c",
         lambda g: g / c, 1, 1 / c),
        ("dy-undivided", "the gradient with g for g / c", lambda g: g, 1),
        ("dy-undivided", "the gradient with g c for g / c", lambda g: g * c, 1),
    ]  # fmt: skip
    return {
        name: [
            (tag, what, make(place, *how))
            for tag, what, *how in wrong
            if place < 2 or tag == "dy-undivided"
        ]
        for place, name in enumerate("qkv")
    }


@shape("an output for each query, a gradient for each input")
def for_each(my, rng):
    inputs = draw(rng)
    for op in (my.scan, my.linear_attention):
        y, backward = op(*inputs)
        my.shape(y, (5, 7), "ne")
        shapes = {name: x.shape for name, x in zip(NAMES, inputs)}
        shape_all(my, backward(rng.normal(size=np.shape(y))), shapes, AXES)


@numbers("q = k = v = 1 at three positions: sums that count")
def counted(my, rng):
    """y counts the keys so far, dk counts the queries from the end."""
    one = np.ones((3, 1))
    y, backward = my.scan(one, one, one)
    wrong = [
        ("exclusive", "the number of keys before", [[0.0], [1.0], [2.0]]),
        ("not-causal", "the number of all keys", [[3.0], [3.0], [3.0]]),
        ("not-reset", "the keys so far and all keys", [[4.0], [5.0], [6.0]]),
    ]
    my.equal(y, [[1.0], [2.0], [3.0]], "ne", wrong)
    up, down = np.array([[1.0], [2.0], [3.0]]), np.array([[3.0], [2.0], [1.0]])
    last = [
        ("wrong-direction", "counted from the first query", [[1.0], [2.0], [3.0]]),
        ("exclusive", "the number of queries after", [[2.0], [1.0], [0.0]]),
        ("own-term-alone", "one query for each key", one),
        ("not-causal", "the number of all queries", [[3.0], [3.0], [3.0]]),
    ]
    want = {"dq": up, "dk": down, "dv": down}
    known = {"dq": wrong, "dk": last, "dv": last}
    equal_all(my, backward(one), want, AXES, known)


@values("scan and linear_attention, against all pairs")
def against_pairs(my, rng):
    inputs = q, k, _ = draw(rng)
    y, c = by_pairs(*inputs)
    wrong = [(tag, what, by_pairs(*inputs, seen)[0]) for tag, what, seen in SEEN]
    text = "the sums of (k_i . q_j) v_j, with q and k exchanged"
    wrong.append(("exchanged", text, by_pairs(k, q, inputs[2])[0]))
    text = "the sums of (k_i . k_j) v_j, with k for q"
    wrong.append(("exchanged", text, by_pairs(k, k, inputs[2])[0]))
    text = "the sums of (q_i . q_j) v_j, with q for k"
    wrong.append(("exchanged", text, by_pairs(q, q, inputs[2])[0]))
    text = "the mean over the keys so far, not the sum"
    wrong.append(("mean", text, y / np.arange(1, 6)[:, None]))
    e = np.tril(np.exp(q @ k.T))
    text = "averages with the weights of a softmax"
    wrong.append(("exponentials", text, e @ inputs[2] / e.sum(1, keepdims=True)))
    my.equal(my.scan(*inputs)[0], y, ("n", "Ev"), wrong)
    square = draw(rng, 5, 5, 5)
    my.equal(my.scan(*square)[0], by_pairs(*square)[0], ("n", "Ev"))
    wrong = [
        ("no-denominator", "y, not divided by c", y),
        ("not-causal", "y / c with the c of all keys", y / (q @ k.sum(0))[:, None]),
        ("not-causal", "y / c with the c of the last query", y / c[-1:]),
        ("sum-over-everything", "y / c with the sum of all c", y / c.sum()),
        ("no-denominator", "y / n, as if all weights were 1", y / len(y)),
        (
            "no-denominator",
            "y / i, as if all weights were 1",
            y / np.arange(1, 6)[:, None],
        ),
        ("exponentials", "y / c of exp(q) and exp(k)",
         np.divide(*by_pairs(np.exp(q), np.exp(k), inputs[2]))),
    ]  # fmt: skip
    o = my.linear_attention(*inputs)[0]
    if np.shape(o) == y.shape and not same(o, y / c, 1e-9):
        no_epsilon(my, (y / o - c).mean(1), "y / (c", "linear_attention")
    my.equal(o, y / c, ("n", "Ev"), wrong)


@laws("a later key does not change earlier outputs")
def nothing_before(my, rng):
    q, k, v = draw(rng)
    o = my.linear_attention(q, k, v)[0]
    k[3:], v[3:] = rng.random((2, 3)), rng.normal(size=(2, 7))
    my.equal(my.linear_attention(q, k, v)[0][:3], o[:3], "ne")
    same = np.tile(v[:1], (5, 1))
    my.equal(my.linear_attention(q, k, same)[0], same, "ne")


@gradients("of the scan")
def gradients_of_scan(my, rng):
    inputs = draw(rng)
    my.gradients(my.scan, inputs, variants=of_scan(*inputs))
    for inputs in (inputs, draw(rng, 5, 5, 5)):  # also with equal sizes
        y, backward = my.scan(*inputs)
        g = rng.normal(size=np.shape(y))
        right = gradients_by_pairs(*inputs, g)
        for name, found, want in zip(NAMES, backward(g), right):
            has_all_digits(my, found, want, name)


@gradients("of the average")
def gradients_of_average(my, rng):
    inputs = draw(rng)
    my.gradients(my.linear_attention, inputs, variants=of_average(*inputs))
    for q, k, v in (inputs, draw(rng, 5, 5, 5)):  # also with equal sizes
        q = 10 * q  # c is far above an epsilon of 1e-12
        o, backward = my.linear_attention(q, k, v)
        g = rng.normal(size=np.shape(o))
        y, c = by_pairs(q, k, v)
        both = np.concatenate([g / c, -(g * y).sum(1, keepdims=True) / c**2], 1)
        beside = np.concatenate([v, np.ones((len(v), 1))], 1)
        dq, dk, dv = gradients_by_pairs(q, k, beside, both)
        for name, found, want in zip(NAMES, backward(g), (dq, dk, dv[:, :-1])):
            has_all_digits(my, found, want, name)


@edges("a single position, and the same backward twice")
def single(my, rng):
    q, k, v = draw(rng, n=1)
    o, backward = my.linear_attention(q, k, v)
    my.equal(o, v, "ne")
    g = rng.normal(size=v.shape)
    for _ in range(2):
        dq, dk, dv = backward(g)
        my.equal(dv, g, "ne")
        my.holds(
            np.abs(dq).max() < 1e-12 * np.abs(g).max(),
            "denominator-fixed",
            "expected dq = 0: a single key has the weight 1 for any q",
            f"found up to {np.abs(dq).max():.3g}",
        )


@edges("one scan for both sums")
def one_scan(my, rng):
    with calls_of(my, "scan") as calls:
        _, backward = my.linear_attention(*draw(rng))
        backward(rng.normal(size=(5, 7)))
    tag = "two-scans" if calls else "no-scan"
    my.holds(len(calls) == 1, tag, "expected one call of scan",
             f"found {len(calls)} calls")  # fmt: skip


@edges("memory, for 1500 positions")
def memory(my, rng):
    n, E, Ev = 1500, 16, 16
    q, k, v = draw(rng, n, E, Ev)
    g = rng.normal(size=v.shape)
    peak = peak_numbers(lambda: my.scan(q, k, v)[1](g))
    arrays = 12 * n * E  # copies of inputs, outputs and gradients, and some more
    my.holds(
        peak < n * n,
        "all-pairs",
        f"expected fewer than n^2 = {n * n} numbers in memory",
        f"found {peak:.0f}",
    )
    my.holds(
        peak < n * E * Ev,
        "states-kept",
        f"expected about {arrays} numbers, and fewer than n E Ev = {n * E * Ev}",
        f"found {peak:.0f}",
    )


@edges("twice the positions, twice the work")
def linear_work(my, rng):
    def forward(q, k, v):
        my.scan(q, k, v)

    def both(q, k, v):
        my.scan(q, k, v)[1](v)

    for part, f in (("forward", forward), ("forward and backward", both)):
        short, long = (work(f, *draw(rng, n, 1, 1)) for n in (64, 128))
        for what, a, b in zip(("numbers", "Python steps"), short, long):
            my.holds(
                b < 3 * a,
                "n-squared",
                f"expected twice the work of the {part} for twice as many positions",
                f"found {a} {what} for 64 positions, {b} for 128",
            )


HINTS = {
    "no-average": ["o = y / c: which of g, y and o are in the gradient of c?"],
    "exponentials": ["q and k are features already, and no scores."],
    "denominator-squared": ["d(y / c) / dc = -y / c^2 = -o / c."],
    "scan": ["What does S contain when query i is answered: is key i in it?"],
    "linear_attention": [
        "The quotient y / c has two gradients; the scan gives both sums.",
    ],
    "": [
        "Write a loop over positions with one array S that grows: after adding "
        "position i, it contains all that query i may attend to, including position "
        "i.",
        "dL/dq_i = S_i g_i; key j appears in y_i as (q_i . k_j) v_j for every i >= "
        "j, so dk_j = R_j v_j and dv_j = R_j^T k_j. Sum R in a loop from the end.",
        "Forward: S += outer(k_i, v_i), then y_i = q_i @ S. Backward: the same loop "
        "again with dq_i = S @ g_i; then from the last position, R += outer(q_j, "
        "g_j), dk_j = R @ v_j, dv_j = k_j @ R. For o, the gradient of y is g / c, "
        "that of c is -(g . o) / c; pass them side by side to the backward of the "
        "scan.",
    ],
    "not-reset": ["Both sums begin with 0, in the backward as well."],
    "exclusive": [
        "May query i attend to key i? Do you use S before or after adding it?",
    ],
    "not-causal": ["S_i contains only the keys up to i."],
    "wrong-direction": [
        "Key j has an influence on later queries. In which direction does a sum over "
        "those grow?",
    ],
    "own-term-alone": ["R is a sum over queries. Is the old R overwritten?"],
    "no-denominator": ["o is an average: the weights of a query sum to 1."],
    "denominator-fixed": [
        "c depends on q and k as well, so its gradient is a part of theirs.",
    ],
    "denominator-sign": ["Does o = y / c grow or fall as c grows?"],
    "dy-undivided": [
        "o is y divided by c, so the gradient of y is divided by c as well.",
    ],
    "no-scan": ["y and c are running sums. Which function computes one?"],
    "two-scans": ["A column of ones beside v makes the scan sum q_i . k_j as well."],
    "n-squared": [
        "Your answer reads all earlier positions for each position. The running sum S "
        "contains them already.",
    ],
    "all-pairs": [
        "Your answer makes an (n, n) array. Add its entries one at a time instead.",
    ],
    "states-kept": [
        "Your answer stores all n states. The backward can compute them again.",
    ],
}
