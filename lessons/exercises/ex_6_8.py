"""6.8  What self-attention moves  ●●○○  25 min  needs 6.1  book §6.4

A sequence looks at itself, without projections:

    e_ij = scale x_i . x_j      alpha = softmax(e) over j      z_i = sum_j alpha_ij x_j

The exercise of the chapter draws 8 vectors of 16 normal numbers, takes scale = 1, and
asks whether positions that attend to each other come closer. Say what you expect; then
measure it at three scales, of which 1 / sqrt(16) is the second.
"""

import numpy as np

from lessons import NotWritten


def prediction():
    """What you expect, before anything runs; no answer is wrong.

    ->  {1: (own, sign), 1 / 4: (own, sign), 1 / 20: (own, sign)}, for each scale
    own   the mean weight that a position gives itself, of 8 vectors of 16 numbers
    sign  +1 if pairs with more weight on each other gain more cosine, -1 if less
    """
    raise NotWritten("6.8 prediction")


def self_attention(X, scale):
    """alpha (T, T) and Z (T, d), of X (T, d) with a position in each row."""
    raise NotWritten("6.8 self_attention")


def cosine(X):
    """All cosines x_i . x_j / (|x_i| |x_j|)  ->  (T, T); no row of X is 0"""
    raise NotWritten("6.8 cosine")


def geometry_change(X, scale):
    """What attention does to pairs, for every pair i < j.

    ->  mutual (n,), alpha_ij + alpha_ji;  gain (n,), the cosine of z_i and z_j, less
        that of x_i and x_j; n = T (T - 1) / 2, in the order of ``np.triu_indices``
    """
    raise NotWritten("6.8 geometry_change")


def rank_correlation(a, b):
    """Spearman: the correlation of the ranks of a (n,) with those of b (n,); no ties.

    The smallest entry has rank 0. 1 where b grows whenever a does, -1 where it falls.
    """
    raise NotWritten("6.8 rank_correlation")
