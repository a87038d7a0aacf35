"""Check an answer to E.13."""

import numpy as np

from lessons.checks.measure import (
    calls_of,
    exact_gradients,
    no_epsilon,
    peak_numbers,
    without_loops,
    work,
)
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, same, shape_all
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values

NAMES = "dq", "dk", "dv"
AXES = {"dq": ("n", "E"), "dk": ("n", "E"), "dv": ("n", "Ev")}

# THE EXERCISE IN LOOPS


def scan(q, k, v):
    """y_i = sum_{j <= i} (q_i . k_j) v_j = S_i^T q_i"""
    y, S = np.zeros(v.shape), np.zeros((k.shape[1], v.shape[1]))
    for i in range(len(q)):
        S += np.outer(k[i], v[i])
        y[i] = q[i] @ S

    def backward(g):
        dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
        S, R = np.zeros((2, k.shape[1], v.shape[1]))
        for i in range(len(q)):
            S += np.outer(k[i], v[i])
            dq[i] = S @ g[i]
        for j in reversed(range(len(q))):
            R += np.outer(q[j], g[j])
            dk[j] = R @ v[j]
            dv[j] = k[j] @ R
        return dq, dk, dv

    return y, backward


def linear_attention(q, k, v):
    """o_i = y_i / c_i, with c_i = sum_{j <= i} q_i . k_j"""
    both, of_both = scan(q, k, np.concatenate([v, np.ones((len(v), 1))], 1))
    y, c = both[:, :-1], both[:, -1:]
    o = y / c

    def backward(g):
        dy = g / c
        dc = -(g * o).sum(1, keepdims=True) / c
        dq, dk, dbeside = of_both(np.concatenate([dy, dc], 1))
        return dq, dk, dbeside[:, :-1]

    return o, backward


# THE CHECK


def draw(rng, n=5, E=3, Ev=7):
    return rng.random((n, E)) + 0.1, rng.random((n, E)) + 0.1, rng.normal(size=(n, Ev))


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
    up, down = np.array([[1.0], [2.0], [3.0]]), np.array([[3.0], [2.0], [1.0]])
    my.equal(y, up, "ne")
    equal_all(my, backward(one), {"dq": up, "dk": down, "dv": down}, AXES)


@values("scan and linear_attention, against all pairs")
def against_pairs(my, rng):
    for inputs in (draw(rng), draw(rng, 5, 5, 5)):
        q, k, v = inputs
        pairs = np.tril(q @ k.T)
        y, c = pairs @ v, pairs.sum(1, keepdims=True)
        my.equal(my.scan(*inputs)[0], y, ("n", "Ev"))
        o = my.linear_attention(*inputs)[0]
        if np.shape(o) == y.shape and not same(o, y / c, 1e-9):
            no_epsilon(my, (y / o - c).mean(1), "y / (c", "linear_attention")
        my.equal(o, y / c, ("n", "Ev"))


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
    for inputs in (draw(rng), draw(rng, 5, 5, 5)):  # also with equal sizes
        exact_gradients(my, my.scan, scan, inputs, rng)


@gradients("of the average")
def gradients_of_average(my, rng):
    my.gradients(my.linear_attention, draw(rng))
    for q, k, v in (draw(rng), draw(rng, 5, 5, 5)):
        inputs = 10 * q, k, v  # c is far above an epsilon of 1e-12
        exact_gradients(my, my.linear_attention, linear_attention, inputs, rng)


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
    with without_loops():
        my.holds(len(calls) == 1, tag, "expected one call of scan",
                 f"found {len(calls)} calls")  # fmt: skip


@edges("memory, for 1500 positions")
def memory(my, rng):
    n, E, Ev = 1500, 16, 16
    q, k, v = draw(rng, n, E, Ev)
    g = rng.normal(size=v.shape)
    peak = peak_numbers(lambda: my.scan(q, k, v)[1](g))
    arrays = 12 * n * E  # copies of inputs, outputs and gradients, and some more
    with without_loops():
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

    def averages(q, k, v):
        my.linear_attention(q, k, v)[1](v)

    for part, f in (
        ("forward", forward),
        ("forward and backward", both),
        ("averages and their backward", averages),
    ):
        short, long = (work(f, *draw(rng, n, 1, 1)) for n in (64, 128))
        for what, a, b in zip(("numbers", "Python steps"), short, long):
            with without_loops():
                my.holds(
                    b < 3 * a,
                    "n-squared",
                    f"expected twice the work of the {part} for twice as many "
                    "positions",
                    f"found {a} {what} for 64 positions, {b} for 128",
                )


Y, D_Q = "y[i] = q[i] @ S", "dq[i] = S @ g[i]"
D_K, D_V = "dk[j] = R @ v[j]", "dv[j] = k[j] @ R"
D_K_AND_V = D_K + "\n            " + D_V
LINES = Y, D_Q, D_K, D_V, D_K_AND_V
O, D_C = "o = y / c", "dc = -(g * o).sum(1, keepdims=True) / c"
EXCHANGED = "Which of q and k has the place i, and which the place j?"
ITSELF = "May query i attend to key i? Do you use S before or after adding it?"
LATER = (
    "Key j has an influence on later queries. In which direction does a sum over those "
    "grow?"
)
OLD_R = "R is a sum over queries. Is the old R overwritten?"
BEGIN = "Both sums begin with 0, in the backward as well."
UP_TO_I = "S_i contains only the keys up to i."
FEATURES = "q and k are features already, and no scores."
AVERAGE = "o is an average: the weights of a query sum to 1."
QUOTIENT = "d(y / c) / dc = -y / c^2 = -o / c."
UNDIVIDED = "o is y divided by c, so the gradient of y is divided by c as well."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    *(
        ("exclusive", "the sum over j < i, without the pairs i = j", ITSELF,
         line, line.replace("S", "(k[:i].T @ v[:i])")
         .replace("R", "(q[j + 1 :].T @ g[j + 1 :])"))
        for line in LINES
    ),
    *(
        ("not-causal", "the sum over all pairs", UP_TO_I,
         line, line.replace("S", "(k.T @ v)")
         .replace("R", "(q.T @ g)"))
        for line in LINES
    ),
    *(
        ("wrong-direction", "the sum over the pairs j >= i", LATER,
         line, line.replace("S", "(k[i:].T @ v[i:])")
         .replace("R", "(q[: j + 1].T @ g[: j + 1])"))
        for line in LINES
    ),
    *(
        ("own-term-alone", "the pairs i = j alone", OLD_R,
         line, line.replace("S", "np.outer(k[i], v[i])")
         .replace("R", "np.outer(q[j], g[j])"))
        for line in LINES
    ),
    *(
        ("not-reset", "sums that begin with those of all positions", BEGIN,
         line, line.replace("S", "(S + k.T @ v)")
         .replace("R", "(R + q.T @ g)"))
        for line in LINES
    ),
    ("exchanged", "the sums of (k_i . q_j) v_j, with q and k exchanged", EXCHANGED, Y,
     "y[i] = k[i] @ (q[: i + 1].T @ v[: i + 1])"),
    ("exchanged", "the sums of (k_i . k_j) v_j, with k for q", EXCHANGED, Y,
     "y[i] = k[i] @ S"),
    ("exchanged", "the sums of (q_i . q_j) v_j, with q for k", EXCHANGED, Y,
     "y[i] = q[i] @ (q[: i + 1].T @ v[: i + 1])"),
    ("exchanged", "the gradient with q in the place of k", EXCHANGED, D_Q,
     "dq[i] = (q[: i + 1].T @ v[: i + 1]) @ g[i]"),
    ("exchanged", "the gradient with q in the place of k", EXCHANGED, D_V,
     "dv[j] = q[j] @ R"),
    *(
        ("exchanged", "the gradient with k in the place of q", EXCHANGED,
         line, line.replace("R", "(k[j:].T @ g[j:])"))
        for line in (D_K, D_V, D_K_AND_V)
    ),
    ("mean", "the mean over the keys so far, not the sum", "", Y, Y + " / (i + 1)"),
    ("exponentials", "averages with the weights of a softmax", FEATURES, Y,
     "e = np.exp(k[: i + 1] @ q[i])\n        y[i] = e @ v[: i + 1] / e.sum()"),
    ("exponentials", "y / c of exp(q) and exp(k)", FEATURES, "    both, of_both =",
     "    q, k = np.exp(q), np.exp(k)\n    both, of_both ="),
    ("no-denominator", "y, not divided by c", AVERAGE, O, "o = y"),
    ("no-denominator", "y / n, as if all weights were 1", AVERAGE, O, "o = y / len(y)"),
    ("no-denominator", "y / i, as if all weights were 1", AVERAGE, O,
     "o = y / (1 + np.arange(len(y))[:, None])"),
    ("not-causal", "y / c with the c of all keys", UP_TO_I, O,
     "c = (q @ k.sum(0))[:, None]\n    o = y / c"),
    ("not-causal", "y / c with the c of the last query", UP_TO_I, O, "o = y / c[-1:]"),
    ("sum-over-everything", "y / c with the sum of all c", "", O, "o = y / c.sum()"),
    ("denominator-fixed", "the gradient with c held fixed", "", D_C, "dc = 0 * c"),
    ("denominator-sign", "the gradient with that of c negated",
     "Does o = y / c grow or fall as c grows?", D_C, D_C.replace("-", "")),
    ("denominator-squared", "the gradient with c^3 for c^2", QUOTIENT, D_C,
     D_C + "**2"),
    ("denominator-squared", "the gradient with c for c^2", QUOTIENT, D_C,
     D_C.replace(" / c", "")),
    ("mean", "the gradient with a mean over the values in that of c", "", D_C,
     D_C.replace("sum", "mean")),
    ("no-average", "the gradient with -sum(g) / c^2 for that of c",
     "o = y / c: which of g, y and o are in the gradient of c?", D_C,
     D_C.replace("(g * o)", "(g / c)")),
    ("dy-undivided", "the gradient with g for g / c", UNDIVIDED, "dy = g / c",
     "dy = g"),
    ("dy-undivided", "the gradient with g c for g / c", UNDIVIDED, "dy = g / c",
     "dy = g * c"),
]  # fmt: skip

HINTS = {
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
    "denominator-fixed": [
        "c depends on q and k as well, so its gradient is a part of theirs.",
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
