"""E.7  Masked softmax, and its backward  ●●○○  30 min  needs E.2

A mask says which keys a query may look at, True = may. The softmax is taken over these
alone:

    y_i = exp(x_i) / sum_j exp(x_j)     over the allowed j;   y_i = 0 where not allowed

What is masked has weight 0, exactly, whatever its score is, also NaN, and gradient 0. A
row in which nothing is allowed has weights 0 and gradient 0. The log of the sum

    lse = ln sum_j exp(x_j)             over the allowed j;   -inf if there are none

is what a tiled attention keeps of a row, and has a backward of its own.
"""

import numpy as np


def masked_softmax(x, mask):
    """y (…, n) over the last axis of the scores x (…, n); mask like x, bool.

    ->  y, backward;  backward(g) returns dL/dx for g = dL/dy
    """
    # BEGIN SOLUTION
    s = np.where(mask, x, -np.inf)
    top = s.max(-1, keepdims=True)  # of the allowed scores
    top = np.where(top == -np.inf, 0.0, top)  # -inf - (-inf) would be NaN
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    y = e / np.where(total == 0, 1.0, total)
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        centre = (g * y).sum(-1, keepdims=True)
        return y * (g - centre)  # y is 0 where masked: the mask is not needed
        # END SOLUTION

    return y, backward


def masked_lse(x, mask):
    """lse (…) over the last axis of the scores x (…, n); mask like x, bool.

    ->  lse, backward;  backward(g) returns dL/dx (…, n) for g = dL/dlse (…)
    """
    # BEGIN SOLUTION
    y, _ = masked_softmax(x, mask)
    s = np.where(mask, x, -np.inf)
    highest = s.max(-1)
    base = np.where(highest == -np.inf, 0.0, highest)
    lse = base + np.log(np.exp(s - base[..., None]).sum(-1))
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        return y * g[..., None]  # dlse / dx_i = y_i
        # END SOLUTION

    return lse, backward


# FOR THE CHECK

HINTS = {
    "": [
        "Which number may stand for a score that is masked, so that exp of it is "
        "exactly 0? Then the softmax you know does most of the rest.",
        "Where nothing is allowed the maximum of such a row is -inf, and "
        "-inf - (-inf) is NaN: choose another number to subtract there, and another "
        "one to divide by. The backward is that of the softmax, from y.",
        "np.where(mask, x, -np.inf), its maximum, which becomes 0 where it is -inf, "
        "exp of the difference, divided by its sum, or by 1 where that is 0. The "
        "backward takes from g its mean under y, and multiplies by y; that of lse is y "
        "times g.",
    ],
    "sentinel": [
        "In a row of masked scores that all are -1e9, what is the largest? What is exp "
        "of a score minus that?"
    ],
    "masked-maximum": [
        "The largest score is subtracted to keep exp in range. The largest of which "
        "scores?"
    ],
    "not-renormalised": [
        "The allowed weights of a row sum to 1. Yours were divided by a sum that "
        "counts masked keys as well."
    ],
    "mask-leak": ["What may not be attended to has weight 0, and gradient 0."],
    "masked-nan": [
        "0 * NaN is NaN: a mask that multiplies cannot take a NaN away. np.where can."
    ],
    "overflow": [
        "exp(1e4) is more than a float64 holds. ln sum exp(x) = m + ln sum exp(x - m) "
        "for every m: which one?"
    ],
    "wrong-slope": ["By how much does ln sum_j exp(x_j) grow when x_i does?"],
}

MUTANTS = [
    (
        "y, _ = masked_softmax(x, mask)",
        "y, _ = masked_softmax(x, np.ones_like(mask))",
        "mask-leak",
    ),
    (
        "    s = np.where(mask, x, -np.inf)\n    top",
        "    s = np.where(mask, x, -1e9)\n    top",
        "sentinel",
    ),
    (
        "    s = np.where(mask, x, -np.inf)\n    top",
        "    s = np.where(~mask, x, -np.inf)\n    top",
        "complement",
    ),
    (
        "top = s.max(-1, keepdims=True)",
        "top = x.max(-1, keepdims=True)",
        "masked-maximum",
    ),
    ("np.where(top == -np.inf, 0.0, top)", "top", "nan"),
    ("e / np.where(total == 0, 1.0, total)", "e / total", "nan"),
    (
        "total = e.sum(-1, keepdims=True)",
        "total = np.exp(x - top).sum(-1, keepdims=True)",
        "not-renormalised",
    ),
    ("y * (g - centre)", "y * g", "softmax-nocentre"),
    ("y * (g - centre)", "y * (1 - y) * g", "softmax-diagonal"),
    (
        "y * (g - centre)",
        "np.where(mask, y, 1 / y.shape[-1]) * (g - centre)",
        "mask-leak",
    ),
    (
        "return y * g[..., None]",
        "return np.where(mask, g[..., None], 0.0)",
        "wrong-slope",
    ),
    ("np.where(highest == -np.inf, 0.0, highest)", "highest", "nan"),
    (
        "base + np.log(np.exp(s - base[..., None]).sum(-1))",
        "np.log(np.exp(s).sum(-1))",
        "overflow",
    ),
    ("e = np.exp(s - top)", "e = np.exp(x - top) * mask", "nan"),
]
