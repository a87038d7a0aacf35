"""E.7  Masked softmax, and its backward  ●●○○  30 min  needs E.2

A mask defines which keys a query may attend to: True = may attend. The softmax is taken
over these keys only:

    y_i = exp(x_i) / sum_j exp(x_j)     over the allowed j;   y_i = 0 where not allowed

A masked key has weight 0 and gradient 0, exactly, also if its own score or an allowed
score of its row is NaN. A NaN in an allowed score is not hidden: the weights of the
allowed keys of its row, and lse, are NaN. A row without an allowed key has weights 0
and gradient 0. The number

    lse = ln sum_j exp(x_j)             over the allowed j;   -inf if there are none

is what tiled attention stores for each row. It has its own backward.
"""

import numpy as np


def masked_softmax(x, mask):
    """Return the weights y (…, n) for the scores x (…, n) and the mask (…, n) bool.

    The softmax is over the last axis.
    ->  y, backward;  backward(g) returns dL/dx for g = dL/dy
    """
    # BEGIN SOLUTION
    s = np.where(mask, x, -np.inf)
    top = s.max(-1, keepdims=True)  # of the allowed scores
    top = np.where(np.isfinite(top), top, 0.0)  # -inf - (-inf) would be NaN
    e = np.exp(s - top)  # 0 where masked
    total = e.sum(-1, keepdims=True)
    y = e / np.where(mask, total, 1.0)  # 0 / 1 where masked, also if total is NaN
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        centre = np.where(mask, (g * y).sum(-1, keepdims=True), 0.0)  # 0 * NaN is NaN
        return y * (g - centre)
        # END SOLUTION

    return y, backward


def masked_lse(x, mask):
    """Return lse (…) over the last axis of the scores x (…, n); the mask is like x.

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

WHY = (
    "A masked score is left out of the maximum, the sum and the gradient, so no value "
    "of it can reach a result. 0 times NaN or infinity is NaN, so the mask selects "
    "before the exponential; a multiplication after it is too late."
)

MUTANTS = [  # of NaN, and of a softmax, which no line of the exercise in loops shows
    ("np.where(np.isfinite(top), top, 0.0)", "top", "nan"),
    ("np.where(mask, total, 1.0)", "total", "nan"),
    ("np.where(mask, total, 1.0)", "np.where(total == 0, 1.0, total)", "nan-spreads"),
    ("np.isfinite(top), top, 0.0", "top == -np.inf, 0.0, top", "nan-spreads"),
    ("np.where(mask, (g * y).sum(-1, keepdims=True), 0.0)",
     "(g * y).sum(-1, keepdims=True)", "nan-spreads"),
    ("y * (g - centre)", "y * g", "softmax-nocentre"),
    ("y * (g - centre)", "y * (1 - y) * g", "softmax-diagonal"),
    ("np.where(highest == -np.inf, 0.0, highest)", "highest", "nan"),
]  # fmt: skip
