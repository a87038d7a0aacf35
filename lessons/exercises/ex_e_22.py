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

from lessons import NotWritten


def errors(k, v, b, S):
    """Return the errors r (C, Ev) of all tokens of a chunk.

    k (C, E), v (C, Ev), b (C,), and S (E, Ev), the state before the first token

    np.linalg.solve may solve the equations, or a loop over the tokens.
    """
    raise NotWritten("E.22 errors")


def chunk(q, k, v, b, S):
    """Return the outputs of one chunk, and the state after it.

    q, k (C, E), v (C, Ev), b (C,), and S (E, Ev), the state before the first token
        ->  o (C, Ev), state (E, Ev)

    Call errors once. The rest is arrays, without a loop over the tokens.
    """
    raise NotWritten("E.22 chunk")


def chunked(q, k, v, b, C, S):
    """Return the outputs of all tokens, and the last state, with chunks of C tokens.

    q, k (n, E), v (n, Ev), b (n,), and S (E, Ev), the state before the first token
        ->  o (n, Ev), state (E, Ev)

    Call chunk once for each chunk. So for a given C the time is proportional to n.
    """
    raise NotWritten("E.22 chunked")
