"""E.2  The backward of tanh, matmul and softmax  ●●○○  30 min

Each function computes its output y and returns it with its backward, a function of
g = dL/dy that returns dL/d(input): one array for one input, a tuple for several. The
forward is given. What the backward needs, it finds in the names of the forward.
"""

import numpy as np


def tanh(x):
    """y = tanh(x), elementwise.  dy/dx = 1 - tanh(x)^2"""
    y = np.tanh(x)

    def backward(g):
        # BEGIN SOLUTION
        return g * (1 - y * y)
        # END SOLUTION

    return y, backward


def matmul(a, b):
    """y = a @ b, with a (n, k), b (k, m), y (n, m); the backward returns (da, db)."""
    y = a @ b

    def backward(g):
        # BEGIN SOLUTION
        da = g @ b.T  # summed over m: each a[i, k] meets every b[k, j]
        db = a.T @ g  # summed over n
        return da, db
        # END SOLUTION

    return y, backward


def softmax(x):
    """y_i = exp(x_i) / sum_j exp(x_j) over the last axis of x (…, n).

    The Jacobian of a row is dy_i/dx_k = y_i (delta_ik - y_k). Do not build it.
    """
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)

    def backward(g):
        # BEGIN SOLUTION
        return y * (g - (g * y).sum(-1, keepdims=True))
        # END SOLUTION

    return y, backward


# FOR THE CHECK

HINTS = {
    "": [
        "Start with one entry: by how much does L change if x_k changes a little?",
        "For matmul, write y_ij = sum_k a_ik b_kj and sum g_ij dy_ij/da_ik over i and "
        "j. The shapes leave one way to multiply.",
        "For softmax: sum_i g_i y_i (delta_ik - y_k) has two terms; y_k is in both.",
    ],
    "wrong-derivative": ["Which variable does the derivative of tanh contain, x or y?"],
}

MUTANTS = [
    ("g * (1 - y * y)", "g * (1 - x * x)", "wrong-derivative"),
    ("g * (1 - y * y)", "1 - y * y", "ignores-upstream"),
    ("g * (1 - y * y)", "g * (y * y - 1)", "scale:-1"),
    ("da = g @ b.T", "da = (g @ b.T).T", "transpose"),
    ("db = a.T @ g", "db = a.T @ g / len(a)", "scale:1/3"),
    ("db = a.T @ g", "db = a[:1].T @ g[:1]", "unbroadcast"),
    ("y * (g - (g * y).sum(-1, keepdims=True))", "y * g", "softmax-nocentre"),
    ("(g - (g * y).sum(-1, keepdims=True))", "(1 - y) * g", "softmax-diagonal"),
    ("(g * y).sum(-1, keepdims=True)", "(g * y).sum(0, keepdims=True)", "wrong-axis"),
]
