"""E.13  Causal linear attention, and its reverse scan  ●●●○  45 min  needs E.1

Without a softmax, a running sum S of outer products k_j v_j^T contains all that a query
needs of the past. Queries q and keys k are features here: rows of numbers that are not
negative.

    S_i = sum_{j <= i} k_j v_j^T   (E, Ev)          y_i = S_i^T q_i
    o_i = y_i / c_i,                                c_i = sum_{j <= i} q_i . k_j

In the backward, key j has an influence on all queries i >= j: a sum from the end.

    R_j = sum_{i >= j} q_i g_i^T   (E, Ev)          for g_i = dL/dy_i

The time is proportional to n E Ev, and the memory holds one S and one R: store neither
the n^2 products q_i . k_j nor all n states.
"""

import numpy as np

from lessons import NotWritten


def scan(q, k, v):
    """Return y_i = sum_{j <= i} (q_i . k_j) v_j without a matrix of all pairs.

    q, k (n, E), v (n, Ev)  ->  y (n, Ev), backward;  backward(g) returns (dq, dk, dv)
    """
    raise NotWritten("E.13 scan")

    def backward(g):
        raise NotWritten("E.13 scan")

    return y, backward


def linear_attention(q, k, v):
    """Return the averages of values o_i = y_i / c_i, with one call of scan.

    q, k (n, E), v (n, Ev)  ->  o (n, Ev), backward;  backward(g) returns (dq, dk, dv)

    With a column of ones beside v, the scan computes c as well.
    """
    raise NotWritten("E.13 linear_attention")

    def backward(g):
        raise NotWritten("E.13 linear_attention")

    return o, backward
