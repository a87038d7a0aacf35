"""Check an answer to E.2."""

import math

import numpy as np

from lessons.checks.measure import exact_gradients, peak_numbers, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, numbers, shape

# THE EXERCISE IN LOOPS


def tanh(x):
    """dy/dx = 1 - y^2"""
    y = np.zeros(x.shape)
    for i in np.ndindex(*x.shape):
        y[i] = math.tanh(x[i])

    def backward(g):
        dx = np.zeros(x.shape)
        for i in np.ndindex(*x.shape):
            dx[i] = g[i] * (1 - y[i] ** 2)
        return dx

    return y, backward


def matmul(a, b):
    """y_ij = sum_k a_ik b_kj"""
    y = np.zeros((len(a), b.shape[1]))
    for i, j in np.ndindex(*y.shape):
        y[i, j] = sum(a[i] * b[:, j])

    def backward(g):
        da, db = np.zeros(a.shape), np.zeros(b.shape)
        for i, j in np.ndindex(*y.shape):
            da[i] += g[i, j] * b[:, j]
            db[:, j] += g[i, j] * a[i]
        return da, db

    return y, backward


def softmax(x):
    """Row by row"""
    e, y = np.zeros((2, *x.shape))
    for i in np.ndindex(*x.shape[:-1]):
        e[i] = np.exp(x[i] - max(x[i]))
        y[i] = e[i] / sum(e[i])

    def backward(g):
        dx = np.zeros(x.shape)
        for i in np.ndindex(*x.shape[:-1]):
            mean = sum(y[i] * g[i])
            dx[i] = y[i] * (g[i] - mean)
        return dx

    return y, backward


def log_softmax(x):
    """dy_i/dx_k = delta_ik - p_k"""
    y = np.log(softmax(x)[0])

    def backward(g):
        dx = np.zeros(x.shape)
        for i in np.ndindex(*x.shape[:-1]):
            p = np.exp(y[i])
            dx[i] = g[i] - p * sum(g[i])
        return dx

    return y, backward


# THE CHECK


@shape("a gradient for each input, of its shape")
def of_its_shape(my, rng):
    x = rng.normal(size=(3, 5))
    for op in (my.tanh, my.softmax):
        y, backward = op(x)
        my.shape(backward(rng.normal(size=np.shape(y))), x.shape)


@numbers("softmax of (0, 0), by hand: J = ((1, -1), (-1, 1)) / 4")
def by_hand(my, rng):
    y, backward = my.softmax(np.zeros(2))
    with without_loops():  # mistakes agree by chance in two numbers
        my.equal(backward(np.array([1.0, 0.0])), [0.25, -0.25], "k")


@gradients("tanh")
def of_tanh(my, rng):
    exact_gradients(my, my.tanh, tanh, [rng.normal(size=(3, 5))], rng)


@gradients("matmul")
def of_matmul(my, rng):
    for shapes in (((3, 5), (5, 7)), ((3, 3), (3, 3))):
        factors = [rng.normal(size=shape) for shape in shapes]
        exact_gradients(my, my.matmul, matmul, factors, rng)


@gradients("softmax")
def of_softmax(my, rng):
    exact_gradients(my, my.softmax, softmax, [rng.normal(size=(3, 5))], rng)


@gradients("log_softmax")
def of_log_softmax(my, rng):
    exact_gradients(my, my.log_softmax, log_softmax, [rng.normal(size=(3, 5))], rng)


@edges("memory, for a row of 500 scores")
def without_jacobian(my, rng):
    x, g = rng.normal(size=(2, 1, 500))
    for op in (my.softmax, my.log_softmax):
        y, backward = op(x)
        peak = peak_numbers(backward, g)
        my.holds(
            peak < 500 * 100,
            "jacobian",
            "expected a few rows of 500 numbers in memory, not a Jacobian of 250,000",
            f"found {peak:.0f} numbers",
        )


@edges("a score of 1e4, and a row of one score")
def large_and_alone(my, rng):
    y, backward = my.softmax(np.array([[1e4, 0.0, -1e4]]))
    my.equal(backward(np.array([[1.0, 2.0, 3.0]])), np.zeros((1, 3)), "ik")
    y, backward = my.softmax(np.array([[3.0]]))
    my.equal(backward(np.array([[2.0]])), np.zeros((1, 1)), "ik")


SLOPE = "dx[i] = g[i] * (1 - y[i] ** 2)"
MEAN = "mean = sum(y[i] * g[i])"
CENTRED = "dx[i] = y[i] * (g[i] - mean)"
BOTH = f"{MEAN}\n            {CENTRED}"
OF_LOG = "dx[i] = g[i] - p * sum(g[i])"
DERIVATIVE = "Does the derivative of tanh contain x or y?"
ONE = "p = exp(y) is the softmax, and p_k does not depend on i. What is sum_i g_i p_k?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    *(
        ("wrong-derivative", text, DERIVATIVE, SLOPE, f"dx[i] = g[i] * {slope}")
        for text, slope in [
            ("g * (1 - x * x)", "(1 - x[i] ** 2)"),
            ("g * (1 - y)", "(1 - y[i])"),
            ("g * y * (1 - y), of a sigmoid", "y[i] * (1 - y[i])"),
            ("g / cosh(x), without the square", "1 / math.cosh(x[i])"),
            ("g * y * (1 - y * y)", "y[i] * (1 - y[i] ** 2)"),
            ("g * (1 - tanh(y)^2)", "(1 - math.tanh(y[i]) ** 2)"),
        ]
    ),
    ("softmax-nocentre", "y * g, without - y * sum(y * g)", "", CENTRED,
     "dx[i] = y[i] * g[i]"),
    ("softmax-diagonal", "the diagonal of J alone, times g", "", CENTRED,
     "dx[i] = y[i] * (1 - y[i]) * g[i]"),
    ("softmax-skipped", "g - sum(y g), without the factor y", "", CENTRED,
     "dx[i] = g[i] - mean"),
    ("one-factor", "y g - sum(y g), without y in the second term", "", CENTRED,
     "dx[i] = y[i] * g[i] - mean"),
    ("one-factor", "y g - y^2 sum(g), with g for g_i in the sum", "", CENTRED,
     "dx[i] = y[i] * g[i] - y[i] ** 2 * sum(g[i])"),
    ("not-divided", "e (g - sum(y g)), with exponentials that are not divided", "",
     CENTRED, "dx[i] = e[i] * (g[i] - mean)"),
    ("plus", "y (g + sum(y g)), with + for -", "", CENTRED,
     "dx[i] = y[i] * (g[i] + mean)"),
    ("unweighted-sum", "y (g - sum(g)), without y in the sum", "", MEAN,
     "mean = sum(g[i])"),
    ("mean-of-g", "y (g - mean(g)), the mean without weights", "", MEAN,
     "mean = sum(g[i]) / len(g[i])"),
    ("mean", "y (g - mean(y g)), a mean in place of the sum", "", MEAN,
     f"{MEAN} / len(g[i])"),
    ("sum-over-everything", "y (g - sum(y g)) with one sum over all rows", "", MEAN,
     "mean = (y * g).sum()"),
    ("wrong-axis", "y (g - sum(y g)) with sums over axis -2", "", MEAN,
     "mean = sum(y * g)"),
    ("x-for-y", "x (g - sum(x g)), with x for y",
     "Do the scores stand in dy_i/dx_k, or the weights?", BOTH,
     BOTH.replace("y[i]", "x[i]")),
    *(
        ("log-of-softmax", text, ONE, OF_LOG, f"dx[i] = {new}")
        for text, new in [
            ("g - p g", "g[i] - p * g[i]"),
            ("g - p", "g[i] - p"),
            ("g - sum(p g)", "g[i] - sum(p * g[i])"),
            ("g - sum(g)", "g[i] - sum(g[i])"),
            ("g - y sum(g)", "g[i] - y[i] * sum(g[i])"),
            ("p (g - sum(p g)), of the softmax", "p * (g[i] - sum(p * g[i]))"),
            ("y (g - sum(y g)), with y for p", "y[i] * (g[i] - sum(y[i] * g[i]))"),
            ("g - p sum(p g)", "g[i] - p * sum(p * g[i])"),
            ("g - p sum(y g)", "g[i] - p * sum(y[i] * g[i])"),
            ("p (g - sum(g))", "p * (g[i] - sum(g[i]))"),
            ("g / p", "g[i] / p"),
            ("g - exp(x - max x) sum(g), exponents that are not divided",
             "g[i] - np.exp(x[i] - max(x[i])) * sum(g[i])"),
            ("g - exp(x) sum(g), exponents that are not divided",
             "g[i] - np.exp(x[i]) * sum(g[i])"),
        ]
    ),
    ("mean", "g - p mean(g)", "", OF_LOG, f"{OF_LOG} / len(p)"),
    ("plus", "g + p sum(g), with + for -", "", OF_LOG, OF_LOG.replace("-", "+")),
    ("sum-over-everything", "g - p sum(g), summed over all rows", "", OF_LOG,
     "dx[i] = g[i] - p * g.sum()"),
    ("wrong-axis", "g - p sum(g), summed over axis -2", "", OF_LOG,
     "dx[i] = g[i] - p * sum(g)"),
]  # fmt: skip

HINTS = {
    "log_softmax": [
        "y_i = x_i - ln sum_j exp(x_j): what is dy_i/dx_k, and over which i is the "
        "sum?",
    ],
    "tanh": ["dy/dx = 1 - tanh(x)^2: which variable of the forward is tanh(x)?"],
    "matmul": [
        "Which entries of y contain a_ik, and which number multiplies it in each?",
    ],
    "softmax": [
        "Which outputs of its row does one score x_k change? One of them is special.",
    ],
    "jacobian": [
        "Write sum_i g_i dy_i/dx_k for one k: a sum over i and a term of k are left, "
        "and no matrix.",
    ],
    "": [
        "Start with one entry: how much does L change if x_k changes a little?",
        "For matmul, write y_ij = sum_k a_ik b_kj and sum g_ij dy_ij/da_ik over i "
        "and j. The shapes allow only one product.",
        "For softmax: sum_i g_i y_i (delta_ik - y_k) has two terms, and y_k is a "
        "factor of both.",
    ],
}
