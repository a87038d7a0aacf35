"""E.13  Causal linear attention, and its reverse scan  ●●●○  45 min  needs E.1

Without a softmax, the sum over keys comes out of the product with the query: a running
sum S of outer products is all that the past is. Queries q and keys k are features here,
rows of numbers that are not negative.

    S_i = sum_{j <= i} k_j v_j^T   (E, Ev)          y_i = S_i^T q_i
    o_i = y_i / c_i,                                c_i = sum_{j <= i} q_i . k_j

Backwards, key j has an influence on all queries i >= j: a sum that grows from the end.

    R_j = sum_{i >= j} q_i g_i^T   (E, Ev)          for g_i = dL/dy_i

Time n E Ev, and memory for one S and one R: neither the n^2 products q_i . k_j nor all
n states are ever kept.
"""

import numpy as np

from lessons import NotWritten


def scan(q, k, v):
    """y_i = sum_{j <= i} (q_i . k_j) v_j, without a matrix of all pairs.

    q, k (n, E), v (n, Ev)  ->  y (n, Ev), backward;  backward(g) returns (dq, dk, dv)
    """
    raise NotWritten("E.13 scan")

    def backward(g):
        raise NotWritten("E.13 scan")

    return y, backward


def linear_attention(q, k, v):
    """o_i = y_i / c_i: averages of values, by one call of scan.

    q, k (n, E), v (n, Ev)  ->  o (n, Ev), backward;  backward(g) returns (dq, dk, dv)

    A column of ones beside v makes the scan sum up c as well.
    """
    raise NotWritten("E.13 linear_attention")

    def backward(g):
        raise NotWritten("E.13 linear_attention")

    return o, backward
