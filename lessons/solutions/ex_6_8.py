"""6.8  What self-attention moves  ●●○○  25 min  needs 6.1  book §6.4

A sequence looks at itself, without projections:

    e_ij = scale x_i . x_j      alpha = softmax(e) over j      z_i = sum_j alpha_ij x_j

The exercise of the chapter draws 8 vectors of 16 normal numbers, takes scale = 1, and
asks whether positions that attend to each other come closer. Say what you expect; then
measure it at three scales, of which 1 / sqrt(16) is the second.
"""

import numpy as np


def prediction():
    """What you expect, before anything runs; no answer is wrong.

    ->  {1: (own, sign), 1 / 4: (own, sign), 1 / 20: (own, sign)}, for each scale
    own   the mean weight that a position gives itself, of 8 vectors of 16 numbers
    sign  +1 if pairs with more weight on each other gain more cosine, -1 if less
    """
    # BEGIN SOLUTION
    return {1: (0.2, +1), 1 / 4: (0.2, +1), 1 / 20: (0.2, +1)}
    # END SOLUTION


def self_attention(X, scale):
    """alpha (T, T) and Z (T, d), of X (T, d) with a position in each row."""
    # BEGIN SOLUTION
    e = scale * (X @ X.T)
    z = np.exp(e - e.max(axis=-1, keepdims=True))
    alpha = z / z.sum(axis=-1, keepdims=True)  # row i: where position i looks
    return alpha, alpha @ X
    # END SOLUTION


def cosine(X):
    """All cosines x_i . x_j / (|x_i| |x_j|)  ->  (T, T); no row of X is 0"""
    # BEGIN SOLUTION
    unit = X / np.linalg.norm(X, axis=-1, keepdims=True)
    return unit @ unit.T
    # END SOLUTION


def geometry_change(X, scale):
    """What attention does to pairs, for every pair i < j.

    ->  mutual (n,), alpha_ij + alpha_ji;  gain (n,), the cosine of z_i and z_j, less
        that of x_i and x_j; n = T (T - 1) / 2, in the order of ``np.triu_indices``
    """
    # BEGIN SOLUTION
    alpha, Z = self_attention(X, scale)
    pairs = np.triu_indices(len(X), k=1)  # without the diagonal
    return (alpha + alpha.T)[pairs], (cosine(Z) - cosine(X))[pairs]
    # END SOLUTION


def rank_correlation(a, b):
    """Spearman: the correlation of the ranks of a (n,) with those of b (n,); no ties.

    The smallest entry has rank 0. 1 where b grows whenever a does, -1 where it falls.
    """
    # BEGIN SOLUTION
    ranks = [np.argsort(np.argsort(x)) for x in (a, b)]  # the place of each entry
    u, v = (r - r.mean() for r in ranks)
    return (u @ v) / np.sqrt((u @ u) * (v @ v))
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Row i of alpha belongs to position i: it sums to 1, and z_i is made with it.",
        "For the cosines, divide each row by its norm first; then one product has them "
        "all. Pairs stand above the diagonal: np.triu_indices(T, k=1).",
        "np.argsort(np.argsort(x)) has the rank of each entry. Take the means away, "
        "and divide the product by the root of both squared lengths.",
    ],
    "wrong-axis": ["Over which axis do the weights of one position sum to 1?"],
    "no-scale": ["The scale is an argument. Where does it enter?"],
    "divided": ["The scores are multiplied by the scale."],
    "no-norms": ["A cosine is at most 1. What makes long vectors count more?"],
    "squared-norms": ["One norm for each of the two vectors, and not its square."],
    "one-way": ["i looks at j, and j looks at i: mutual is both."],
    "after-only": ["A gain compares with what was there before."],
    "scale": ["A gain is the cosine after, less the one before."],
    "overflow": [
        "exp(1e3) is more than a float64 holds. Softmax has a freedom to use."
    ],
    "pearson": ["Ranks are asked for, whatever the size of the entries."],
    "order": ["argsort says where the entries are taken from, and not their ranks."],
    "column-norms": ["The norm of a row is over its d entries."],
}

MUTANTS = [
    ("z.sum(axis=-1, keepdims=True)", "z.sum(axis=0, keepdims=True)", "wrong-axis"),
    ("e = scale * (X @ X.T)", "e = X @ X.T", "no-scale"),
    ("e = scale * (X @ X.T)", "e = (X @ X.T) / scale", "divided"),
    ("return alpha, alpha @ X", "return alpha, alpha.T @ X", "transpose-alpha"),
    ("np.exp(e - e.max(axis=-1, keepdims=True))", "np.exp(e)", "overflow"),
    ("unit = X / np.linalg.norm(X, axis=-1, keepdims=True)", "unit = X", "no-norms"),
    ("X / np.linalg.norm(X, axis=-1", "X / np.linalg.norm(X, axis=0", "column-norms"),
    ("return unit @", "unit /= (X**2).sum(1)[:, None] ** 0.5\n    return unit @",
     "squared-norms"),
    ("(alpha + alpha.T)[pairs]", "alpha[pairs]", "one-way"),
    ("(cosine(Z) - cosine(X))[pairs]", "cosine(Z)[pairs]", "after-only"),
    ("(cosine(Z) - cosine(X))[pairs]", "(cosine(X) - cosine(Z))[pairs]", "scale:-1"),
    ("[np.argsort(np.argsort(x)) for", "[x for", "pearson"),
    ("[np.argsort(np.argsort(x)) for", "[np.argsort(x) for", "order"),
]  # fmt: skip
