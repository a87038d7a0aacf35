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


def rope(x, positions, base=10000.0):
    """Return the rows of x rotated by their positions, with interleaved pairs.

    x (…, L, E), E even, positions (L,)  ->  y (…, L, E), backward; backward(g) is
    dL/dx
    """
    # BEGIN SOLUTION
    E = x.shape[-1]
    theta = base ** (-np.arange(0, E, 2) / E)  # (E/2,)
    angle = positions[:, None] * theta  # (L, E/2)
    cos, sin = np.cos(angle), np.sin(angle)
    y = np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dx = np.empty_like(g)  # the transpose of a rotation is its inverse
        dx[..., 0::2] = g[..., 0::2] * cos + g[..., 1::2] * sin
        dx[..., 1::2] = g[..., 1::2] * cos - g[..., 0::2] * sin
        return dx
        # END SOLUTION

    return y, backward


def to_half_split(E):
    """Return the order (E,) of entries that converts interleaved to half-split.

    Reorder the rows of W_q and W_k so to give a model the other pairing: the half-split
    rotation of x[..., order] is the interleaved rotation of x, reordered by ``order``.
    """
    # BEGIN SOLUTION
    return np.arange(E).reshape(E // 2, 2).T.reshape(E)  # 0, 2, 4, …, 1, 3, 5, …
    # END SOLUTION


def scores(q, k):
    """Return the products (L, S) of the rotated rows of q (L, E) and k (S, E).

    The positions of both are 0, 1, 2, … With q rotated by i and k by j, the score is
    that of q with k rotated by j - i.
    """
    # BEGIN SOLUTION
    turned_q, _ = rope(q, np.arange(len(q)))
    turned_k, _ = rope(k, np.arange(len(k)))
    return turned_q @ turned_k.T
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "The backward of a rotation is its transpose, which is the rotation by the "
    "opposite angle. R(i)^T R(j) = R(j - i), so the product of a query at i and a key "
    "at j depends on their distance alone."
)
