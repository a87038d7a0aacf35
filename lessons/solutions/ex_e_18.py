"""E.18  The sink through lse  ●●○○  30 min  needs E.7

A softmax spends the weight 1 also where no key fits. With a sink, one number b for each
head, the weights of a row sum to less than 1:

    p_j = exp(s_j) / (exp(b) + sum_l exp(s_l))        r = exp(b) / (the same sum)

r = 1 - sum_j p_j is the rest, and it goes nowhere. Tiled attention never stores the
weights. It has the output o of a softmax without a sink, and

    lse = ln sum_l exp(s_l)

of each query. That is enough: the output with the sink is a multiple of o. Find it. And
if the keys were divided into parts, each with its o and lse, add the sink once.
"""

import numpy as np


def sink_softmax(s, b):
    """Return the weights p (H, L, S) of the scores s (H, L, S), with sinks b (H,).

    ->  p, backward;  backward(g) returns (ds, db) for g = dL/dp

    A score of -inf is a masked key. A row may consist of masked keys.
    """
    # BEGIN SOLUTION
    sink = b[:, None, None]
    m = np.maximum(s.max(-1, keepdims=True), sink)
    e, rest = np.exp(s - m), np.exp(sink - m)
    total = e.sum(-1, keepdims=True) + rest
    p, r = e / total, rest / total
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        mean = (p * g).sum(-1, keepdims=True)  # (H, L, 1)
        return p * (g - mean), -(r * mean).sum((1, 2))  # all queries use one b
        # END SOLUTION

    return p, backward


def with_sink(o, lse, b):
    """Return the output (H, L, Ev) with the sinks b (H,), from that of a softmax.

    o (H, L, Ev) is the output without a sink, and lse (H, L) as above; lse is -inf
    where no key is allowed, and o is 0 there.

    ->  y, backward;  backward(g) returns (do, dlse, db) for g = dL/dy
    """
    # BEGIN SOLUTION
    gate = np.exp(lse - np.logaddexp(lse, b[:, None]))  # sigmoid(lse - b), (H, L)
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        slope = (g * o).sum(-1) * gate * (1 - gate)  # (H, L)
        return g * gate[..., None], slope, -slope.sum(1)
        # END SOLUTION

    # BEGIN SOLUTION
    y = o * gate[..., None]
    # END SOLUTION
    return y, backward


def merged(o, lse, b):
    """Return the output (H, L, Ev) over all keys, with the sinks b (H,).

    o (P, H, L, Ev) and lse (P, H, L) are those of P parts of the keys, without sinks.
    """
    # BEGIN SOLUTION
    m = np.maximum(lse.max(0), b[:, None])  # (H, L)
    weight = np.exp(lse - m)  # (P, H, L)
    total = weight.sum(0) + np.exp(b[:, None] - m)
    return (weight[..., None] * o).sum(0) / total[..., None]
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "The sink multiplies all weights of a row by sum exp(s) / (exp(b) + sum exp(s)), "
    "which is sigmoid(lse - b): one number for each query, whatever the values are. It "
    "is one more key with the score b and the value 0, so several parts of the keys need "
    "it once and not each."
)
