"""E.22  The delta rule in chunks  ●●●○  40 min  needs E.21

The delta rule of E.21 takes n steps, and each waits for the one before it:

    r_t = v_t - S_(t-1)^T k_t        S_t = S_(t-1) + b_t k_t r_t^T        o_t = S_t^T q_t

A state is the sum of all that was written. So this is linear attention with the values
b_j r_j, and with all errors r_j known, the outputs are a product of matrices:

    o_i = sum_{j <= i} (q_i . k_j) b_j r_j                      if S_0 = 0

But each error depends on those before it. Take a chunk of C tokens that begins with a
state S, and write r_i with S and with the errors r_j of the chunk, j < i. These are C
linear equations, and their matrix is triangular: zeros above the diagonal, and ones on
it. Solve them once in the place of C steps. From one chunk to the next goes a state.

C = 1 is the rule step by step, and C = n one system of n equations. n need not be a
multiple of C.
"""

import numpy as np


def errors(k, v, b, S):
    """Return the errors r (C, Ev) of all tokens of a chunk.

    k (C, E), v (C, Ev), b (C,), and S (E, Ev), the state before the first token

    np.linalg.solve may solve the equations, or a loop over the tokens.
    """
    # BEGIN SOLUTION
    B = np.tril(k @ k.T, -1)  # k_i . k_j for j < i
    return np.linalg.solve(np.eye(len(k)) + B * b, v - k @ S)  # column j times b_j
    # END SOLUTION


def chunk(q, k, v, b, S):
    """Return the outputs of one chunk, and the state after it.

    q, k (C, E), v (C, Ev), b (C,), and S (E, Ev), the state before the first token
        ->  o (C, Ev), state (E, Ev)

    Call errors once. The rest is arrays, without a loop over the tokens.
    """
    # BEGIN SOLUTION
    u = b[:, None] * errors(k, v, b, S)
    return q @ S + np.tril(q @ k.T) @ u, S + k.T @ u
    # END SOLUTION


def chunked(q, k, v, b, C, S):
    """Return the outputs of all tokens, and the last state, with chunks of C tokens.

    q, k (n, E), v (n, Ev), b (n,), and S (E, Ev), the state before the first token
        ->  o (n, Ev), state (E, Ev)

    Call chunk once for each chunk. So for a given C the time is proportional to n.
    """
    # BEGIN SOLUTION
    o = np.empty_like(v)
    for i in range(0, len(q), C):
        rows = slice(i, i + C)  # fewer in the last chunk
        o[rows], S = chunk(q[rows], k[rows], v[rows], b[rows], S)
    return o, S
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "The state before token i is S plus what the chunk's tokens j < i wrote, so r_i = v_i "
    "- S^T k_i - sum_j (k_i . k_j) b_j r_j: a system with the matrix I + B b. Everything "
    "else is linear attention with the values b r, and the cost of n tokens is about n C "
    "instead of n^2."
)
