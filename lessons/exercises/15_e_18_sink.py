"""E.18  The sink through lse  ●●○○  30 min  needs E.7

A softmax spends the weight 1 also where no key fits. With a sink, one number b for each
head, the weights of a row sum to less than 1:

    p_j = exp(s_j) / (exp(b) + sum_l exp(s_l))        r = exp(b) / (the same sum)

r = 1 - sum_j p_j is the rest, and it goes nowhere. Tiled attention never stores the
weights. It has the output o of a softmax without a sink, and

    lse = ln sum_l exp(s_l)

of each query. That is enough: the output with the sink is a multiple of o. Find it. And
if the keys were divided into parts, each with its o and lse, add the sink once. Then
``python -m lessons experiment E.18`` trains it where half of the queries match no key.
"""

import numpy as np


def sink_softmax(s, b):
    """Return the weights p (H, L, S) of the scores s (H, L, S), with sinks b (H,).

    ->  p, backward;  backward(g) returns (ds, db) for g = dL/dp

    A score of -inf is a masked key. A row may consist of masked keys.
    """
    sink = b[:, None, None]
    m = np.maximum(s.max(-1, keepdims=True), sink)  #? Which m makes s - m and b - m at most 0?
    e = np.exp(s - m)
    rest = np.exp(sink - m)  #? The sink is a key with the score b. What does it add to the denominator?
    #! rest = sink * np.exp(-m)  | exp(s) / (b + sum exp(s)), with b for exp(b)
    #! rest = np.exp(-sink - m)  | exp(s) / (exp(-b) + sum exp(s))
    total = e.sum(-1, keepdims=True) + rest  #? What do the weights and the rest of a row sum to?
    p, r = e / total, rest / total

    def backward(g):
        mean = (p * g).sum(-1, keepdims=True)  # (H, L, 1)
        ds = p * (g - mean)  #? dp_j / ds_k = p_j (delta_jk - p_k), with which p?
        #! ds = p * (g - mean / p.sum(-1, keepdims=True))  | p (g - p . g / sum p)
        db = -(r * mean).sum((1, 2))  #? dp_j / db = -p_j r. What is the sum over j, and over all queries, of g_j times that?
        #! db = (r * (1 - r)).sum((1, 2))  | sum r (1 - r)
        return ds, db

    return p, backward


def with_sink(o, lse, b):
    """Return the output (H, L, Ev) with the sinks b (H,), from that of a softmax.

    o (H, L, Ev) is the output without a sink, and lse (H, L) as above; lse is -inf
    where no key is allowed, and o is 0 there.

    ->  y, backward;  backward(g) returns (do, dlse, db) for g = dL/dy
    """
    gate = np.exp(lse - np.logaddexp(lse, b[:, None]))  #? Write exp(lse) for sum exp(s) in p. How does p differ from the softmax?
    #! gate = np.exp(b[:, None] - np.logaddexp(lse, b[:, None]))  | sigmoid(b - lse) o
    #! gate = np.exp(lse - np.logaddexp(lse, 0))  | sigmoid(lse) o, without b
    #! gate = lse / (lse + b[:, None])  | lse / (lse + b) o
    #= gate = 1 / (1 + np.exp(b[:, None] - lse))

    def backward(g):
        do = g * gate[..., None]  #? y = sigmoid(lse - b) o: what is dy / do?
        #! do = g * (gate * (1 - gate))[..., None]  | g gate (1 - gate) for do
        slope = (g * o).sum(-1) * gate * (1 - gate)  #? y = sigmoid(lse - b) o: what is dy / dlse?
        #! slope = (g * o).sum(-1)  | g . o, without the derivative of the sigmoid
        db = -slope.sum(1)  #? lse - b: which sign has b, and how many queries use it?
        return do, slope, db  #? Does y change with lse as well as with o?

    y = o * gate[..., None]  #? What multiplies each row of o?
    return y, backward


def merged(o, lse, b):
    """Return the output (H, L, Ev) over all keys, with the sinks b (H,).

    o (P, H, L, Ev) and lse (P, H, L) are those of P parts of the keys, without sinks.
    """
    m = np.maximum(lse.max(0), b[:, None])  #? Which m makes lse - m and b - m at most 0?
    weight = np.exp(lse - m)  # (P, H, L)
    rest = np.exp(b[:, None] - m)  #? The sink is one more key. In how many of the parts is it?
    #! rest = len(lse) * np.exp(b[:, None] - m)  | the parts merged with a sink in each
    total = weight.sum(0) + rest  #? The weights of all parts and the sink have one denominator. Which?
    #! weight = weight / (weight + rest) * weight; total = np.exp(lse - m).sum(0)  | each part times its sigmoid(lse - b), then merged
    #! weight = weight / (weight + rest); total = 1.0 + 0 * m  | the sum of each part times its sigmoid(lse - b)
    #! total = weight.sum(0); total = (total + rest) ** 2 / total  | the parts merged with the sink, and gated again
    #! total = weight.sum(0) + rest; weight = np.ones(lse.shape) * weight.mean(0)  | the mean of the parts, with the sink
    return (weight[..., None] * o).sum(0) / total[..., None]  #? exp(lse) of a part is its share of what?


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.training import experiment  # noqa: F401

SIZES = (2, 5, 7), (2, 3, 5), (3, 3, 3)  # the last with square arrays


def draw(rng, H, L, S):
    """Return s (H, L, S), b (H,), and o (3, H, L, S), lse (3, H, L) of three parts."""
    b = rng.uniform(0.5, 1.5, H) * np.where(np.arange(H) % 2, -1, 1)
    o, lse = rng.normal(size=(3, H, L, S)), rng.normal(size=(3, H, L))
    return 2 * rng.normal(size=(H, L, S)), b, o, lse


def the_weights(my, rng):
    """weights of each head, and their gradients"""
    for sizes in SIZES:
        my.sink_softmax(*draw(rng, *sizes)[:2])


def the_outputs(my, rng):
    """outputs with a sink, and their gradients"""
    for sizes in SIZES:
        _, b, o, lse = draw(rng, *sizes)
        my.with_sink(o[0], lse[0], b)


def the_parts(my, rng):
    """outputs of three parts, merged"""
    for sizes in SIZES:
        _, b, o, lse = draw(rng, *sizes)
        my.merged(o, lse, b)


def nothing_allowed(my, rng):
    """masked keys, rows without a key, scores and sinks of 1000"""
    s, b, o, lse = draw(rng, 2, 5, 7)
    s[:, :, 2], s[0, 1] = -np.inf, -np.inf
    o[0, 0, 1], lse[0, 0, 1] = 0.0, -np.inf
    o[:, 1, 2], lse[:, 1, 2] = 0.0, -np.inf  # in no part
    for far in (0.0, 1000.0):
        rows, sinks = far * np.arange(5), b + far * np.arange(2)
        my.sink_softmax(s + rows[:, None], sinks)
        my.with_sink(o[0], lse[0] + rows, sinks)
        my.merged(o, lse + rows, sinks)


HINTS = """
1  Take the maximum over the scores of a row and b. Then no exp overflows, and a row of
   masked keys needs no special case.
2  sum exp(s) / (exp(b) + sum exp(s)) = exp(lse) / (exp(b) + exp(lse)), a sigmoid of
   lse - b. For db, sum over all queries of the head.
3  ds = p (g - p . g) and db = -sum r (p . g). y = sigmoid(lse - b) o, dlse = gate
   (1 - gate) g . o = -db for each query. merged: sum exp(lse_p - m) o_p / (exp(b - m) +
   sum exp(lse_p - m)).
"""
WHY = """The sink multiplies all weights of a row by sum exp(s) / (exp(b) + sum exp(s)),
which is sigmoid(lse - b): one number for each query, whatever the values are. It is one
more key with the score b and the value 0, so several parts of the keys need it once."""
