"""Check an answer to E.17."""

import numpy as np

from lessons.checks.measure import exact_gradients, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, laws, shape, values

L, S = 5, 7

# THE EXERCISE IN LOOPS


def threshold(s):
    tau = np.zeros(len(s))
    for i, row in enumerate(s):
        total = 0.0
        for k, z in enumerate(sorted(row, reverse=True), 1):
            total += z
            if 1 + k * z > total:
                tau[i] = (total - 1) / k
    return tau


def sparsemax(s):
    p, tau = np.zeros(s.shape), threshold(s)
    for i, j in np.ndindex(*s.shape):
        p[i, j] = max(s[i, j] - tau[i], 0.0)

    def backward(g):
        ds = np.zeros(s.shape)
        for i, row in enumerate(p):
            support = np.flatnonzero(row > 0)
            mean = sum(g[i, j] for j in support) / len(support)
            for j in support:
                ds[i, j] = g[i, j] - mean
        return ds

    return p, backward


def jacobian(p):
    J, support = np.zeros((len(p), len(p))), np.flatnonzero(p > 0)
    for j in support:
        for l in support:
            J[j, l] = (j == l) - 1 / len(support)
    return J


# THE CHECK


def draw(rng, L=L, S=S):
    """Return scores (L, S) with several keys in and outside the support of each row.

    None is so near its threshold that a step of the gradient check crosses it.
    """
    while True:
        s = rng.normal(size=(L, S))
        k = (sparsemax(s)[0] > 0).sum(1)
        far = abs(s - threshold(s)[:, None]) > 0.02
        if (2 <= k).all() and (k < S).all() and np.ptp(k) and far.all():
            return s


@shape("a threshold for each row, weights like the scores")
def like_the_scores(my, rng):
    s = draw(rng)
    my.shape(my.threshold(s), (L,), "L")
    p, backward = my.sparsemax(s)
    my.shape(p, (L, S), "LS")
    my.shape(backward(rng.normal(size=(L, S))), (L, S), "LS")
    my.shape(my.jacobian(sparsemax(s)[0][0]), (S, S), "jl")


@values("thresholds and weights, against loops")
def against_loops(my, rng):
    s = draw(rng)
    my.equal(my.threshold(s), threshold(s), "L")
    my.equal(my.sparsemax(s)[0], sparsemax(s)[0], "LS")


@values("the Jacobian, against loops")
def of_one_row(my, rng):
    for row in sparsemax(draw(rng))[0]:
        my.equal(my.jacobian(row), jacobian(row), "jl")


@laws("a number added to all scores")
def the_same_added(my, rng):
    s = draw(rng)
    p = sparsemax(s)[0]
    for added in (-3.0, 17.0, 1000.0):
        my.equal(my.sparsemax(s + added)[0], p, "LS", rtol=1e-9)


@laws("scores -2, 0 and 0.5")
def three_scores(my, rng):
    """With k = 2 the threshold is (0.5 + 0 - 1) / 2."""
    s = np.array([[-2.0, 0.0, 0.5]])
    with without_loops():
        my.equal(my.threshold(s), [-0.25], "L")
        my.equal(my.sparsemax(s)[0], [[0.0, 0.25, 0.75]], "LS")
        J = my.jacobian(np.array([0.0, 0.25, 0.75]))
        my.equal(J, [[0.0, 0.0, 0.0], [0.0, 0.5, -0.5], [0.0, -0.5, 0.5]], "jl")


@gradients("of sparsemax")
def of_sparsemax(my, rng):
    for rows, keys in ((3, 5), (5, 5)):
        s = draw(rng, rows, keys)
        exact_gradients(my, lambda s: my.sparsemax(s), sparsemax, [s], rng)


@edges("equal scores, a lead of 1, a single key")
def ends_of_the_support(my, rng):
    for s in (np.full((1, 4), 7.0), np.array([[3.0, 0.5, 2.0]]), np.array([[-5.0]])):
        my.equal(my.sparsemax(s)[0], sparsemax(s)[0], "LS")
        g = rng.normal(size=s.shape)
        my.equal(my.sparsemax(s)[1](g), sparsemax(s)[1](g), "LS")


@edges("a masked key, with the score -inf")
def a_masked_key(my, rng):
    s = draw(rng)
    s[:, 2] = -np.inf
    p, backward = my.sparsemax(s)
    my.equal(p, sparsemax(s)[0], "LS", mask=s > -np.inf)
    g = rng.normal(size=s.shape)
    ds = backward(g)
    my.holds(
        np.isfinite(ds).all(),
        "nan",
        "expected the gradient 0 for a key with the score -inf",
        f"found {ds[~np.isfinite(ds)][:1]}",
    )
    my.equal(ds, sparsemax(s)[1](g), "LS")


FITS = "if 1 + k * z > total:"
TAU = "tau[i] = (total - 1) / k"
P = "p[i, j] = max(s[i, j] - tau[i], 0.0)"
MEAN = "mean = sum(g[i, j] for j in support) / len(support)"
DS = "for j in support:\n                ds[i, j] = g[i, j] - mean"
J_JL = "J[j, l] = (j == l) - 1 / len(support)"
COUNT = "Which k is the largest for which the condition holds?"
SUM = "The weights of the support, z_j - tau, sum to 1. Solve this for tau."
CENTRE = "The weights keep their sum 1. So what do the gradients of a row sum to?"
MOVES = "If s_j of the support grows by a little, how much does tau grow?"
OUTSIDE = "How much does p_j change with s_j where p_j is 0?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("no-one", "tau = (z_1 + … + z_k) / k, without - 1", SUM, TAU,
     "tau[i] = total / k"),
    ("all-keys", "tau = (z_1 + … + z_S - 1) / S, of all keys, or for rising z",
     "With the threshold of all keys some s - tau become negative, and so it is too "
     "low. Where is the largest score after sorting?", FITS, "if k == len(row):"),
    ("divided-by-all", "tau = (z_1 + … + z_k - 1) / S, divided by the number of keys",
     SUM, TAU, "tau[i] = (total - 1) / len(row)"),
    ("first-only", "z_1 - 1, the threshold of one key", COUNT, FITS, "if k == 1:"),
    ("one-too-many", "the threshold of k + 1 keys", COUNT, TAU,
     "rest = sorted(row, reverse=True)[k:][:1]\n"
     "                tau[i] = (total + sum(rest) - 1) / (k + len(rest))"),
    ("one-too-few", "the threshold of k - 1 keys", COUNT, TAU,
     "tau[i] = (total - (z if k > 1 else 0) - 1) / max(k - 1, 1)"),
    ("unsorted", "the threshold with scores in the order of the keys",
     "The sums of the formula are those of the largest scores.",
     "sorted(row, reverse=True)", "list(row)"),
    ("positive-keys", "the threshold of the scores above 0",
     "Adding a number to all scores must not change the weights.", FITS,
     "if z > 0 or k == 1:"),
    ("sign", "-tau, with the sign reversed", SUM, TAU, "tau[i] = (1 - total) / k"),
    ("negative-weights", "s - tau, also where it is below 0",
     "No weight is negative: what does max(…, 0) do?", P,
     "p[i, j] = s[i, j] - tau[i]"),
    ("sign", "max(s + tau, 0)", SUM, P, "p[i, j] = max(s[i, j] + tau[i], 0.0)"),
    ("max-of-scores", "max(s, 0) - tau",
     "What is compared with 0, the score or its distance to the threshold?", P,
     "p[i, j] = max(s[i, j], 0.0) - tau[i]"),
    ("softmax", "the softmax of the scores",
     "A softmax has no zeros. Sparsemax has no exponential.", P,
     "p[i, j] = np.exp(s[i, j]) / sum(np.exp(s[i]))"),
    ("mean-of-all", "g - mean, with the mean over all keys", MOVES, MEAN,
     "mean = sum(g[i]) / len(row)"),
    ("divided-by-all", "g - the sum over the support / S", MOVES, MEAN,
     "mean = sum(g[i, j] for j in support) / len(row)"),
    ("sum", "g - the sum over the support, not the mean", MOVES, MEAN,
     "mean = sum(g[i, j] for j in support)"),
    ("sum-of-all", "g - the sum over all keys / k", MOVES, MEAN,
     "mean = sum(g[i]) / len(support)"),
    ("no-centre", "g on the support, without the mean", CENTRE, MEAN, "mean = 0.0"),
    ("weighted-mean", "g - p . g on the support, as for a softmax",
     "All keys of the support have the same u in u (g - mean), whatever their weights.",
     MEAN, "mean = sum(row * g[i])"),
    ("softmax-gradient", "p (g - p . g), the gradient of a softmax",
     "The derivative of s_j - tau is 1 on the support, not p_j.", DS,
     "for j in support:\n"
     "                ds[i, j] = row[j] * (g[i, j] - sum(row * g[i]))"),
    ("outside", "g - mean, also outside the support", OUTSIDE, DS,
     "for j in range(len(row)):\n                ds[i, j] = g[i, j] - mean"),
    ("outside", "-mean outside the support", OUTSIDE, DS,
     "for j in range(len(row)):\n"
     "                ds[i, j] = g[i, j] * (row[j] > 0) - mean"),
    ("weighted", "p (g - mean), with the weights as a factor",
     "The derivative of s_j - tau is 1 on the support, not p_j.", DS,
     "for j in support:\n                ds[i, j] = row[j] * (g[i, j] - mean)"),
    ("diagonal", "J with 1 on the support's diagonal, and 0 elsewhere", MOVES, J_JL,
     "J[j, l] = j == l"),
    ("all-keys", "J with 1 / S for 1 / k", MOVES, J_JL,
     "J[j, l] = (j == l) - 1 / len(p)"),
    ("softmax-gradient", "diag(p) - p p^T, the Jacobian of a softmax",
     "The derivative of s_j - tau is 1 on the support, not p_j.", J_JL,
     "J[j, l] = p[j] * ((j == l) - p[l])"),
    ("weighted", "diag(u) - u p^T", MOVES, J_JL, "J[j, l] = (j == l) - p[l]"),
    ("weighted", "diag(u) - p u^T", MOVES, J_JL, "J[j, l] = (j == l) - p[j]"),
    ("weighted", "diag(u) - p p^T", MOVES, J_JL, "J[j, l] = (j == l) - p[j] * p[l]"),
    ("sum", "diag(u) - u u^T, without 1 / k", MOVES, J_JL, "J[j, l] = (j == l) - 1.0"),
    ("sign", "diag(u) + u u^T / k", CENTRE, J_JL,
     "J[j, l] = (j == l) + 1 / len(support)"),
    ("outside", "I - 1 / k for all keys, also outside the support", OUTSIDE,
     "for j in support:\n        for l in support:",
     "for j in range(len(p)):\n        for l in range(len(p)):"),
]  # fmt: skip

HINTS = {
    "threshold": [
        "Sort each row downwards, and compute all sums z_1 + … + z_k at once.",
    ],
    "sparsemax": ["What does a key outside the support add to the sum of a row?"],
    "jacobian": ["Write dp_j / ds_l from p_j = s_j - tau, and tau from the k scores."],
    "": [
        "The condition 1 + k z_k > z_1 + … + z_k is true for the first k, and false "
        "beyond: its number of True in a row is k.",
        "Differentiate p_j = s_j - tau inside the support, where tau is a mean of k "
        "scores minus 1 / k. Outside, p_j is 0 and stays 0.",
        "dp_j / ds_l = delta_jl - 1 / k for j and l of the support. So ds = g minus "
        "the mean of g over the support, and 0 outside.",
    ],
    "nan": ["0 * inf is NaN: np.where selects without a product."],
}
