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
all n states: with S_t and one row for each token, you can compute S_(t-1) again. Then
``python -m lessons experiment E.21`` trains a memory that replaces values, with yours.
"""

import numpy as np


def write(S, k, v, b):
    """Return the state after one token, as a new array (E, Ev).

    S (E, Ev) is the state before, k (E,), v (Ev,), and b is a number.
    """
    error = v - k @ S  #? What does k return before the write, and what should it return after it?
    #! error = v - b * (k @ S)  | S + b k (v - b S^T k)^T
    return S + b * np.outer(k, error)  #? With b = 0 the state stays as it is: so what has the factor b?
    #! return (1 - b) * S + b * np.outer(k, v)  | (1 - b) S + b k v^T, which forgets all keys
    #! k = k / (k @ k) ** 0.5; return S + b * np.outer(k, v - k @ S)  | the state with k / |k| for k


def write_backward(S, k, v, b, D):
    """Return the gradients of one call of write; db is a number.

    ->  dS (E, Ev), dk (E,), dv (Ev,), db ()

    D (E, Ev) is dL/dS_t, the gradient of the new state; S is the state before.
    """
    r = v - k @ S  #? Is the error of token t that before its write, or after it?
    #! r = v - k @ (S + b * np.outer(k, v - k @ S))  | the gradients with the error after the write
    e = k @ D  #? S_t = S + k u^T with u = b r: what is dL/du?
    dv = b * e  #? u = b (v - S^T k): what is du / dv?
    db = r @ e  #? u = b r: what is du / db?
    dk = b * (D @ r) - b * (S @ e)  #? k_t is used twice: to read the state, and to write the error. Which sign has each?
    #! dk = b * (D @ r) - b * ((S + b * np.outer(k, r)) @ e)  | dk with a read of the state after the write
    dS = D - b * np.outer(k, e)  #? S_t contains S_(t-1) in two places: as a term, and inside of the error. Which sign has each?
    return dS, dk, dv, db


def delta_rule(q, k, v, b):
    """Return the outputs o_t of all tokens, beginning with S_0 = 0.

    q, k (n, E), v (n, Ev), b (n,)  ->  o (n, Ev), backward
    backward(g) returns (dq, dk, dv, db) for g = dL/do
    """
    o, u = np.empty_like(v), np.empty_like(v)
    last = np.zeros((k.shape[1], v.shape[1]))
    for t in range(len(q)):
        error = v[t] - k[t] @ last  #? What does k_t return before the write?
        u[t] = b[t] * error  #? With b = 0 the state stays as it is: so what has the factor b?
        last = last + np.outer(k[t], u[t])  #? Which state does token t read, and which one does it leave?
        o[t] = q[t] @ last  #? May o_t contain v_t? Look at the index of the state in o_t = S_t^T q_t.
        #! o[t] = q[t] @ (last - np.outer(k[t], u[t]))  | S_(t-1)^T q_t, the outputs before the write

    def backward(g):
        dq, dk, dv, db = map(np.empty_like, (q, k, v, b))
        S, D = last, np.zeros_like(last)
        for t in reversed(range(len(q))):
            dq[t] = S @ g[t]  #? Which state did q_t read?
            #! dq[t] = (S - np.outer(k[t], u[t])) @ g[t]  | dq = S_(t-1) g, with the state before the write
            D = D + np.outer(q[t], g[t])  #? S_t has an influence on o_t and, through S_(t+1), on all later outputs.
            S = S - np.outer(k[t], u[t])  #? Which state did token t read before its write?
            D, dk[t], dv[t], db[t] = write_backward(S, k[t], v[t], b[t], D)  #? Which gradient of a write is D for the token before?
            #! D, dk[t], dv[t], db[t] = write_backward(S + np.outer(k[t], u[t]), k[t], v[t], b[t], D)  | the backward of each write with the state after it
            #! _, dk[t], dv[t], db[t] = write_backward(S, k[t], v[t], b[t], D)  | the gradients with D summed, as in linear attention
        return dq, dk, dv, db

    return o, backward


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.measure import peak_numbers
from lessons.course.training import experiment  # noqa: F401


def draw(rng, n=5, E=3, Ev=7):
    """Return q, k (n, E), v (n, Ev) and b (n,); the keys have other lengths than 1."""
    q, k = rng.normal(size=(2, n, E)) / E**0.5
    return q, k, rng.normal(size=(n, Ev)), rng.uniform(0.3, 0.9, n)


def one_token(rng, E=3, Ev=7):
    """Return S (E, Ev), k (E,), v (Ev,) and b."""
    _, k, v, b = draw(rng, 1, E, Ev)
    return rng.normal(size=(E, Ev)), k[0], v[0], float(b[0])


def one_write(my, rng):
    """one write"""
    for E, Ev in ((3, 7), (5, 5)):
        S, k, v, b = one_token(rng, E, Ev)
        my.write(S, k, v, b)
        my.write(S, k, v, 0.0)
        my.write(S, k / np.sqrt(k @ k), v, 1.0)


def of_one_write(my, rng):
    """the gradients of one write"""
    for E, Ev in ((3, 7), (5, 5)):
        my.write_backward(*one_token(rng, E, Ev), rng.normal(size=(E, Ev)))


def all_tokens(my, rng):
    """all outputs, and their gradients, also of one token"""
    for sizes in ((5, 3, 7), (5, 3, 2), (5, 5, 5), (1, 3, 7)):
        my.delta_rule(*draw(rng, *sizes))


def memory(my, rng):
    """memory, for 1500 tokens"""
    n, E, Ev = 1500, 16, 16
    inputs, f = draw(rng, n, E, Ev), my.made["delta_rule"]
    peak = peak_numbers(lambda: f(*inputs)[1](inputs[2]))
    kept = f"about {10 * n * E} numbers, and fewer than n E Ev = {n * E * Ev}: one state"
    for limit, tag, text in (
        (n * n, "all-pairs", f"fewer than n^2 = {n * n} numbers in memory: no (n, n) array"),
        (n * E * Ev, "states-kept", kept),
    ):
        my.holds("delta_rule", peak < limit, text, f"{peak:.0f}", tag)


HINTS = """
write  k @ S is what the key returns, S^T k. np.outer(k, x) is k x^T.
delta_rule  S_(t-1) = S_t - k_t u_t^T, if you store the rows u_t = b_t r_t.
1  Write one token first: read, subtract, write. Then a loop over the tokens with one state.
2  For S_t = S + k u^T and u = b (v - S^T k): e = dL/du = D^T k, dv = b e, db = e . r. S is
   also in u, with the gradient -b k e^T; k is in u with -b S e.
3  dS = D - b k e^T, dk = b D r - b S e. Backward, from the last token: dq_t = S_t g_t,
   D += q_t g_t^T, S -= k_t u_t^T, and then write_backward with S and D, whose dS is the
   next D.
"""
WHY = """A token reads the state and adds to it, so the gradient of the state has two
terms, dS = D - b k e^T with e = D^T k. With |k| = 1 and b = 1, k^T dS is 0: what a write
replaced has no influence on later outputs."""
