"""6.8  How self-attention changes cosines  ●●○○  25 min  needs 6.1  book §6.4

A sequence attends to itself, without projections:

    e_ij = scale x_i . x_j      alpha = softmax(e) over j      z_i = sum_j alpha_ij x_j

The chapter draws 8 vectors of 16 normal numbers, takes scale = 1, and asks whether
positions with large weights on each other become more similar. Predict the answer, then
measure it at three scales, of which 1 / sqrt(16) is the second. Look at the weights and
at the cosines of X and of Z side by side, and say what you see.
"""

import numpy as np


def prediction():
    """Return your prediction, written before you run anything. No answer is wrong.

    ->  {1: (gain, sign), 1 / 4: (gain, sign), 1 / 20: (gain, sign)}, for each scale
    gain  by how much the mean cosine of two positions grows, from X to Z: -2 to 2
    sign  +1 if pairs with more weight on each other gain more cosine, -1 if less
    """
    # BEGIN SOLUTION
    return {1: (0.1, +1), 1 / 4: (0.1, +1), 1 / 20: (0.1, +1)}
    # END SOLUTION


def self_attention(X, scale):
    """Return alpha (T, T) and Z (T, d) for X (T, d), one position in each row."""
    # BEGIN SOLUTION
    e = scale * (X @ X.T)
    z = np.exp(e - e.max(axis=-1, keepdims=True))
    alpha = z / z.sum(axis=-1, keepdims=True)  # row i: the weights of position i
    return alpha, alpha @ X
    # END SOLUTION


def cosine(X):
    """Return all cosines x_i . x_j / (|x_i| |x_j|), (T, T); no row of X is 0."""
    # BEGIN SOLUTION
    unit = X / np.linalg.norm(X, axis=-1, keepdims=True)
    return unit @ unit.T
    # END SOLUTION


def geometry_change(X, scale):
    """Return two numbers for every pair i < j of positions.

    ->  mutual (n,), alpha_ij + alpha_ji;  gain (n,), the cosine of z_i and z_j minus
        that of x_i and x_j; n = T (T - 1) / 2, in the order of ``np.triu_indices``
    """
    # BEGIN SOLUTION
    alpha, Z = self_attention(X, scale)
    pairs = np.triu_indices(len(X), k=1)  # without the diagonal
    return (alpha + alpha.T)[pairs], (cosine(Z) - cosine(X))[pairs]
    # END SOLUTION


def rank_correlation(a, b):
    """Return Spearman's correlation: that of the ranks of a (n,) and b (n,).

    No two entries of a, or of b, are equal. The smallest entry has rank 0. The result
    is 1 if a and b have the same order, and -1 if they have opposite orders.
    """
    # BEGIN SOLUTION
    ranks = [np.argsort(np.argsort(x)) for x in (a, b)]  # the rank of each entry
    u, v = (r - r.mean() for r in ranks)
    return (u @ v) / np.sqrt((u @ u) * (v @ v))
    # END SOLUTION


def draw(fig, alpha, before, after):
    """Draw three heatmaps into a matplotlib figure: the weights, and two cosines.

    alpha (T, T), the weights; before and after (T, T), the cosines of X and of Z
    Row i of an array is row i of its image. Each panel has a title that names what it
    shows: weights, cosines of X, cosines of Z. The two images of cosines have the same
    limits of colour, vmin = -1 and vmax = 1, so that the same colour means the same
    number.
    """
    # BEGIN SOLUTION
    names = "weights", "cosines of X", "cosines of Z"
    limits = (0, 1), (-1, 1), (-1, 1)
    for ax, name, array, (low, high) in zip(
        fig.subplots(1, 3), names, (alpha, before, after), limits
    ):
        image = ax.imshow(array, vmin=low, vmax=high)
        ax.set(title=name, xlabel="j", ylabel="i")
        fig.colorbar(image, ax=ax, shrink=0.6)
    # END SOLUTION


def explanation():
    """Return a string: do positions with large weights on each other become more
    similar, and why?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "Unscaled, each vector keeps nearly all of its own weight, Z is nearly X, and "
        "little moves: pairs with more weight gain slightly more. At 1/4 more weight "
        "leaves the diagonal and the relation is clear. At 1/20 its sign turns: all "
        "weights are nearly equal, all z_i are nearly the mean vector, every cosine "
        "tends to 1, and the pairs that were far apart, which have the least weight "
        "on each other, gain most."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "Without projections x_i . x_i is about d and x_i . x_j about 0, so unscaled "
    "weights are nearly all on the diagonal and the outputs are nearly the inputs. A "
    "smaller scale spreads the weights, and outputs that average the same vectors have "
    "larger cosines."
)

MUTANTS = [
    ("ax.imshow(array,", "ax.imshow(array.T,", "transposed"),
    (", vmin=low, vmax=high)", ")", "own-limits"),
    ("ax.set(title=name, ", "ax.set(", "no-title"),
    ("(alpha, before, after), limits", "(alpha, before, before), limits", "no-image"),
    ("z.sum(axis=-1, keepdims=True)", "z.sum(axis=0, keepdims=True)", "wrong-axis"),
]  # fmt: skip
