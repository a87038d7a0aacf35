"""E.1  What a broadcast hands back  ●○○○  20 min

NumPy stretches arrays to one shape before it adds or multiplies them: aligned at the
last axis, missing axes are put in front, and an axis of 1 is repeated. A number that
was repeated has had an influence at each of its places, so its gradient is the sum of
what comes back from all of them:

    y = a * b,   a (3, 1, 7),   b (5, 1)   ->   y (3, 5, 7)

    da[i, 0, k] = sum_j  g[i, j, k] b[j, 0]
    db[j, 0]    = sum_ik g[i, j, k] a[i, 0, k]
"""

import numpy as np


def unbroadcast(g, shape):
    """The gradient of an array of this shape that was stretched to the shape of g.

    g (3, 5, 7), shape (5, 1)  ->  (5, 1)

    ``shape`` broadcasts to g.shape. The total of all entries stays what it is: entries
    are summed, none is lost, and none is counted twice.
    """
    # BEGIN SOLUTION
    extra = g.ndim - len(shape)
    g = g.sum(tuple(range(extra)))  # the axes that were put in front
    stretched = tuple(k for k, n in enumerate(shape) if n == 1)
    return g.sum(stretched, keepdims=True)
    # END SOLUTION


def multiply(a, b):
    """y = a * b with broadcasting; the backward returns (da, db), shaped as a and b."""
    y = np.asarray(a * b)

    def backward(g):
        # BEGIN SOLUTION
        da = unbroadcast(g * b, a.shape)
        db = unbroadcast(g * a, b.shape)
        return da, db
        # END SOLUTION

    return y, backward


# FOR THE CHECK

HINTS = {
    "": [
        "Two things happen in a broadcast: axes are put in front, and axes of 1 are "
        "repeated. Undo them one after the other.",
        "An axis that was put in front is gone after the sum over it; an axis of 1 is "
        "summed with keepdims=True, so that it stays.",
        "g.ndim - len(shape) axes were put in front: sum over the first so many. Then "
        "sum over each axis k with shape[k] == 1, and keep it. In multiply, the factor "
        "goes in before the sum: the gradient of a is g * b, unbroadcast.",
    ],
    "unbroadcast": [
        "One number was used in many places. Each of them hands something back.",
        "Which axes of g does the array not have, or have with length 1? All of these "
        "are summed.",
    ],
    "mean": [
        "Using a number in more places makes its gradient larger, not an average."
    ],
    "axis-lost": ["An axis of length 1 is an axis. Which argument of sum keeps it?"],
    "left-aligned": [
        "NumPy aligns shapes at the last axis. Where are the missing axes put?"
    ],
    "other-factor": ["In y = a b, what is dy/da: a, or b?"],
    "no-factor": ["The derivative of a b with respect to a is not 1."],
    "sum-first": [
        "The factor differs from place to place: can it be multiplied after the sum?"
    ],
}

MUTANTS = [
    ("g = g.sum(tuple(range(extra)))", "g = g[(0,) * extra]", "unbroadcast"),
    ("g = g.sum(tuple(range(extra)))", "g = g.mean(tuple(range(extra)))", "mean"),
    ("tuple(range(extra))", "tuple(range(len(shape), g.ndim))", "left-aligned"),
    ("return g.sum(stretched, keepdims=True)", "return g", "unbroadcast"),
    ("g.sum(stretched, keepdims=True)", "g.mean(stretched, keepdims=True)", "mean"),
    ("g.sum(stretched, keepdims=True)", "g.sum(stretched)", "axis-lost"),
    ("unbroadcast(g * b, a.shape)", "unbroadcast(g * a, a.shape)", "other-factor"),
    ("unbroadcast(g * a, b.shape)", "unbroadcast(g, b.shape)", "no-factor"),
    ("unbroadcast(g * b, a.shape)", "unbroadcast(g, a.shape) * b", "sum-first"),
    ("unbroadcast(g * a, b.shape)", "g * a", "unbroadcast"),
    ("    extra = ", "    g = g.astype('f4').astype(float)\n    extra = ", "float32"),
]
