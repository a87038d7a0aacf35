"""E.2  The backward of tanh, matmul and softmax  ●●○○  35 min

Each function returns its output y and its backward. The backward is a function of
g = dL/dy and returns dL/d(input): one array for one input, a tuple for several inputs.
The forward is given. The backward may use all variables of the forward.
"""

import numpy as np


def tanh(x):
    """Return y = tanh(x) elementwise and its backward; dy/dx = 1 - tanh(x)^2."""
    y = np.tanh(x)

    def backward(g):
        # BEGIN SOLUTION
        return g * (1 - y * y)
        # END SOLUTION

    return y, backward


def matmul(a, b):
    """Return y = a @ b and its backward, which returns (da, db).

    a (n, k), b (k, m), y (n, m)
    """
    y = a @ b

    def backward(g):
        # BEGIN SOLUTION
        da = g @ b.T  # a sum over m: a[i, k] multiplies every b[k, j]
        db = a.T @ g  # a sum over n
        return da, db
        # END SOLUTION

    return y, backward


def softmax(x):
    """Return y_i = exp(x_i) / sum_j exp(x_j), over the last axis of x (…, n).

    The Jacobian of a row is dy_i/dx_k = y_i (delta_ik - y_k). Do not build it: the
    backward needs memory for a few arrays like x.
    """
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)

    def backward(g):
        # BEGIN SOLUTION
        return y * (g - (g * y).sum(-1, keepdims=True))
        # END SOLUTION

    return y, backward


def log_softmax(x):
    """Return y = x - ln sum exp(x) along the last axis of x (…, n), and its backward.

    These are the logarithms of the softmax, which the cross-entropy needs. Derive
    dy_i/dx_k first. The backward needs memory for a few arrays like x.
    """
    top = x.max(-1, keepdims=True)
    y = x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))

    def backward(g):
        # BEGIN SOLUTION
        return g - np.exp(y) * g.sum(-1, keepdims=True)
        # END SOLUTION

    return y, backward


# FOR THE CHECK

WHY = (
    "Each backward is g times the derivative, summed over all outputs that an input "
    "influences: one output for tanh, a row or a column for matmul, the whole row for "
    "softmax. In the softmax this sum is y (g - sum_i g_i y_i), one number for each "
    "row in place of a Jacobian."
)
