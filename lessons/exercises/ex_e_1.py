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

from lessons import NotWritten


def unbroadcast(g, shape):
    """The gradient of an array of this shape that was stretched to the shape of g.

    g (3, 5, 7), shape (5, 1)  ->  (5, 1)

    ``shape`` broadcasts to g.shape. The total of all entries stays what it is: entries
    are summed, none is lost, and none is counted twice.
    """
    raise NotWritten("E.1 unbroadcast")


def multiply(a, b):
    """y = a * b with broadcasting; the backward returns (da, db), shaped as a and b."""
    y = np.asarray(a * b)

    def backward(g):
        raise NotWritten("E.1 multiply")

    return y, backward
