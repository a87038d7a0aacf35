"""E.21  The delta rule, forward and backward  ●●●○  45 min  needs E.13

Linear attention adds v_t to what the state S returns for the key k_t. So a second value
of the same key is mixed with the first. The delta rule reads what k_t returns so far,
and writes a part b_t of the error, so that the second value replaces the first:

    r_t = v_t - S_(t-1)^T k_t             the error                     (Ev,)
    S_t = S_(t-1) + b_t k_t r_t^T         the state, S_0 = 0            (E, Ev)
    o_t = S_t^T q_t                       the output                    (Ev,)

If |k_t| = 1 and b_t = 1, then S_t^T k_t = v_t. If b_t = 0, the state stays as it is.

The backward runs from the last token to the first, with D = dL/dS_t over all paths: that
through o_t, and that through all later states. S_(t-1) occurs twice in S_t, and so does
k_t.

The memory holds one S, one D, and a few rows of numbers for each token. So do not store
all n states: with S_t and one row for each token, you can compute S_(t-1) again.
"""

import numpy as np


def write(S, k, v, b):
    """Return the state after one token, as a new array (E, Ev).

    S (E, Ev) is the state before, k (E,), v (Ev,), and b is a number.
    """
    # BEGIN SOLUTION
    return S + b * np.outer(k, v - k @ S)
    # END SOLUTION


def write_backward(S, k, v, b, D):
    """Return dS (E, Ev), dk (E,), dv (Ev,) and db, a number, of one call of write.

    D (E, Ev) is dL/dS_t, the gradient of the new state; S is the state before.
    """
    # BEGIN SOLUTION
    r = v - k @ S
    e = k @ D  # the gradient of b r, (Ev,)
    dv = b * e
    return D - np.outer(k, dv), b * (D @ r) - S @ dv, dv, r @ e
    # END SOLUTION


def delta_rule(q, k, v, b):
    """Return the outputs o_t of all tokens, beginning with S_0 = 0.

    q, k (n, E), v (n, Ev), b (n,)  ->  o (n, Ev), backward
    backward(g) returns (dq, dk, dv, db) for g = dL/do
    """
    # BEGIN SOLUTION
    o, u = np.empty_like(v), np.empty_like(v)
    last = np.zeros((k.shape[1], v.shape[1]))
    for t in range(len(q)):
        u[t] = b[t] * (v[t] - k[t] @ last)
        last = last + np.outer(k[t], u[t])
        o[t] = q[t] @ last
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dq, dk, dv, db = map(np.empty_like, (q, k, v, b))
        S, D = last, np.zeros_like(last)
        for t in reversed(range(len(q))):
            dq[t] = S @ g[t]
            D = D + np.outer(q[t], g[t])  # the path through o_t
            S = S - np.outer(k[t], u[t])  # S_(t-1)
            D, dk[t], dv[t], db[t] = write_backward(S, k[t], v[t], b[t], D)
        return dq, dk, dv, db
        # END SOLUTION

    return o, backward


# FOR THE CHECK

WHY = (
    "A token reads the state and adds to it, so the gradient of the state has two terms, "
    "dS = D - b k e^T with e = D^T k. With |k| = 1 and b = 1, k^T dS is 0: what a write "
    "replaced has no influence on later outputs."
)

MUTANTS = [  # of memory, which no edit of the loops shows
    (
        "    for t in range(len(q)):\n",
        "    pairs = k @ k.T\n    for t in range(len(q)):\n",
        "all-pairs",
    ),
    (
        "    for t in range(len(q)):\n",
        "    kept = np.ones((len(q), *last.shape))\n    for t in range(len(q)):\n",
        "states-kept",
    ),
]
