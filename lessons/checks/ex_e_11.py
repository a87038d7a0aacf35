"""Check an answer to E.11."""

import math

import numpy as np

from lessons.checks.measure import exact_gradients
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def rope(x, positions, base=10000.0):
    """The pair (x_2m, x_2m+1) of a row at p is rotated by p base^(-2m / E)."""
    y, E = np.zeros(x.shape), x.shape[-1]
    theta = [base ** (-2 * m / E) for m in range(E // 2)]
    angle = np.array([[p * t for t in theta] for p in positions])
    cos, sin = np.cos(angle), np.sin(angle)
    pairs = [
        ((*row, 2 * m), (*row, 2 * m + 1), (row[-1], m))
        for *row, m in np.ndindex(*x.shape[:-1], E // 2)
    ]
    for a, b, at in pairs:
        y[a] = x[a] * cos[at] - x[b] * sin[at]
        y[b] = x[a] * sin[at] + x[b] * cos[at]

    def backward(g):
        dx = np.zeros(x.shape)
        for a, b, at in pairs:
            dx[a] = g[a] * cos[at] + g[b] * sin[at]
            dx[b] = g[b] * cos[at] - g[a] * sin[at]
        return dx

    return y, backward


def to_half_split(E):
    """The first entries of all pairs, then the second ones"""
    order = np.array([*range(0, E, 2), *range(1, E, 2)])
    return order


def scores(q, k):
    """The products of the rotated rows"""
    turned_q, _ = rope(q, np.arange(len(q)))
    turned_k, _ = rope(k, np.arange(len(k)))
    return np.array([[a @ b for b in turned_k] for a in turned_q])


# THE CHECK


@shape("rotated rows like the rows, a score for each pair")
def like_the_rows(my, rng):
    x = rng.normal(size=(3, 5, 14))
    y, backward = my.rope(x, np.arange(5))
    my.shape(y, x.shape, "BLE")
    my.shape(my.to_half_split(14), (14,), "E", int)
    my.shape(my.scores(x[0], rng.normal(size=(7, 14))), (5, 7), "LS")


@numbers("(1, 2) rotated by a right angle and by one radian")
def right_angle(my, rng):
    x, positions = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([math.pi / 2, 1.0])
    c, s = math.cos(1), math.sin(1)
    want = [[-2.0, 1.0], [c - 2 * s, s + 2 * c]]
    my.equal(my.rope(x, positions)[0], want, "LE")
    my.equal(my.to_half_split(6), np.array([0, 2, 4, 1, 3, 5]), "E")


@values("rope, with two bases")
def two_bases(my, rng):
    x, positions = rng.normal(size=(3, 5, 14)), np.array([0, 1, 2, 7, 100])
    for base in (10000.0, 50.0):
        want, _ = rope(x, positions, base)
        my.equal(my.rope(x, positions, base)[0], want, "BLE")
    my.equal(my.to_half_split(14), to_half_split(14), "E")


@laws("lengths stay, and a score depends on the distance only")
def distance_alone(my, rng):
    x = rng.normal(size=(5, 14))
    y = np.asarray(my.rope(x, np.arange(5))[0])
    my.equal((y**2).sum(-1), (x**2).sum(-1), "L")
    q, k = rng.normal(size=14), rng.normal(size=14)
    Q, K = np.tile(q, (5, 1)), np.tile(k, (7, 1))
    want = np.empty((5, 7))
    for i, j in np.ndindex(5, 7):
        want[i, j] = q @ rope(k[None], [j - i])[0][0]
    my.equal(my.scores(Q, K), want, "LS")
    for L, S in ((5, 7), (5, 5)):
        q, k = rng.normal(size=(L, 14)), rng.normal(size=(S, 14))
        my.equal(my.scores(q, k), scores(q, k), "LS")


@gradients("of rope")
def of_rope(my, rng):
    positions = np.array([0, 1, 2, 7, 100])

    def mine(x):
        return my.rope(x, positions, 50.0)

    def right(x):
        return rope(x, positions, 50.0)

    for size in ((3, 5, 6), (5, 5, 10)):  # also as many pairs as positions
        exact_gradients(my, mine, right, [rng.normal(size=size)], rng)


@edges("position 0, a negative one, one pair, and no rows")
def few(my, rng):
    x = rng.normal(size=(3, 2))
    positions = np.array([0, -3, 5])
    y, backward = my.rope(x, positions)
    my.equal(y, rope(x, positions)[0], "LE")
    my.equal(y[0], x[0], "E")
    my.shape(my.rope(np.zeros((0, 6)), np.arange(0))[0], (0, 6), "LE")
    my.equal(my.to_half_split(2), np.array([0, 1]), "E")


THETA = "base ** (-2 * m / E)"
ANGLE = "p * t for t in theta] for p in positions"
TURN = "np.cos(angle), np.sin(angle)"
FIRST = "y[a] = x[a] * cos[at] - x[b] * sin[at]"
SECOND = "y[b] = x[a] * sin[at] + x[b] * cos[at]"
D_FIRST = "dx[a] = g[a] * cos[at] + g[b] * sin[at]"
D_SECOND = "dx[b] = g[b] * cos[at] - g[a] * sin[at]"
D_BOTH = D_FIRST + "\n            " + D_SECOND
PRODUCT = "[[a @ b for b in turned_k] for a in turned_q]"
SIGN = "Rotate (1, 0) and (0, 1) by a small angle: which entries are negative?"
BY_POSITION = "A row is rotated by its position, not by its index."
BASE = "The base is an argument of rope."
EXPONENTS = (
    "The exponents of base are 0, -2/E, -4/E, …; the fastest pair rotates by 1 for "
    "each position, and base itself is never reached."
)
BOTH = "Rotate both before the product, each by its own position."
WHERE_TO = "In which direction does (1, 0) rotate at position p = 1?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("pairing", "a rotation of the pairs (m, m + E/2)",
     "Which two entries are a pair, 0 and 1, or 0 and E/2?",
     "((*row, 2 * m), (*row, 2 * m + 1), ", "((*row, m), (*row, m + E // 2), "),
    ("direction", "a rotation by -p theta", WHERE_TO, TURN,
     "np.cos(angle), -np.sin(angle)"),
    ("sign", "first entries with the sign of sin turned round", SIGN, FIRST,
     FIRST.replace("-", "+")),
    ("sign", "second entries with the sign of sin turned round", SIGN, SECOND,
     SECOND.replace("x[a]", "-x[a]")),
    ("sign", "second entries with the sign of cos turned round", SIGN, SECOND,
     SECOND.replace("+", "-")),
    ("shifted", "a rotation by (p + 1) theta", "A row at position 0 does not rotate.",
     ANGLE, ANGLE.replace("p *", "(p + 1) *")),
    ("added", "a rotation by p + theta", "The angle is a product.", ANGLE,
     ANGLE.replace("*", "+")),
    ("degrees", "a rotation by p theta degrees", "NumPy's sin and cos take radians.",
     ANGLE, ANGLE.replace("p *", "np.deg2rad(p) *")),
    ("two-pi", "a rotation by 2 pi p theta",
     "The angle of the first pair is p itself, in radians.", ANGLE,
     ANGLE.replace("p *", "2 * np.pi * p *")),
    ("exchanged", "a rotation with sin for cos and cos for sin", "", TURN,
     "np.sin(angle), np.cos(angle)"),
    ("positions-ignored", "a rotation by 0, 1, 2, … for any positions", BY_POSITION,
     ANGLE, ANGLE.replace("positions", "range(len(positions))")),
    ("positions-ignored", "a rotation by 1, 2, 3, … for any positions", BY_POSITION,
     ANGLE, ANGLE.replace("positions", "range(1, len(positions) + 1)")),
    ("exponent-sign", "a rotation with theta = base^(2 m / E)",
     "Do the later pairs turn faster or more slowly than the first?", THETA,
     THETA.replace("-", "")),
    ("base-ignored", "a rotation with the base 10000 for any base", BASE, THETA,
     THETA.replace("base", "10000.0")),
    ("base-ignored", "a rotation with theta = e^(-2 m / E) for any base", BASE, THETA,
     THETA.replace("base", "np.e")),
    ("overwritten", "second entries computed from the new first entries",
     "The second line needs the old x, but the first line has replaced it.", SECOND,
     SECOND.replace("x[a]", "y[a]")),
    *(
        ("frequencies", f"a rotation with theta_m = {text}", EXPONENTS, THETA, theta)
        for text, theta in [
            ("base^-(m / E)", "base ** (-m / E)"),
            ("base^-(2 (m + 1) / E)", "base ** (-2 * (m + 1) / E)"),
            ("base^-(m / (E/2 - 1)), from 1 to 1 / base",
             "base ** (-m / max(E / 2 - 1, 1))"),
            ("base^-m", "float(base) ** -m"),
            ("base^-(4m / E)", "base ** (-4 * m / E)"),
            ("1 for every pair", "1.0"),
            ("1 / base for m > 0", "float(base) ** -(m > 0)"),
        ]
    ),
    ("forward-again", "g rotated by p theta, as x is in the forward",
     "The gradient of y = R x is R^T g. What is the transpose of a rotation?", D_BOTH,
     D_FIRST.replace("+", "-") + "\n            " + D_SECOND.replace("-", "+")),
    ("no-turn", "g itself", "x was rotated, so its gradient is not g itself.",
     "return dx", "return g"),
    ("base-ignored", "g rotated back with the base 10000", BASE,
     "dx = np.zeros(x.shape)",
     "dx = np.zeros(x.shape)\n"
     "        theta = [10000.0 ** (-2 * m / E) for m in range(E // 2)]\n"
     "        cos, sin = (f(np.outer(positions, theta)) for f in (np.cos, np.sin))"),
    ("cos-alone", "g cos(p theta), without the other entry of the pair",
     "Each entry of x is in both entries of its pair in y.", D_BOTH,
     "dx[a], dx[b] = g[a] * cos[at], g[b] * cos[at]"),
    ("exchanged", "the gradients of the two entries of each pair exchanged", "", D_BOTH,
     D_FIRST.replace("dx[a]", "dx[b]") + "\n            "
     + D_SECOND.replace("dx[b]", "dx[a]")),
    ("sign", "first entries with the sign of sin turned round", SIGN, D_FIRST,
     D_FIRST.replace("+", "-")),
    ("sign", "second entries with the sign of sin turned round", SIGN, D_SECOND,
     D_SECOND.replace("-", "+")),
    ("inverse-order", "the order that converts back",
     "There are two orders: one converts, the other converts back. Which one reads the "
     "even entries first?", "return order", "return np.argsort(order)"),
    ("unturned", "q . k without any rotation", BOTH, PRODUCT,
     PRODUCT.replace("turned_", "")),
    ("unturned", "the products with k not rotated", BOTH, PRODUCT,
     PRODUCT.replace("turned_k", "k")),
    ("unturned", "the products with q not rotated", BOTH, PRODUCT,
     PRODUCT.replace("turned_q", "q")),
    *(
        ("direction", "scores of i + j: q and k rotated in opposite directions",
         WHERE_TO, line, line.replace("np", "-np"))
        for line in ("rope(q, np.arange(len(q)))", "rope(k, np.arange(len(k)))")
    ),
]  # fmt: skip

HINTS = {
    "rope": [
        "Write the case E = 2 first: one pair, and one angle for each position.",
    ],
    "to_half_split": [
        "Take E = 6 and write both rows down: the three pairs before, and after.",
    ],
    "scores": ["Rotate all rows of q and of k by their own positions, then multiply."],
    "": [
        "Even entries are x[..., 0::2], odd ones x[..., 1::2]: write each pair as "
        "two arrays of width E/2. The angles have shape (L, E/2).",
        "The backward multiplies by the transpose of the matrix ((cos, -sin), (sin, "
        "cos)), which rotates by the opposite angle. For the order of entries: which "
        "entry of the interleaved x is the first of pair 0, of pair 1, …?",
        "y[..., 0::2] and y[..., 1::2] are the two lines of the formula. In the "
        "backward, g replaces x and the sines change their sign. The order is first "
        "all even numbers, then all odd ones.",
    ],
}
