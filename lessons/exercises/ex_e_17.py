"""E.17  Sparsemax and its Jacobian  ●●○○  30 min  needs E.2

A softmax gives every key a positive weight. Sparsemax gives exact zeros: its weights
are the point of the simplex that is nearest to the scores,

    p = argmin |p - s|^2    over all p >= 0 with the sum 1
    p_j = max(s_j - tau, 0),    where tau is such that they sum to 1

The keys with p_j > 0 are the support. If there are k of them, and z_1 >= z_2 >= … are
the scores in falling order, the support is z_1 … z_k, so

    tau = (z_1 + … + z_k - 1) / k

and k is the largest number with 1 + k z_k > z_1 + … + z_k. A score of -inf is a masked
key: its weight and its gradient are 0. Each row has a finite score.
"""

import numpy as np

from lessons import NotWritten


def threshold(s):
    """Return tau (L,), one number for each row of the scores s (L, S)."""
    raise NotWritten("E.17 threshold")


def sparsemax(s):
    """Return the weights p (L, S) of the scores s (L, S), and their backward.

    ->  p, backward;  backward(g) returns dL/ds (L, S) for g = dL/dp
    """
    raise NotWritten("E.17 sparsemax")

    def backward(g):
        raise NotWritten("E.17 sparsemax")

    return p, backward


def jacobian(p):
    """Return J (S, S), J_jl = dp_j / ds_l, from the weights p (S,) of one row."""
    raise NotWritten("E.17 jacobian")
