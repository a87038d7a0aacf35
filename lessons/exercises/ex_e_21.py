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

from lessons import NotWritten


def write(S, k, v, b):
    """Return the state after one token, as a new array (E, Ev).

    S (E, Ev) is the state before, k (E,), v (Ev,), and b is a number.
    """
    raise NotWritten("E.21 write")


def write_backward(S, k, v, b, D):
    """Return dS (E, Ev), dk (E,), dv (Ev,) and db, a number, of one call of write.

    D (E, Ev) is dL/dS_t, the gradient of the new state; S is the state before.
    """
    raise NotWritten("E.21 write_backward")


def delta_rule(q, k, v, b):
    """Return the outputs o_t of all tokens, beginning with S_0 = 0.

    q, k (n, E), v (n, Ev), b (n,)  ->  o (n, Ev), backward
    backward(g) returns (dq, dk, dv, db) for g = dL/do
    """
    raise NotWritten("E.21 delta_rule")

    def backward(g):
        raise NotWritten("E.21 delta_rule")

    return o, backward
