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

from lessons import NotWritten


def masked_softmax(x, mask):
    """Return the weights y (…, n) for the scores x (…, n) and the mask (…, n) bool.

    The softmax is over the last axis.
    ->  y, backward;  backward(g) returns dL/dx for g = dL/dy
    """
    raise NotWritten("E.7 masked_softmax")

    def backward(g):
        raise NotWritten("E.7 masked_softmax")

    return y, backward


def masked_lse(x, mask):
    """Return lse (…) over the last axis of the scores x (…, n); the mask is like x.

    ->  lse, backward;  backward(g) returns dL/dx (…, n) for g = dL/dlse (…)
    """
    raise NotWritten("E.7 masked_lse")

    def backward(g):
        raise NotWritten("E.7 masked_lse")

    return lse, backward
