"""Check an answer to E.2."""

import numpy as np

from lessons.checks.measure import has_all_digits, peak_numbers
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.checking import hypotheses
from lessons.classroom.steps import edges, gradients, numbers, shape


@shape("a gradient for each input, of its shape")
def of_its_shape(my, rng):
    x = rng.normal(size=(3, 5))
    for op in (my.tanh, my.softmax):
        y, backward = op(x)
        my.shape(backward(rng.normal(size=y.shape)), x.shape)


@numbers("softmax of (0, 0), by hand: J = ((1, -1), (-1, 1)) / 4")
def by_hand(my, rng):
    y, backward = my.softmax(np.zeros(2))
    wrong = [
        ("softmax-nocentre", "y * g, without - y * sum(y * g)", [0.5, 0.0]),
        ("softmax-diagonal", "the diagonal of J alone, times g", [0.25, 0.0]),
    ]
    my.equal(backward(np.array([1.0, 0.0])), [0.25, -0.25], "k", wrong)


@gradients("tanh")
def of_tanh(my, rng):
    x = rng.normal(size=(3, 5))
    y, tag = np.tanh(x), "wrong-derivative"
    wrong = [
        (tag, "g * (1 - x * x)", lambda g: g * (1 - x * x)),
        (tag, "g * (1 - y)", lambda g: g * (1 - y)),
        (tag, "g * y * (1 - y), of a sigmoid", lambda g: g * y * (1 - y)),
        (tag, "g / cosh(x), without the square", lambda g: g / np.cosh(x)),
        (tag, "g * y * (1 - y * y)", lambda g: g * y * (1 - y * y)),
    ]
    my.gradients(my.tanh, [x], variants={"x": wrong})


@gradients("matmul")
def of_matmul(my, rng):
    my.gradients(my.matmul, [rng.normal(size=(3, 5)), rng.normal(size=(5, 7))])
    my.gradients(my.matmul, [*rng.normal(size=(2, 3, 3))])


@gradients("softmax")
def of_softmax(my, rng):
    x = rng.normal(size=(3, 5))
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)

    def centred(g):
        return g - (g * y).sum(-1, keepdims=True)

    wrong = [
        ("not-divided", "e (g - sum(y g)), with exponentials that are not divided",
         lambda g: e * centred(g)),
        ("one-factor", "y g - y^2 sum(g), with g for g_i in the sum",
         lambda g: y * g - y * y * g.sum(-1, keepdims=True)),
        ("x-for-y", "x (g - sum(x g)), with x for y",
         lambda g: x * (g - (g * x).sum(-1, keepdims=True))),
    ]  # fmt: skip
    my.gradients(my.softmax, [x], variants={"x": wrong})


@gradients("log_softmax")
def of_log_softmax(my, rng):
    x = rng.normal(size=(3, 5))
    y = x - np.log(np.exp(x).sum(-1, keepdims=True))

    def wrong(g):
        return hypotheses.wrong_log_softmax_gradients(y, g)

    known = [
        (tag, text, lambda g, k=k: wrong(g)[k][2])
        for k, (tag, text, _) in enumerate(wrong(x))
    ]
    tag, p = "log-of-softmax", np.exp(y)
    known += [
        (tag, "g - exp(x) sum(g), exponents that are not divided",
         lambda g: g - np.exp(x) * g.sum(-1, keepdims=True)),
        (tag, "g - p sum(y g)", lambda g: g - p * (y * g).sum(-1, keepdims=True)),
        (tag, "p (g - sum(g))", lambda g: p * (g - g.sum(-1, keepdims=True))),
    ]  # fmt: skip
    my.gradients(my.log_softmax, [x], variants={"x": known})


@gradients("with the digits of a formula")
def all_digits(my, rng):
    x, g = rng.normal(size=(2, 3, 5))
    has_all_digits(my, my.tanh(x)[1](g), g / np.cosh(x) ** 2, "dx of tanh")
    a, b, g_ab = (
        rng.normal(size=(3, 5)),
        rng.normal(size=(5, 7)),
        rng.normal(size=(3, 7)),
    )
    da, db = my.matmul(a, b)[1](g_ab)
    has_all_digits(my, da, np.array([[sum(r * c) for c in b] for r in g_ab]), "da")
    want = np.array([[sum(r * c) for c in g_ab.T] for r in a.T])
    has_all_digits(my, db, want, "db")
    e = np.exp(x)
    p = e / e.sum(1, keepdims=True)
    want = [(np.diag(row) - np.outer(row, row)) @ d for row, d in zip(p, g)]
    has_all_digits(my, my.softmax(x)[1](g), np.array(want), "dx of softmax")
    want = [d - row * sum(d) for row, d in zip(p, g)]
    has_all_digits(my, my.log_softmax(x)[1](g), np.array(want), "dx of log_softmax")


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


HINTS = {
    "log_softmax": [
        "y_i = x_i - ln sum_j exp(x_j): what is dy_i/dx_k, and over which i is the "
        "sum?",
    ],
    "log-of-softmax": [
        "p = exp(y) is the softmax, and p_k does not depend on i. What is sum_i g_i "
        "p_k?",
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
    "x-for-y": ["Do the scores stand in dy_i/dx_k, or the weights?"],
    "": [
        "Start with one entry: how much does L change if x_k changes a little?",
        "For matmul, write y_ij = sum_k a_ik b_kj and sum g_ij dy_ij/da_ik over i "
        "and j. The shapes allow only one product.",
        "For softmax: sum_i g_i y_i (delta_ik - y_k) has two terms, and y_k is a "
        "factor of both.",
    ],
    "wrong-derivative": ["Does the derivative of tanh contain x or y?"],
}
