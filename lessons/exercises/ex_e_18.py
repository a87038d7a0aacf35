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

from lessons import NotWritten


def sink_softmax(s, b):
    """Return the weights p (H, L, S) of the scores s (H, L, S), with sinks b (H,).

    ->  p, backward;  backward(g) returns (ds, db) for g = dL/dp

    A score of -inf is a masked key. A row may consist of masked keys.
    """
    raise NotWritten("E.18 sink_softmax")

    def backward(g):
        raise NotWritten("E.18 sink_softmax")

    return p, backward


def with_sink(o, lse, b):
    """Return the output (H, L, Ev) with the sinks b (H,), from that of a softmax.

    o (H, L, Ev) is the output without a sink, and lse (H, L) as above; lse is -inf
    where no key is allowed, and o is 0 there.

    ->  y, backward;  backward(g) returns (do, dlse, db) for g = dL/dy
    """
    raise NotWritten("E.18 with_sink")

    def backward(g):
        raise NotWritten("E.18 with_sink")

    raise NotWritten("E.18 with_sink")
    return y, backward


def merged(o, lse, b):
    """Return the output (H, L, Ev) over all keys, with the sinks b (H,).

    o (P, H, L, Ev) and lse (P, H, L) are those of P parts of the keys, without sinks.
    """
    raise NotWritten("E.18 merged")
