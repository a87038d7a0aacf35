"""6.10  Temperature  ●●○○  25 min  needs 6.1  book §6.5

    p = softmax(e / tau)

A low temperature sharpens attention to the largest score, a high one spreads it evenly.
That the entropy H of the weights only grows with tau can be plotted; here it is proved,
by the identity that its slope is a variance:

    dH/dtau = Var_p(e) / tau^3  >=  0
"""

import numpy as np


def softmax_t(e, tau):
    """softmax(e / tau) over the last axis of e (…, n), for any tau > 0."""
    # BEGIN SOLUTION
    z = np.exp((e - e.max(-1, keepdims=True)) / tau)
    return z / z.sum(-1, keepdims=True)
    # END SOLUTION


def entropy(p):
    """H = -sum_j p_j ln p_j over the last axis of p (…, n), with 0 ln 0 = 0."""
    # BEGIN SOLUTION
    logs = np.log(np.where(p > 0, p, 1.0))  # ln 1 = 0 stands in for ln 0
    return -(p * logs).sum(-1)
    # END SOLUTION


def dH_dtau(e, tau):
    """The slope of H(softmax(e / tau)) in tau, over the last axis of e (…, n)."""
    # BEGIN SOLUTION
    p = softmax_t(e, tau)
    mean = (p * e).sum(-1, keepdims=True)
    variance = (p * (e - mean) ** 2).sum(-1)
    return variance / tau**3
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Divide by tau first, then do what a stable softmax does.",
        "0 ln 0 is 0, but np.log(0) is -inf and 0 * -inf NaN: keep zeros from the log.",
        "The mean of e under p is sum_j p_j e_j; the variance is that of (e - mean)^2.",
    ],
    "tau-multiplies": [
        "At a low temperature, should the largest weight grow or shrink?"
    ],
    "tau-power": ["Which power of tau makes the slope that of the measured entropy?"],
    "nan": [
        "inf / inf and 0 * -inf are NaN, and exp(x) is inf from x = 710 on: which "
        "number can be taken from the scores of a row, so that none is above 0?",
    ],
    "overflow": ["exp(710) is more than a float64 holds. What may be subtracted?"],
    "whole-maximum": [
        "Each row has a largest score of its own. What is left of exp in a row that is "
        "1000 below another?"
    ],
    "differences": [
        "A difference of entropies loses the digits that they share. The hints lead to "
        "the formula, which has them all."
    ],
    "flat-variance": ["The variance is taken under p, not over equal weights."],
    "log2": ["The entropy here is in nats: the natural logarithm."],
}

MUTANTS = [
    ("keepdims=True)) / tau)", "keepdims=True)) * tau)", "tau-multiplies"),
    ("(e - e.max(-1, keepdims=True)) / tau", "e / tau", "overflow"),
    ("e.max(-1, keepdims=True)) / tau", "e.mean(-1, keepdims=True)) / tau", "nan"),
    ("e.max(-1, keepdims=True)", "e.max()", "whole-maximum"),
    ("z / z.sum(-1, keepdims=True)", "z / z.sum(0, keepdims=True)", "wrong-axis"),
    ("np.log(np.where(p > 0, p, 1.0))", "np.log(p)", "nan"),
    ("np.log(np.where", "np.log2(np.where", "log2"),
    ("return -(p * logs)", "return (p * logs)", "scale:-1"),
    ("variance / tau**3", "variance / tau**2", "tau-power"),
    ("variance / tau**3", "variance", "tau-power"),
    (
        "return variance / tau**3",
        "H = [entropy(softmax_t(e, tau * (1 + k * 1e-3))) for k in (-2, -1, 1, 2)]\n"
        "    return (8 * (H[2] - H[1]) - H[3] + H[0]) / (12e-3 * tau)",
        "differences",
    ),
    ("(p * (e - mean) ** 2).sum(-1)", "e.var(-1)", "flat-variance"),
    ("(p * (e - mean) ** 2).sum(-1)", "(p * e**2).sum(-1)", "uncentred"),
]
