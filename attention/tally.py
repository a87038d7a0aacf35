"""Every multiplication of attention, counted one by one.

Each variant as the plain loop that defines it, over numbers that count. What is counted
here is what ledger.py predicts, and what is computed here is what the package computes.
For a few tokens: it takes a microsecond a multiplication.
"""

import math

import numpy as np


class Tally:
    """How many multiplications the numbers made here have taken part in."""

    def __init__(self):
        self.multiplications = 0

    def numbers(self, array):
        """The array as nested lists of counting numbers."""
        array = np.asarray(array, float)
        if array.ndim == 0:
            return Number(float(array), self)
        return [self.numbers(x) for x in array]


class Number:
    """A float whose products are counted. Sums, quotients, exp and tanh are not."""

    __slots__ = ("value", "tally")

    def __init__(self, value, tally):
        self.value, self.tally = value, tally

    def __mul__(self, other):
        self.tally.multiplications += 1
        return Number(self.value * _value(other), self.tally)

    def __add__(self, other):
        return Number(self.value + _value(other), self.tally)

    def __sub__(self, other):
        return Number(self.value - _value(other), self.tally)

    def __truediv__(self, other):
        return Number(self.value / _value(other), self.tally)

    def exp(self):
        return Number(math.exp(self.value), self.tally)

    def tanh(self):
        return Number(math.tanh(self.value), self.tally)

    __rmul__, __radd__ = __mul__, __add__


def count(variant, q, k, v, parameters=(), **options):
    """Attention of one head, as its definition has it: (o, multiplications).

    q (L, E), k (S, Dk), v (S, Ev)  ->  o (L, Ev)

    parameters   W_a of "general"; W_q, W_k, w_v of "additive"; W_a, v_a of "concat";
                 W_q, W_k, W_v, W_o of "multi-head", all heads of which are counted
    options      projected, as in ``ledger``; heads, of "multi-head"; allowed, bool
                 (L, S), of "masked", which is scaled dot products of those pairs alone,
                 and of "tiled"; tiles, of "tiled": [(queries, [keys, ...]), ...], both
                 as ranges
    """
    tally = Tally()
    q, k, v = map(tally.numbers, (q, k, v))
    parameters = list(map(tally.numbers, parameters))
    o = LOOPS[variant](q, k, v, *parameters, **options)
    return np.array([[x.value for x in row] for row in o]), tally.multiplications


def inner(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), start=x[0] - x[0])


def apply(W, x):
    """W x"""
    return [inner(row, x) for row in W]


def transposed(W):
    return list(zip(*W))


def softmax(e):
    exps = [(x - max(y.value for y in e)).exp() for x in e]
    total = sum(exps[1:], start=exps[0])
    return [x / total for x in exps]


def average(p, v):
    """sum_j p_j v_j"""
    return [inner(p, column) for column in zip(*v)]


def dot(q, k, v):
    return [average(softmax([inner(q_i, k_j) for k_j in k]), v) for q_i in q]


def scaled(q, k, v):
    return dot([scale(q_i) for q_i in q], k, v)


def scale(q_i):
    return [x * (1 / math.sqrt(len(q_i))) for x in q_i]


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


def masked(q, k, v, allowed):
    """Scaled dot products of the allowed pairs; the others cost nothing."""
    o = []
    for i, q_i in enumerate(map(scale, q)):
        keys = [j for j in range(len(k)) if allowed[i][j]]
        if not keys:
            o.append([Number(0.0, q_i[0].tally) for _ in v[0]])
            continue
        p = softmax([inner(q_i, k[j]) for j in keys])
        o.append(average(p, [v[j] for j in keys]))
    return o


def tiled(q, k, v, tiles, allowed=None):
    """Dao 2023, algorithm 1: a tile of keys at a time, and what was summed rescaled.

    Every pair of a tile takes its multiplications, also one that may not attend.
    """
    q = [scale(q_i) for q_i in q]
    o = []
    for queries, listed in tiles:
        for i in queries:
            row = None if allowed is None else allowed[i]
            o.append(_online(q[i], k, v, listed, row))
    return o


def _online(q_i, k, v, tiles, allowed):
    zero = q_i[0] - q_i[0]
    m, l, o = -math.inf, zero, [zero for _ in v[0]]  # noqa: E741
    for keys in tiles:
        s = [inner(q_i, k[j]) for j in keys]
        may = [allowed is None or bool(allowed[j]) for j in keys]
        top = max([m] + [x.value for x, yes in zip(s, may) if yes])
        at = 0.0 if top == -math.inf else top
        p = [(x - at).exp() if yes else zero for x, yes in zip(s, may)]
        alpha = math.exp(m - at)
        l = l * alpha + sum(p, start=zero)  # noqa: E741
        o = [x * alpha + inner(p, column)
             for x, column in zip(o, zip(*(v[j] for j in keys)))]  # fmt: skip
        m = top
    return [x / l for x in o]


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


def _value(x):
    return x.value if isinstance(x, Number) else x


def _phi(x):
    return x + 1 if x.value > 0 else x.exp()


LOOPS = {
    "dot": dot, "scaled": scaled, "dense": scaled, "general": general,
    "additive": additive, "concat": concat, "masked": masked, "tiled": tiled,
    "linear": linear, "multi-head": multi_head,
}  # fmt: skip
