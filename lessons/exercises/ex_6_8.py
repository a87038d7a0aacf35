"""6.8  How self-attention changes cosines  ●●○○  25 min  needs 6.1  book §6.4

A sequence attends to itself, without projections:

    e_ij = scale x_i . x_j      alpha = softmax(e) over j      z_i = sum_j alpha_ij x_j

The chapter draws 8 vectors of 16 normal numbers, takes scale = 1, and asks whether
positions with large weights on each other become more similar. Predict the answer, then
measure it at three scales, of which 1 / sqrt(16) is the second. Look at the weights and
at the cosines of X and of Z side by side, and say what you see.
"""

import numpy as np

from lessons import NotWritten


def prediction():
    """Return your prediction, written before you run anything. No answer is wrong.

    ->  {1: (gain, sign), 1 / 4: (gain, sign), 1 / 20: (gain, sign)}, for each scale
    gain  by how much the mean cosine of two positions grows, from X to Z: -2 to 2
    sign  +1 if pairs with more weight on each other gain more cosine, -1 if less
    """
    raise NotWritten("6.8 prediction")


def self_attention(X, scale):
    """Return alpha (T, T) and Z (T, d) for X (T, d), one position in each row."""
    raise NotWritten("6.8 self_attention")


def cosine(X):
    """Return all cosines x_i . x_j / (|x_i| |x_j|), (T, T); no row of X is 0."""
    raise NotWritten("6.8 cosine")


def geometry_change(X, scale):
    """Return two numbers for every pair i < j of positions.

    ->  mutual (n,), alpha_ij + alpha_ji;  gain (n,), the cosine of z_i and z_j minus
        that of x_i and x_j; n = T (T - 1) / 2, in the order of ``np.triu_indices``
    """
    raise NotWritten("6.8 geometry_change")


def rank_correlation(a, b):
    """Return Spearman's correlation: that of the ranks of a (n,) and b (n,).

    No two entries of a, or of b, are equal. The smallest entry has rank 0. The result
    is 1 if a and b have the same order, and -1 if they have opposite orders.
    """
    raise NotWritten("6.8 rank_correlation")


def draw(fig, alpha, before, after):
    """Draw three heatmaps into a matplotlib figure: the weights, and two cosines.

    alpha (T, T), the weights; before and after (T, T), the cosines of X and of Z
    Row i of an array is row i of its image. Each panel has a title that names what it
    shows: weights, cosines of X, cosines of Z. The two images of cosines have the same
    limits of colour, vmin = -1 and vmax = 1, so that the same colour means the same
    number.
    """
    raise NotWritten("6.8 draw")


def explanation():
    """Return a string: do positions with large weights on each other become more
    similar, and why?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.8 explanation")
