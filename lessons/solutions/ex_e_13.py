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


def scan(q, k, v):
    """Return y_i = sum_{j <= i} (q_i . k_j) v_j without a matrix of all pairs.

    q, k (n, E), v (n, Ev)  ->  y (n, Ev), backward;  backward(g) returns (dq, dk, dv)
    """
    # BEGIN SOLUTION
    y, S = np.empty_like(v), np.zeros((k.shape[1], v.shape[1]))
    for i in range(len(q)):
        S += np.outer(k[i], v[i])
        y[i] = q[i] @ S
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dq, dk, dv = np.empty_like(q), np.empty_like(k), np.empty_like(v)
        S, R = np.zeros((2, k.shape[1], v.shape[1]))
        for i in range(len(q)):  # compute the states again
            S += np.outer(k[i], v[i])
            dq[i] = S @ g[i]
        for j in reversed(range(len(q))):
            R += np.outer(q[j], g[j])
            dk[j] = R @ v[j]
            dv[j] = k[j] @ R
        return dq, dk, dv
        # END SOLUTION

    return y, backward


def linear_attention(q, k, v):
    """Return the averages of values o_i = y_i / c_i, with one call of scan.

    q, k (n, E), v (n, Ev)  ->  o (n, Ev), backward;  backward(g) returns (dq, dk, dv)

    With a column of ones beside v, the scan computes c as well.
    """
    # BEGIN SOLUTION
    beside = np.concatenate([v, np.ones((len(v), 1))], 1)  # (n, Ev + 1)
    both, scan_backward = scan(q, k, beside)
    y, c = both[:, :-1], both[:, -1:]
    o = y / c
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dy = g / c
        dc = -(g * o).sum(1, keepdims=True) / c  # d(y / c) / dc = -o / c
        dq, dk, dbeside = scan_backward(np.concatenate([dy, dc], 1))
        return dq, dk, dbeside[:, :-1]
        # END SOLUTION

    return o, backward


# FOR THE CHECK

WHY = (
    "The sum over j <= i is a state that grows by one outer product for each key, so "
    "the time is proportional to n and not to n^2. In the backward a key has an "
    "influence on all later queries, so the same scan runs from the end."
)

MUTANTS = [  # of memory, which no edit of the loops shows
    (
        "    for i in range(len(q)):\n        S +=",
        "    pairs = q @ k.T\n    for i in range(len(q)):\n        S +=",
        "all-pairs",
    ),
    (
        "    for i in range(len(q)):\n        S +=",
        "    kept = np.ones((len(q), *S.shape))\n"
        "    for i in range(len(q)):\n        S +=",
        "states-kept",
    ),
]
