"""E.22  The chunk form of a recurrence  ●●●○  35 min  needs E.13

Linear attention with decay multiplies its state by a number a_t, 0 <= a_t <= 1, before
each token adds to it:

    S_t = a_t S_(t-1) + k_t v_t^T   (E, Ev)          o_t = S_t^T q_t

With S_t written out, the same outputs are a matrix of weights times the values, as in
attention:

    o_i = sum_{j <= i} M_ij (q_i . k_j) v_j          M_ij = a_(j+1) a_(j+2) … a_i
                                                     M_ii = 1

The first form takes n steps, one after the other. The second takes a few products of
matrices, and n^2 weights. The chunk form is both: the matrix for the C tokens of a
chunk, and one state from each chunk to the next. Derive it. C = 1 is the first form, and
C = n the second. n need not be a multiple of C.

An a_t may be 0: then all earlier tokens are forgotten. And a product of some hundred a
may be too small for a float64. So divide by no product of a, and take no logarithm.
"""

import numpy as np


def weights(a):
    """Return M (C, C) for a (C,), with zeros above the diagonal."""
    # BEGIN SOLUTION
    below = np.tri(len(a), k=-1, dtype=bool)  # j < i
    return np.tril(np.where(below, a[:, None], 1.0).cumprod(0))
    # END SOLUTION


def chunk(q, k, v, a, S):
    """Return the outputs of one chunk, and the state after it.

    q, k (C, E), v (C, Ev), a (C,), and S (E, Ev), the state before its first token
        ->  o (C, Ev), state (E, Ev)

    Call weights once. The rest is arrays, without a loop over the tokens.
    """
    # BEGIN SOLUTION
    M = weights(a)
    f = np.cumprod(a)  # what is left of S at each token
    o = f[:, None] * (q @ S) + (M * (q @ k.T)) @ v
    return o, f[-1] * S + (M[-1][:, None] * k).T @ v  # M[-1]: left at the end
    # END SOLUTION


def chunked(q, k, v, a, C, S):
    """Return the outputs of all tokens, and the last state, with chunks of C tokens.

    q, k (n, E), v (n, Ev), a (n,), and S (E, Ev), the state before the first token
        ->  o (n, Ev), state (E, Ev)

    Call chunk once for each chunk. So for a given C the time is proportional to n.
    """
    # BEGIN SOLUTION
    o = np.empty_like(v)
    for i in range(0, len(q), C):
        rows = slice(i, i + C)  # fewer in the last chunk
        o[rows], S = chunk(q[rows], k[rows], v[rows], a[rows], S)
    return o, S
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "S_i is a sum over all earlier tokens: those before the chunk are a_1 … a_i S, one "
    "product with the state, and those of the chunk are rows of the matrix. A chunk costs "
    "C^2 weights, so all n / C chunks cost n C instead of n^2."
)
