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


def threshold(s):
    """Return tau (L,), one number for each row of the scores s (L, S)."""
    # BEGIN SOLUTION
    z = -np.sort(-s, axis=1)
    total = z.cumsum(1)  # (L, S)
    counts = np.arange(1, s.shape[1] + 1)
    k = (1 + counts * z > total).sum(1)  # true for 1 … k, and false beyond
    return (total[np.arange(len(s)), k - 1] - 1) / k
    # END SOLUTION


def sparsemax(s):
    """Return the weights p (L, S) of the scores s (L, S), and their backward.

    ->  p, backward;  backward(g) returns dL/ds (L, S) for g = dL/dp
    """
    # BEGIN SOLUTION
    p = np.maximum(s - threshold(s)[:, None], 0.0)
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        u = p > 0  # tau moves by the mean of ds over the support
        mean = np.where(u, g, 0.0).sum(1, keepdims=True) / u.sum(1, keepdims=True)
        return np.where(u, g - mean, 0.0)
        # END SOLUTION

    return p, backward


def jacobian(p):
    """Return J (S, S), J_jl = dp_j / ds_l, from the weights p (S,) of one row."""
    # BEGIN SOLUTION
    u = (p > 0).astype(float)
    return np.diag(u) - np.outer(u, u) / u.sum()
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "Inside the support p_j = s_j - tau, and tau is the mean of the k scores minus "
    "1 / k. So dp_j / ds_l is 1 for j = l, minus 1 / k for every l of the support: each "
    "row of the Jacobian sums to 0, as the weights keep their sum, and outside the "
    "support nothing moves."
)
