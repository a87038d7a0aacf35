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

    k (C, E), v (C, Ev), b (C,), and S (E, Ev), the state before the first token.
    np.linalg.solve may solve the equations, or a loop over the tokens.
    """
    alone = v - k @ S  #? r_i = v_i - S_(i-1)^T k_i. Which two parts has S_(i-1), in a chunk?
    B = np.tril(k @ k.T, -1)  #? Which tokens of the chunk have written before token i reads?
    #! B = np.tril(k @ k.T)  | the equations for j <= i, with k_i . k_i on the diagonal
    #! B = k @ k.T  | the equations for all pairs, also for j > i
    #! B = k @ k.T - np.diag((k * k).sum(1))  | the equations for all pairs of two tokens
    A = np.eye(len(k)) + B * b  #? Token j writes b_j r_j: is b_j the factor of a row or of a column?
    #! A = np.eye(len(k)) + B * b[:, None]  | the equations with b_i for b_j: row i times b_i
    #! A = (np.eye(len(k)) + B * b).T  | the equations with the transposed matrix, for j > i
    return np.linalg.solve(A, alone)  #? A R = V - K S: is R a product with A, or with its inverse?
    #= return np.linalg.inv(A) @ alone
    #! return A @ alone  | (I + B b) (V - K S), a product for a solution
    #! return alone - (B * b) @ v  | v_i - S^T k_i - sum_j (k_i . k_j) b_j v_j, with v_j for r_j
    #! return alone - (B * b) @ alone  | errors in which r_j is v_j - S^T k_j, without the tokens before j
    #! return b[:, None] * np.linalg.solve(A, alone)  | b r, what the tokens write


def chunk(q, k, v, b, S):
    """Return the outputs of one chunk, and the state after it.

    q, k (C, E), v (C, Ev), b (C,), and S (E, Ev), the state before the first token
        ->  o (C, Ev), state (E, Ev)

    Call errors once. The rest is arrays, without a loop over the tokens.
    """
    u = b[:, None] * errors(k, v, b, S)  #? This is linear attention, but with other values than v: what is written?
    #! u = b[:, None] * (v - k @ S)  | a chunk with the errors v - K S
    pairs = np.tril(q @ k.T)  #? o_i = S_i^T q_i: which tokens of the chunk have written into S_i?
    #! pairs = np.tril(k @ q.T)  | outputs with k_i . q_j for q_i . k_j
    #! pairs = np.tril(q @ k.T) * b  | outputs with the weights b_j (q_i . k_j) of the values b_j r_j
    o = q @ S + pairs @ u  #? A query reads the state before the chunk, and what the chunk wrote.
    return o, S + k.T @ u  #? Which writes does the next chunk need, beside those before this one?
    #! return o, S + np.outer(k[-1], u[-1])  | a new state with the write of the last token alone


def chunked(q, k, v, b, C, S):
    """Return the outputs of all tokens, and the last state, with chunks of C tokens.

    q, k (n, E), v (n, Ev), b (n,), and S (E, Ev), the state before the first token
        ->  o (n, Ev), state (E, Ev)

    Call chunk once for each chunk. So for a given C the time is proportional to n.
    """
    o, state = np.zeros(v.shape), S
    for i in range(0, len(q), C):  #? The last chunk has n % C tokens, if n is no multiple of C.
        rows = slice(i, i + C)  # fewer in the last chunk
        o[rows], state = chunk(q[rows], k[rows], v[rows], b[rows], state)  #? With which state does a chunk begin?
        #! o[rows], state = chunk(q[rows], k[rows], v[rows], b[rows], 0 * S)  | chunks that each begin with a state of zeros
        #! o[rows], state = chunk(q[rows], k[rows], v[rows], b[rows], (i > 0) * state)  | a first chunk that begins with a state of zeros
    return o, state  #? Where do the tokens go on that come after these?


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.measure import calls_of, python_steps, work


def draw(rng, n=11, E=3, Ev=5):
    """Return q, k (n, E), v (n, Ev), b (n,) and a state S (E, Ev)."""
    q, k = rng.normal(size=(2, n, E))
    # b |k|^2 is below 2, so the states of many tokens do not grow
    k *= rng.uniform(0.7, 1.2, (n, 1)) / np.sqrt((k * k).sum(1, keepdims=True))
    v, b = rng.normal(size=(n, Ev)), rng.uniform(0.3, 0.9, n)
    return q, k, v, b, rng.normal(size=(E, Ev))


def one_chunk(my, rng):
    """chunks of any length, also with one key for all tokens, b = 0 and b = 1"""
    for sizes in ((7, 3, 5), (5, 5, 5), (200, 3, 5)):
        q, *inputs = draw(rng, *sizes)
        my.errors(*inputs)
        my.chunk(q, *inputs)
    *inputs, S = draw(rng)
    for C in (4, 1, 2, 5, 10, 11, 14):
        my.chunked(*inputs, C, S)
    v = np.array([[2.0], [5.0], [1.0], [1.0]])
    my.errors(np.ones((4, 1)), v, np.ones(4), np.zeros((1, 1)))
    q, k, v, b, S = draw(rng)
    k /= np.sqrt((k * k).sum(1, keepdims=True))
    k[[2, 5, 6]] = k[2]
    b[[1, 4]], b[[2, 5, 6]] = 0.0, 1.0
    my.errors(k, v, b, S)
    my.chunked(q, k, v, b, 4, S)


def calls(my, rng):
    """one call of chunk for each chunk, no loop in it, and work proportional to n"""
    *inputs, S = draw(rng)
    with calls_of(my, "chunk", "errors") as made:
        my.only.chunked(*inputs, 4, S)
    sizes = [len(args[0]) for name, args in made if name == "chunk"]
    solved = sum(name == "errors" for name, _ in made)
    my.holds("chunked", len(sizes) == 3 and max(sizes) == 4,
             "3 calls of chunk for 11 tokens, with 4 tokens or fewer",
             f"calls with {sizes} tokens", "other-chunks")  # fmt: skip
    my.holds("chunk", solved <= 3, "one call of errors for each of 3 chunks", f"{solved}",
             "errors-again")  # fmt: skip
    steps = []
    for q, *rest in (draw(rng, 8), draw(rng, 64)):
        my.only.chunk(q, *rest)
        of_errors = python_steps(my.made["errors"], *rest)
        steps.append(python_steps(my.made["chunk"], q, *rest) - of_errors)
    my.holds("chunk", steps[1] < steps[0] + 56,
             "as many Python steps for 8 and for 64 tokens, beside those of errors",
             f"{steps[0]} and {steps[1]}", "python-loop")  # fmt: skip
    run = lambda *x: my.made["chunked"](*x[:4], 4, x[4])  # noqa: E731
    short, long = (work(run, *draw(rng, n, 1, 1)) for n in (64, 128))
    for what, a, b in zip(("numbers", "Python steps"), short, long):
        my.holds("chunked", b < 3 * a, "twice the work for twice as many tokens",
                 f"{a} {what} for 64 tokens, {b} for 128", "n-squared")  # fmt: skip


HINTS = """
1  S_(i-1) = S + sum_{j < i} k_j (b_j r_j)^T. Multiply it by k_i, and you have the
   equation of r_i.
2  r_i + sum_{j < i} (k_i . k_j) b_j r_j = v_i - S^T k_i. The matrix has the entries
   (k_i . k_j) b_j below the diagonal, and the right side one row for each token.
3  B = np.tril(K K^T, -1), (I + B * b) R = V - K S, U = b R for each row. Then O = Q S +
   np.tril(Q K^T) U, and the new state is S + K^T U.
"""
WHY = """The state before token i is S plus what the chunk's tokens j < i wrote, so
r_i = v_i - S^T k_i - sum_j (k_i . k_j) b_j r_j: a system with the matrix I + B b.
The rest is linear attention with the values b r, at a cost of about n C, not n^2."""
