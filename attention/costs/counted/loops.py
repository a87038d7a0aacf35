"""The variants as loops in which every query meets every key.

    e_j = score(q_i, k_j),    p = softmax over j of e_j,    o_i = sum_j p_j v_j

They are slow, and there to be counted: L S pairs, each with all its products in sight.
``projected`` chooses how often queries and keys are multiplied by parameters, as in
``ledger``; the second and later times are what a cache of projected keys saves.

Bahdanau et al. 2015; Luong et al. 2015; See et al. 2017; Vaswani et al. 2017;
Katharopoulos et al. 2020; Nadaraya 1964.
"""

from .numbers import apply, average, inner, scale, softmax, transposed


def dot(q, k, v):
    return [average(softmax([inner(q_i, k_j) for k_j in k]), v) for q_i in q]


def scaled(q, k, v):
    return dot([scale(q_i) for q_i in q], k, v)


def general(q, k, v, W_a, projected="queries"):
    if projected == "queries":
        return dot([apply(transposed(W_a), q_i) for q_i in q], k, v)
    if projected == "keys":
        return dot(q, [apply(W_a, k_j) for k_j in k], v)
    return [
        average(softmax([inner(q_i, apply(W_a, k_j)) for k_j in k]), v) for q_i in q
    ]


def additive(q, k, v, W_q, W_k, w_v, projected="once"):
    if projected == "once":
        k = [apply(W_k, k_j) for k_j in k]
    o = []
    for q_i in q:
        a_i = None if projected == "pairs" else apply(W_q, q_i)
        e = []
        for k_j in k:
            a = apply(W_q, q_i) if a_i is None else a_i
            b = k_j if projected == "once" else apply(W_k, k_j)
            e.append(inner(w_v, [(x + y).tanh() for x, y in zip(a, b)]))
        o.append(average(softmax(e), v))
    return o


def concat(q, k, v, W_a, v_a, projected="once"):
    if projected != "pairs":  # W_a [q; k] in two parts
        E = len(q[0])
        W_q, W_k = [row[:E] for row in W_a], [row[E:] for row in W_a]
        return additive(q, k, v, W_q, W_k, v_a, projected)
    e = [[inner(v_a, [x.tanh() for x in apply(W_a, a + b)]) for b in k] for a in q]
    return [average(softmax(e_i), v) for e_i in e]


def gaussian(q, k, v, h=1.0):
    """-|q_i - k_j|^2 / (2 h^2): a square for each coordinate."""
    o = []
    for q_i in q:
        apart = [[x - y for x, y in zip(q_i, k_j)] for k_j in k]
        o.append(average(softmax([inner(d, d) / (-2 * h * h) for d in apart]), v))
    return o


def coverage(q, k, v, W_q, W_k, w_v, w_c):
    """w_v . tanh(W_q q_i + W_k k_j + w_c c_j), where c sums the weights before."""
    k = [apply(W_k, k_j) for k_j in k]
    c, o = None, []
    for q_i in q:
        a, seen = apply(W_q, q_i), k
        if c is not None:  # at first nothing has been looked at, and nothing is added
            seen = [[y + w * c_j for y, w in zip(b, w_c)] for b, c_j in zip(k, c)]
        p = softmax([inner(w_v, [(x + y).tanh() for x, y in zip(a, b)]) for b in seen])
        o.append(average(p, v))
        c = p if c is None else [x + y for x, y in zip(c, p)]
    return o


def multi_head(q, k, v, W_q, W_k, W_v, W_o, heads):
    """q, k, v (L | S, D); W_q (H E, D), W_k (Hk E, D), W_v (Hk Ev, D), W_o (D, H Ev)"""
    E, group = len(W_q) // heads, len(W_q) // len(W_k)
    Ev = len(W_o[0]) // heads
    q, k, v = ([apply(W, x) for x in xs] for W, xs in ((W_q, q), (W_k, k), (W_v, v)))
    found = []
    for h in range(heads):
        own, shared = slice(h * E, h * E + E), h // group
        keys = [x[shared * E : shared * E + E] for x in k]
        values = [x[shared * Ev : shared * Ev + Ev] for x in v]
        found.append(scaled([x[own] for x in q], keys, values))
    return [apply(W_o, [x for head in found for x in head[i]]) for i in range(len(q))]


def linear(q, k, v):
    """phi(x) = elu(x) + 1; Katharopoulos et al. 2020."""
    q, k = ([[_phi(x) for x in row] for row in rows] for rows in (q, k))
    M = [[inner(a, b) for b in zip(*v)] for a in zip(*k)]  # sum_j phi(k_j) v_j^T
    z = [sum(column[1:], start=column[0]) for column in zip(*k)]
    o = []
    for q_i in q:
        total = inner(q_i, z)
        o.append([x / total for x in apply(transposed(M), q_i)])
    return o


def _phi(x):
    return x + 1 if x.value > 0 else x.exp()


LOOPS = {
    "dot": dot, "scaled": scaled, "dense": scaled, "general": general,
    "additive": additive, "concat": concat, "gaussian": gaussian, "coverage": coverage,
    "linear": linear, "multi-head": multi_head,
}  # fmt: skip
