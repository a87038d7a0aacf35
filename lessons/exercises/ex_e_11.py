"""E.11  RoPE and its backward  ●●○○  30 min

RoPE rotates queries and keys by their position, each pair m of entries with its own
frequency. The product of a query and a key then depends only on their distance.

    theta_m = base^(-2m / E),                               m = 0, 1, …, E/2 - 1
    y_(2m)   = x_(2m) cos(p theta_m) - x_(2m+1) sin(p theta_m)    at position p
    y_(2m+1) = x_(2m) sin(p theta_m) + x_(2m+1) cos(p theta_m)

Pairs of neighbours are called interleaved. Half-split pairs the entries m and m + E/2
instead. A model that was trained with one pairing gives wrong results with the other.
"""

import numpy as np

from lessons import NotWritten


def rope(x, positions, base=10000.0):
    """Return the rows of x rotated by their positions, with interleaved pairs.

    x (…, L, E), E even, positions (L,)  ->  y (…, L, E), backward; backward(g) is
    dL/dx
    """
    raise NotWritten("E.11 rope")

    def backward(g):
        raise NotWritten("E.11 rope")

    return y, backward


def to_half_split(E):
    """Return the order (E,) of entries that converts interleaved to half-split.

    Reorder the rows of W_q and W_k so to give a model the other pairing: the half-split
    rotation of x[..., order] is the interleaved rotation of x, reordered by ``order``.
    """
    raise NotWritten("E.11 to_half_split")


def scores(q, k):
    """Return the products (L, S) of the rotated rows of q (L, E) and k (S, E).

    The positions of both are 0, 1, 2, … With q rotated by i and k by j, the score is
    that of q with k rotated by j - i.
    """
    raise NotWritten("E.11 scores")
