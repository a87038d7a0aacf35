"""Check an answer to E.11."""

import math

import numpy as np

from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values


def by_loop(x, positions, base=10000.0, pairs="interleaved", sign=1, exponent=None):
    """Return rows whose pairs, as complex numbers, are multiplied by e^(i angle)."""
    y, E = np.array(x), x.shape[-1]
    for m in range(E // 2):
        a, b = (2 * m, 2 * m + 1) if pairs == "interleaved" else (m, m + E // 2)
        theta = base ** -(2 * m / E if exponent is None else exponent(m, E))
        for row in np.ndindex(x.shape[:-1]):
            turned = complex(x[row][a], x[row][b])
            angle = sign * positions[row[-1]] * theta
            turned *= complex(math.cos(angle), math.sin(angle))
            y[row][a], y[row][b] = turned.real, turned.imag
    return y


def mistakes(x, positions, base=10000.0):
    """Return wrong rotations: (tag, what, array)."""
    at = x, positions, base
    half = by_loop(*at, pairs="half")
    y = by_loop(*at)
    E = x.shape[-1]
    theta = base ** (-np.arange(0, E, 2) / E)
    angle = positions[:, None] * theta
    first = y[..., 0::2] * np.sin(angle) + x[..., 1::2] * np.cos(angle)
    overwritten = np.stack([y[..., 0::2], first], -1).reshape(x.shape)
    back = by_loop(*at, sign=-1)
    one, other = y.copy(), y.copy()
    one[..., 0::2], other[..., 1::2] = back[..., 0::2], back[..., 1::2]
    first = x[..., 0::2] * np.sin(angle) - x[..., 1::2] * np.cos(angle)
    second = x[..., 0::2] * np.cos(angle) + x[..., 1::2] * np.sin(angle)
    exchanged = np.stack([first, second], -1).reshape(x.shape)
    minus = y.copy()
    minus[..., 1::2] = first
    wrong = [
        ("pairing", "a rotation of the pairs (m, m + E/2)", half),
        ("direction", "a rotation by -p theta", back),
        ("sign", "first entries with the sign of sin turned round", one),
        ("sign", "second entries with the sign of sin turned round", other),
        ("shifted", "a rotation by (p + 1) theta", by_loop(x, positions + 1, base)),
        (
            "degrees",
            "a rotation by p theta degrees",
            by_loop(x, np.deg2rad(positions), base),
        ),
        (
            "exchanged",
            "a rotation with sin for cos and cos for sin",
            exchanged,
        ),
        *(
            (
                "positions-ignored",
                f"a rotation by {k}, {k + 1}, {k + 2}, … for any positions",
                by_loop(x, np.arange(len(positions)) + k, base),
            )
            for k in (0, 1)
        ),
        ("two-pi", "a rotation by 2 pi p theta",
         by_loop(x, 2 * math.pi * positions, base)),
        ("sign", "second entries with the sign of cos turned round", minus),
        (
            "exponent-sign",
            "a rotation with theta = base^(2 m / E)",
            by_loop(x, positions, 1 / base),
        ),
        (
            "base-ignored",
            "a rotation with the base 10000 for any base",
            by_loop(x, positions),
        ),
        (
            "base-ignored",
            "a rotation with theta = e^(-2 m / E) for any base",
            by_loop(x, positions, math.e),
        ),
        (
            "overwritten",
            "second entries computed from the new first entries",
            overwritten,
        ),
        *(
            ("frequencies", f"a rotation with theta_m = {text}", turned)
            for text, turned in (
                ("base^-(m / E)", by_loop(*at, exponent=lambda m, E: m / E)),
                (
                    "base^-(2 (m + 1) / E)",
                    by_loop(*at, exponent=lambda m, E: 2 * (m + 1) / E),
                ),
                (
                    "base^-(m / (E/2 - 1)), from 1 to 1 / base",
                    by_loop(*at, exponent=lambda m, E: m / max(E / 2 - 1, 1)),
                ),
                ("base^-m", by_loop(*at, exponent=lambda m, E: m)),
                ("base^-(4m / E)", by_loop(*at, exponent=lambda m, E: 4 * m / E)),
                ("1 for every pair", by_loop(*at, exponent=lambda m, E: 0)),
                ("1 / base for m > 0", by_loop(*at, exponent=lambda m, E: m > 0)),
            )
        ),
    ]  # fmt: skip
    return [v for v in wrong if not np.allclose(v[2], y)]


def of_gradients(positions, base=10000.0):
    """Return wrong backwards: (tag, what, function of g)."""

    def one_sign(start):
        def gradient(g):
            dx, again = (by_loop(g, positions, base, sign=s) for s in (-1, 1))
            dx[..., start::2] = again[..., start::2]
            return dx

        return gradient

    return [
        (
            "forward-again",
            "g rotated by p theta, as x is in the forward",
            lambda g: by_loop(g, positions, base),
        ),
        ("no-turn", "g itself", lambda g: g),
        ("base-ignored", "g rotated back with the base 10000",
         lambda g: by_loop(g, positions, sign=-1)),
        ("cos-alone", "g cos(p theta), without the other entry of the pair",
         lambda g: sum(by_loop(g, positions, base, sign=s) for s in (-1, 1)) / 2),
        ("exchanged", "the gradients of the two entries of each pair exchanged",
         lambda g: by_loop(g, positions, base, sign=-1)
         .reshape(*g.shape[:-1], -1, 2)[..., ::-1].reshape(g.shape)),
        ("sign", "first entries with the sign of sin turned round", one_sign(0)),
        ("sign", "second entries with the sign of sin turned round", one_sign(1)),
    ]  # fmt: skip


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
    # theta = 1 does not tell p + theta from (p + 1) theta
    wrong = [v for v in mistakes(x, positions) if v[0] != "shifted"]
    my.equal(my.rope(x, positions)[0], want, "LE", wrong)
    order = [0, 2, 4, 1, 3, 5]
    back = [("inverse-order", "the order that converts back", np.argsort(order))]
    my.equal(my.to_half_split(6), np.array(order), "E", back)


@values("rope, against complex numbers")
def complex_numbers(my, rng):
    x, positions = rng.normal(size=(3, 5, 14)), np.array([0, 1, 2, 7, 100])
    for base in (10000.0, 50.0):
        want = by_loop(x, positions, base)
        my.equal(
            my.rope(x, positions, base)[0], want, "BLE", mistakes(x, positions, base)
        )


@values("from interleaved to half-split")
def to_the_other(my, rng):
    x, positions = rng.normal(size=(5, 14)), np.arange(5)
    p = my.to_half_split(14)
    my.holds(
        sorted(p) == list(range(14)),
        "no-order",
        "expected each of 0, …, 13 once",
        f"found {', '.join(map(str, p))}",
    )
    turned, want = (
        by_loop(x[:, p], positions, pairs="half"),
        by_loop(x, positions)[:, p],
    )
    back = by_loop(x[:, np.argsort(p)], positions, pairs="half")
    leads_back = np.allclose(back, by_loop(x, positions)[:, np.argsort(p)])
    my.holds(
        np.allclose(turned, want),
        "inverse-order" if leads_back else "no-order",
        "expected the half-split rotation of x[:, p] to be rope(x)[:, p]",
        f"found rows that differ by up to {np.abs(turned - want).max():.3g}",
    )


@laws("lengths stay, and a score depends on the distance only")
def distance_alone(my, rng):
    x = rng.normal(size=(5, 14))
    y = np.asarray(my.rope(x, np.arange(5))[0])
    my.equal((y**2).sum(-1), (x**2).sum(-1), "L")
    q, k = rng.normal(size=14), rng.normal(size=14)
    Q, K = np.tile(q, (5, 1)), np.tile(k, (7, 1))
    found = my.scores(Q, K)
    want, plain = np.empty((5, 7)), np.full((5, 7), q @ k)
    for i in range(5):
        for j in range(7):
            want[i, j] = q @ by_loop(k[None], [j - i])[0]
    one, other, apart, added = np.empty((4, 5, 7))
    for i, j in np.ndindex(5, 7):
        apart[i, j] = q @ by_loop(k[None], [-i - j])[0]
        added[i, j] = q @ by_loop(k[None], [i + j])[0]
    for i in range(5):
        one[i] = by_loop(q[None], [i])[0] @ k
    for j in range(7):
        other[:, j] = q @ by_loop(k[None], [j])[0]
    wrong = [
        ("unturned", "q . k without any rotation", plain),
        ("unturned", "the products with k not rotated", one),
        ("unturned", "the products with q not rotated", other),
        *(
            ("direction", "scores of i + j: q and k rotated in opposite directions", s)
            for s in (apart, added)
        ),
    ]
    my.equal(found, want, "LS", wrong)
    for L, S in ((5, 7), (5, 5)):
        q, k = rng.normal(size=(L, 14)), rng.normal(size=(S, 14))
        turned = by_loop(q, np.arange(L)), by_loop(k, np.arange(S))
        my.equal(my.scores(q, k), turned[0] @ turned[1].T, "LS")


@gradients("of rope")
def of_rope(my, rng):
    x, positions = rng.normal(size=(3, 5, 6)), np.array([0, 1, 2, 7, 100])

    def rope(x):
        return my.rope(x, positions, 50.0)

    my.gradients(rope, [x], variants={"x": of_gradients(positions, 50.0)})
    for size in ((3, 5, 6), (5, 5, 10)):  # also as many pairs as positions
        x, g = rng.normal(size=(2, *size))
        has_all_digits(my, rope(x)[1](g), by_loop(g, positions, 50.0, sign=-1), "dx")


@edges("position 0, a negative one, one pair, and no rows")
def few(my, rng):
    x = rng.normal(size=(3, 2))
    positions = np.array([0, -3, 5])
    y, backward = my.rope(x, positions)
    my.equal(y, by_loop(x, positions), "LE")
    my.equal(y[0], x[0], "E")
    my.shape(my.rope(np.zeros((0, 6)), np.arange(0))[0], (0, 6), "LE")
    my.equal(my.to_half_split(2), np.array([0, 1]), "E")


HINTS = {
    "cos-alone": ["Each entry of x is in both entries of its pair in y."],
    "two-pi": ["The angle of the first pair is p itself, in radians."],
    "shifted": ["A row at position 0 does not rotate."],
    "degrees": ["NumPy's sin and cos take radians."],
    "sign": [
        "Rotate (1, 0) and (0, 1) by a small angle: which entries are negative?",
    ],
    "exponent-sign": ["Do the later pairs turn faster or more slowly than the first?"],
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
    "pairing": ["Which two entries are a pair, 0 and 1, or 0 and E/2?"],
    "base-ignored": ["The base is an argument of rope."],
    "direction": ["In which direction does (1, 0) rotate at position p = 1?"],
    "positions-ignored": ["A row is rotated by its position, not by its index."],
    "frequencies": [
        "The exponents of base are 0, -2/E, -4/E, …; the fastest pair rotates by 1 "
        "for each position, and base itself is never reached.",
    ],
    "forward-again": [
        "The gradient of y = R x is R^T g. What is the transpose of a rotation?",
    ],
    "no-turn": ["x was rotated, so its gradient is not g itself."],
    "overwritten": [
        "The second line needs the old x, but the first line has replaced it.",
    ],
    "inverse-order": [
        "There are two orders: one converts, the other converts back. Which one "
        "reads the even entries first?",
    ],
    "unturned": ["Rotate both before the product, each by its own position."],
}
