"""E.11  RoPE and its backward  ●●○○  30 min

RoPE rotates queries and keys by their position, each pair m of entries with its own
frequency. The product of a query and a key then depends only on their distance.

    theta_m = base^(-2m / E),                               m = 0, 1, …, E/2 - 1
    y_2m   = x_2m cos(p theta_m) - x_2m+1 sin(p theta_m)    at position p
    y_2m+1 = x_2m sin(p theta_m) + x_2m+1 cos(p theta_m)

Pairs of neighbours are called interleaved. Half-split pairs the entries m and m + E/2
instead. A model that was trained with one pairing gives wrong results with the other.
"""

import numpy as np


def rope(x, positions, base=10000.0):
    """Return the rows of x rotated by their positions, with interleaved pairs.

    x (…, L, E), E even, positions (L,)  ->  y (…, L, E), backward; backward(g) is
    dL/dx
    """
    # BEGIN SOLUTION
    E = x.shape[-1]
    theta = base ** (-np.arange(0, E, 2) / E)  # (E/2,)
    angle = positions[:, None] * theta  # (L, E/2)
    cos, sin = np.cos(angle), np.sin(angle)
    y = np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dx = np.empty_like(g)  # the transpose of a rotation is its inverse
        dx[..., 0::2] = g[..., 0::2] * cos + g[..., 1::2] * sin
        dx[..., 1::2] = g[..., 1::2] * cos - g[..., 0::2] * sin
        return dx
        # END SOLUTION

    return y, backward


def to_half_split(E):
    """Return the order p (E,) of entries that converts interleaved to half-split.

    Reorder the rows of W_q and W_k so to give a model the other pairing: the half-split
    rotation of x[..., p] is the interleaved rotation of x, reordered by p.
    """
    # BEGIN SOLUTION
    return np.arange(E).reshape(E // 2, 2).T.reshape(E)  # 0, 2, 4, …, 1, 3, 5, …
    # END SOLUTION


def scores(q, k):
    """Return the products (L, S) of the rotated rows of q (L, E) and k (S, E).

    The positions of both are 0, 1, 2, … With q rotated by i and k by j, the score is
    that of q with k rotated by j - i.
    """
    # BEGIN SOLUTION
    turned_q, _ = rope(q, np.arange(len(q)))
    turned_k, _ = rope(k, np.arange(len(k)))
    return turned_q @ turned_k.T
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "The backward of a rotation is its transpose, which is the rotation by the "
    "opposite angle. R(i)^T R(j) = R(j - i), so the product of a query at i and a key "
    "at j depends on their distance alone."
)

HINTS = {
    "shifted": ["A row at position 0 does not rotate."],
    "degrees": ["NumPy's sin and cos take radians."],
    "sign": [
        "The matrix is ((cos, -sin), (sin, cos)); the backward uses its transpose.",
    ],
    "exponent-sign": ["Do the later pairs turn faster or more slowly than the first?"],
    "rope": [
        "Write even and odd entries as two arrays (…, L, E/2); the angles are (L, "
        "E/2).",
    ],
    "to_half_split": [
        "Which entry of the interleaved row is the first of pair 0, of pair 1, …?",
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

MUTANTS = [
    ("base ** (-np.arange(0, E, 2) / E)", "base ** (np.arange(0, E, 2) / E)",
     "exponent-sign"),
    (
        "angle = positions[:, None] * theta",
        "angle = np.arange(len(positions))[:, None] * theta",
        "positions-ignored",
    ),
    ("np.arange(0, E, 2) / E", "np.arange(E // 2) / E", "frequencies"),
    ("np.arange(0, E, 2) / E", "np.arange(2, E + 1, 2) / E", "frequencies"),
    (
        "cos, sin = np.cos(angle), np.sin(angle)",
        "cos, sin = np.cos(angle), -np.sin(angle)",
        "direction",
    ),
    (
        "    y = np.empty_like(x)\n",
        "    a, b = x[..., : E // 2], x[..., E // 2 :]\n"
        "    y = np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)\n"
        "    return y, None\n",
        "pairing",
    ),
    (
        "y[..., 1::2] = x[..., 0::2] * sin",
        "y[..., 1::2] = y[..., 0::2] * sin",
        "overwritten",
    ),
    (
        "        dx[..., 0::2] = g[..., 0::2] * cos + g[..., 1::2] * sin\n"
        "        dx[..., 1::2] = g[..., 1::2] * cos - g[..., 0::2] * sin\n",
        "        dx[..., 0::2] = g[..., 0::2] * cos - g[..., 1::2] * sin\n"
        "        dx[..., 1::2] = g[..., 1::2] * cos + g[..., 0::2] * sin\n",
        "forward-again",
    ),
    ("        return dx\n", "        return g\n", "no-turn"),
    ("reshape(E // 2, 2).T", "reshape(2, E // 2).T", "inverse-order"),
    ("return turned_q @ turned_k.T", "return turned_q @ k.T", "unturned"),
    ("return turned_q @ turned_k.T", "return q @ k.T", "unturned"),
    (
        "return turned_q @ turned_k.T",
        "return turned_q @ turned_k.T / np.sqrt(q.shape[-1])",
        "scale:1/sqrt(14)",
    ),
    ("return turned_q @ turned_k.T", "return turned_k @ turned_q.T", "transpose"),
]  # fmt: skip
