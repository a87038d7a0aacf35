"""6.1  Uniform attention is the mean  ●○○○  15 min  book §6.2

With equal weights, attention returns the mean of what it attends to. Which scores give
equal weights, and what does such attention teach the states that it averages?

    alpha = softmax(e)          c = sum_j alpha_j h_j
"""

import numpy as np


def weights(e):
    """alpha = softmax(e), e (T,), whatever the size of the scores."""
    # BEGIN SOLUTION
    z = np.exp(e - e.max())  # the largest exponent is 0: nothing overflows
    return z / z.sum()
    # END SOLUTION


def context(alpha, H):
    """c = sum_j alpha_j h_j, alpha (T,), H (T, d) with a state a row  ->  c (d,)"""
    # BEGIN SOLUTION
    return alpha @ H
    # END SOLUTION


def context_backward(alpha, H, g):
    """What g = dL/dc (d,) means for the weights and the states.

    ->  d_alpha (T,), d_H (T, d)
    """
    # BEGIN SOLUTION
    d_alpha = H @ g
    d_H = np.outer(alpha, g)  # h_j receives its weight's share of g
    return d_alpha, d_H
    # END SOLUTION


def is_uniform(e):
    """Whether softmax(e), in exact arithmetic, has equal weights."""
    # BEGIN SOLUTION
    return bool(np.all(e == e[0]))
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Adding a number to all scores changes no weight. Choose one that keeps exp in "
        "range.",
        "c is a sum of rows, each times a number: a vector times a matrix.",
        "dc_k / dh_jk = alpha_j, and dc_k / dalpha_j = h_jk.",
        "Equal weights means exp(e_i) = exp(e_j) for all i, j. What does that say of "
        "the scores themselves?",
    ],
    "overflow": [
        "exp(1e4) is more than a float64 holds. Softmax has a freedom to use."
    ],
    "nan": [
        "inf / inf is NaN, and exp(x) is inf from x = 710 on. Which number can be "
        "taken from all scores, so that none of the differences is above 0?",
    ],
    "clipped": ["Scores that are cut off at a limit are no longer different."],
    "only-zero": ["Scores that are all 5 give which weights?"],
    "tolerance": [
        "Nearly equal scores give nearly equal weights, which are not equal."
    ],
    "mean-of-scores": [
        "Scores of 1, 0, 2 have the mean 1, which is the first of them. Are their "
        "weights equal?"
    ],
}

MUTANTS = [
    ("np.exp(e - e.max())", "np.exp(e)", "overflow"),
    ("np.exp(e - e.max())", "np.exp(e - e.mean())", "nan"),
    ("np.exp(e - e.max())", "np.exp(np.clip(e, -700, 700))", "clipped"),
    ("return z / z.sum()", "return z", "not-normalised"),
    ("return alpha @ H", "return H.mean(0)", "ignores-weights"),
    ("return alpha @ H", "return H.sum(0)", "scale:7"),
    ("d_alpha = H @ g", "d_alpha = -(H @ g)", "scale:-1"),
    ("np.outer(alpha, g)", "np.outer(np.ones(len(alpha)), g)", "ignores-weights"),
    ("np.outer(alpha, g)", "np.outer(g, alpha)", "transpose"),
    ("e == e[0]", "e == 0", "only-zero"),
    ("np.all(e == e[0])", "np.allclose(e, e[0])", "tolerance"),
    ("np.all(e == e[0])", "np.ptp(e) < 1e-12", "tolerance"),
    ("np.all(e == e[0])", "np.ptp(e) < 1e-300", "tolerance"),
    ("np.all(e == e[0])", "np.all(weights(e) == 1 / len(e))", "tolerance"),
    ("np.all(e == e[0])", "np.any(e == e[0])", "always"),
    ("np.all(e == e[0])", "e.mean() == e[0]", "mean-of-scores"),
    ("np.all(e == e[0])", "e.sum() == len(e) * e[0]", "mean-of-scores"),
]
