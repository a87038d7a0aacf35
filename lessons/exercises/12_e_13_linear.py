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
    y, S = np.empty_like(v), np.zeros((k.shape[1], v.shape[1]))
    for i in range(len(q)):
        S += np.outer(k[i], v[i])  #? Which of q and k has the place j, which is summed, and is S the sum of all so far?
        #! S = k.T @ v  | the sum over all pairs
        #! S = k[i:].T @ v[i:]  | the sum over the pairs j >= i
        y[i] = q[i] @ S  #? May query i attend to key i? Is S used before or after key i is added?
        #! y[i] = q[i] @ (S - np.outer(k[i], v[i]))  | the sum over j < i, without the pairs i = j
        #! y[i] = k[i] @ (q[: i + 1].T @ v[: i + 1])  | the sums of (k_i . q_j) v_j, with q and k exchanged
        #! y[i] = q[i] @ S / (i + 1)  | the mean over the keys so far, not the sum
        #! y[i] = np.exp(k[: i + 1] @ q[i]) @ v[: i + 1] / np.exp(k[: i + 1] @ q[i]).sum()  | averages with the weights of a softmax

    def backward(g):
        dq, dk, dv = np.empty_like(q), np.empty_like(k), np.empty_like(v)
        S, R = np.zeros((2, k.shape[1], v.shape[1]))  #? With which numbers do both sums begin, in the backward as well?
        for i in range(len(q)):  # compute the states again
            S += np.outer(k[i], v[i])  #? Which keys does S_i contain? It is the same sum as in the forward.
            #! S = k.T @ v  | the sum over all pairs
            #! S = k[i:].T @ v[i:]  | the sum over the pairs j >= i
            dq[i] = S @ g[i]  #? y_i = S_i^T q_i: what is its gradient for q_i, with key i in S_i?
            #! dq[i] = (S - np.outer(k[i], v[i])) @ g[i]  | the sum over j < i, without the pairs i = j
        for j in reversed(range(len(q))):
            R += np.outer(q[j], g[j])  #? Key j acts on later queries. In which direction does the sum over those grow?
            #! R = q.T @ g  | the sum over all pairs
            #! R = q[: j + 1].T @ g[: j + 1]  | the sum over the pairs j >= i
            #! R = q[j + 1 :].T @ g[j + 1 :]  | the sum over j < i, without the pairs i = j
            dk[j] = R @ v[j]  #? Key j is in (q_i . k_j) v_j for each i >= j: what is the gradient for k_j?
            #! dk[j] = (R - np.outer(q[j], g[j])) @ v[j]  | the sum over j < i, without the pairs i = j
            #! dk[j] = (q[: j + 1].T @ g[: j + 1]) @ v[j]  | the sum over the pairs j >= i
            #! dk[j] = q.T @ g @ v[j]  | the sum over all pairs
            #! dk[j] = (k[j:].T @ g[j:]) @ v[j]  | the gradient with k in the place of q
            dv[j] = k[j] @ R  #? Value j is in (q_i . k_j) v_j for each i >= j: what is the gradient for v_j?
            #! dv[j] = k[j] @ (R - np.outer(q[j], g[j]))  | the sum over j < i, without the pairs i = j
            #! dv[j] = k[j] @ (q[: j + 1].T @ g[: j + 1])  | the sum over the pairs j >= i
            #! dv[j] = k[j] @ q.T @ g  | the sum over all pairs
            #! dv[j] = k[j] @ (k[j:].T @ g[j:])  | the gradient with k in the place of q
        return dq, dk, dv

    return y, backward


def linear_attention(q, k, v):
    """Return the averages of values o_i = y_i / c_i, with one call of scan.

    q, k (n, E), v (n, Ev)  ->  o (n, Ev), backward;  backward(g) returns (dq, dk, dv)

    With a column of ones beside v, the scan computes c as well.
    """
    beside = np.concatenate([v, np.ones((len(v), 1))], 1)  #? Which value, beside v, makes the scan sum q_i . k_j?
    both, scan_backward = scan(q, k, beside)  #? Are q and k features already, or scores?
    #! both, scan_backward = scan(np.exp(q), np.exp(k), beside)  | y / c of exp(q) and exp(k)
    y, c = both[:, :-1], both[:, -1:]  #? Does c_i contain the keys up to i, or all of them?
    #! y, c = both[:, :-1], (q @ k.sum(0))[:, None]  | y / c with the c of all keys
    o = y / c  #? o_i is an average, whose weights sum to 1: by which number is y_i divided?
    #! o = y / len(y)  | y / n, as if all weights were 1
    #! o = y / (1 + np.arange(len(y))[:, None])  | y / i, as if all weights were 1
    #! o = y / c[-1:]  | y / c with the c of the last query
    #! o = y / c.sum()  | y / c with the sum of all c
    #! o = y / (c + 1e-12)  | y / (c + 1e-12), a small number added
    #! o = y / (c + 1e-6)  | y / (c + 1e-6), a small number added

    def backward(g):
        dy = g / c  #? o is y divided by c. What is the gradient of y?
        dc = -(g * o).sum(1, keepdims=True) / c  #? Does o = y / c grow or fall as c grows? Which of g, y, o and c are in the gradient of c, which depends on q and k?
        #! dc = 0 * c  | the gradient with c held fixed
        dq, dk, dbeside = scan_backward(np.concatenate([dy, dc], 1))
        return dq, dk, dbeside[:, :-1]  #? Which columns of the gradient belong to v?

    return o, backward


# ---- THE CHECK: each call of my.f is compared with the function above

from lessons.course.measure import calls_of, peak_numbers, work


def draw(rng, n=5, E=3, Ev=7):
    return rng.random((n, E)) + 0.1, rng.random((n, E)) + 0.1, rng.normal(size=(n, Ev))


def sums(my, rng):
    """sums and averages of five positions, their gradients, one scan for both sums"""
    for inputs in (draw(rng), draw(rng, 5, 5, 5)):  # also of equal sizes
        my.scan(*inputs)
        my.linear_attention(*inputs)
    my.scan(*draw(rng, 1))
    q, k, v = draw(rng)
    my.linear_attention(1e-6 * q, k, v)  # far below 1, where a small number counts
    with calls_of(my, "scan") as calls:
        _, backward = my.only.linear_attention(*draw(rng))
        backward(rng.normal(size=(5, 7)))
    text = "one call of scan: ones beside v make it sum c too", f"{len(calls)} calls"
    my.holds("linear_attention", len(calls) == 1, *text, "calls-of-scan")


def costs(my, rng):
    """memory, for 1500 positions; for twice the positions, twice the work"""
    n, E, Ev = 1500, 16, 16
    q, k, v = draw(rng, n, E, Ev)
    peak = peak_numbers(lambda: my.made["scan"](q, k, v)[1](v))
    text = f"about {12 * n * E} numbers, and fewer than n E Ev = {n * E * Ev}"
    all_pairs, states = "does it make an (n, n) array?", "does it store all n states?"
    found, tag = (all_pairs, "all-pairs") if peak > n * n else (states, "states-kept")
    my.holds("scan", peak < n * E * Ev, text, f"{peak:.0f}: {found}", tag)
    for name in ("scan", "linear_attention"):
        f = my.made[name]
        short, long = (
            work(lambda q, k, v: f(q, k, v)[1](v), *draw(rng, n, 1, 1)) for n in (64, 128)
        )
        for what, a, b in zip(("numbers", "Python steps"), short, long):
            text = "twice the work for twice as many positions"
            found = f"{a} {what} for 64 positions, {b} for 128"
            my.holds(name, b < 3 * a, text, found, "n-squared")


HINTS = """
1  Write a loop over positions with one array S that grows: after adding position i, it
   contains all that query i may attend to, including position i.
2  dL/dq_i = S_i g_i; key j appears in y_i as (q_i . k_j) v_j for every i >= j, so dk_j =
   R_j v_j and dv_j = R_j^T k_j. Sum R in a loop from the end.
3  For o, the gradient of y is g / c, that of c is -(g . o) / c; pass them side by side
   to the backward of the scan.
"""
WHY = """The sum over j <= i is a state that grows by one outer product for each key, so the
time is proportional to n and not to n^2. In the backward a key has an influence on all
later queries, so the same scan runs from the end."""
