"""E.11  RoPE and its backward  ●●○○  30 min

Queries and keys are turned by their position, pair by pair, each pair m at its own
speed, so that the product of a query and a key depends on their distance alone.

    theta_m = base^(-2m / E),                               m = 0, 1, …, E/2 - 1
    y_2m   = x_2m cos(p theta_m) - x_2m+1 sin(p theta_m)    at position p
    y_2m+1 = x_2m sin(p theta_m) + x_2m+1 cos(p theta_m)

This pairing, neighbours, is called interleaved. Half-split puts entry m together with
m + E/2 instead. A model trained with one reads nonsense with the other.
"""

import numpy as np

from lessons import NotWritten


def rope(x, positions, base=10000.0):
    """Interleaved: turn each row of x by its position.

    x (…, L, E), E even, positions (L,)  ->  y (…, L, E), backward; backward(g) is
    dL/dx
    """
    raise NotWritten("E.11 rope")

    def backward(g):
        raise NotWritten("E.11 rope")

    return y, backward


def to_half_split(E):
    """The order of entries that leads from interleaved to half-split, (E,) integers p.

    Rows of W_q and W_k in this order give a model the other pairing: x[..., p], turned
    half-split, is the interleaved rope of x, reordered likewise.
    """
    raise NotWritten("E.11 to_half_split")


def scores(q, k):
    """(L, S) products of the turned rows of q (L, E) and k (S, E), at 0, 1, 2, …

    With q turned by i and k by j, the score is that of q with k turned by j - i.
    """
    raise NotWritten("E.11 scores")
