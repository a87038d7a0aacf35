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

from lessons import NotWritten


def masked_softmax(x, mask):
    """y (…, n) over the last axis of the scores x (…, n); mask like x, bool.

    ->  y, backward;  backward(g) returns dL/dx for g = dL/dy
    """
    raise NotWritten("E.7 masked_softmax")

    def backward(g):
        raise NotWritten("E.7 masked_softmax")

    return y, backward


def masked_lse(x, mask):
    """lse (…) over the last axis of the scores x (…, n); mask like x, bool.

    ->  lse, backward;  backward(g) returns dL/dx (…, n) for g = dL/dlse (…)
    """
    raise NotWritten("E.7 masked_lse")

    def backward(g):
        raise NotWritten("E.7 masked_lse")

    return lse, backward
