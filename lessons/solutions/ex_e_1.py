"""E.1  The gradient of a broadcast  ●○○○  25 min

NumPy broadcasts arrays to one shape before it adds or multiplies them: it aligns the
shapes at the last axis, inserts missing axes in front, and repeats each axis of length
1. A number that is repeated is used in several places, so its gradient is the sum of
the gradients of all these places:

    y = a * b,   a (3, 1, 7),   b (5, 1)   ->   y (3, 5, 7)

    da[i, 0, k] = sum_j  g[i, j, k] b[j, 0]
    db[j, 0]    = sum_ik g[i, j, k] a[i, 0, k]

The same rule holds for every copy, such as overlapping windows of a sequence.
"""

import numpy as np


def unbroadcast(g, shape):
    """Return the gradient of an array of this shape, from g of the broadcast shape.

    g (3, 5, 7), shape (5, 1)  ->  (5, 1)

    ``shape`` broadcasts to g.shape. The sum of all entries of the result equals the sum
    of all entries of g: each entry of g is added exactly once.
    """
    # BEGIN SOLUTION
    extra = g.ndim - len(shape)
    g = g.sum(tuple(range(extra)))  # the axes that were inserted in front
    stretched = tuple(k for k, n in enumerate(shape) if n == 1)
    return g.sum(stretched, keepdims=True)
    # END SOLUTION


def multiply(a, b):
    """Return y = a * b with broadcasting; its backward returns (da, db)."""
    y = np.asarray(a * b)

    def backward(g):
        # BEGIN SOLUTION
        da = unbroadcast(g * b, a.shape)
        db = unbroadcast(g * a, b.shape)
        return da, db
        # END SOLUTION

    return y, backward


def windows(x, n):
    """Return all windows of n neighbours; its backward returns dx (S,).

    y[i, k] = x[i + k]        x (S,)  ->  y (S - n + 1, n)
    """
    y = np.array([x[i : i + n] for i in range(len(x) - n + 1)])

    def backward(g):
        # BEGIN SOLUTION
        dx = np.zeros(len(x))
        for k in range(n):
            dx[k : k + len(g)] += g[:, k]  # x[i + k] is in window i, at place k
        return dx
        # END SOLUTION

    return y, backward


# FOR THE CHECK

WHY = (
    "A number that is used in several places receives the sum of the gradients of "
    "these places. A broadcast repeats numbers along the inserted axes and the axes of "
    "length 1, so these axes are summed, after the multiplication by the other factor."
)
