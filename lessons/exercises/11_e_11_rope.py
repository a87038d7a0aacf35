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
    E = x.shape[-1]
    even, odd = slice(0, E, 2), slice(1, E, 2)  #? Which two entries are a pair: 0 and 1, or 0 and E/2?
    #! even, odd = slice(0, E // 2), slice(E // 2, E)  | a rotation of the pairs (m, m + E/2)
    theta = base ** (-np.arange(0, E, 2) / E)  #? Which powers of base turn the pairs 0, 1, 2? Is base itself one of them?
    #! theta = 10000.0 ** (-np.arange(0, E, 2) / E)  | a rotation with the base 10000 for any base
    #! theta = np.exp(-np.arange(0, E, 2) / E)  | a rotation with theta = e^(-2 m / E) for any base
    #! theta = base ** (-np.arange(E // 2) / E)  | a rotation with theta_m = base^-(m / E)
    #! theta = base ** (-np.arange(2, E + 2, 2) / E)  | a rotation with theta_m = base^-(2 (m + 1) / E)
    #! theta = base ** (-np.arange(E // 2) / max(E / 2 - 1, 1))  | a rotation with theta_m = base^-(m / (E/2 - 1)), from 1 to 1 / base
    #! theta = float(base) ** -np.arange(E // 2)  | a rotation with theta_m = base^-m
    #! theta = float(base) ** -np.sign(np.arange(E // 2))  | a rotation with theta_m = 1 / base for m > 0
    angle = positions[:, None] * theta  #? By which angle is pair 0 rotated at position 0, and at position p?
    #! angle = (positions[:, None] + 1) * theta  | a rotation by (p + 1) theta
    #! angle = np.deg2rad(positions[:, None]) * theta  | a rotation by p theta degrees
    #! angle = 2 * np.pi * positions[:, None] * theta  | a rotation by 2 pi p theta
    #! angle = np.arange(len(positions))[:, None] * theta  | a rotation by 0, 1, 2, … for any positions
    #! angle = np.arange(1, len(positions) + 1)[:, None] * theta  | a rotation by 1, 2, 3, … for any positions
    cos, sin = np.cos(angle), np.sin(angle)  #? Rotate (1, 0) by a small angle: which of sin and cos is near 1?
    y = np.empty_like(x)
    y[..., even] = x[..., even] * cos - x[..., odd] * sin  #? Rotate (0, 1) by a small angle: is its first entry negative?
    y[..., odd] = x[..., even] * sin + x[..., odd] * cos  #? Which old entries are in the second one, with which signs?
    #! y[..., odd] = x[..., odd] * cos - x[..., even] * sin  | second entries with the sign of sin turned round

    def backward(g):
        dx = np.empty_like(g)  #? y = R x has the gradient R^T g. What is the transpose of a rotation?
        #! dx, sin = np.empty_like(g), -np.sin(angle)  | g rotated by p theta, as x is in the forward
        #! dx, sin = np.empty_like(g), 0 * angle  | g cos(p theta), without the other entry of the pair
        #! dx, (cos, sin) = np.empty_like(g), (f(positions[:, None] * 10000.0 ** (-np.arange(0, E, 2) / E)) for f in (np.cos, np.sin))  | g rotated back with the base 10000
        dx[..., even] = g[..., even] * cos + g[..., odd] * sin  #? In which two entries of y is x_(2m), with which factors?
        dx[..., odd] = g[..., odd] * cos - g[..., even] * sin  #? In which two entries of y is x_(2m+1), with which factors?
        #! dx[..., odd] = g[..., odd] * cos + g[..., even] * sin  | second entries with the sign of sin turned round
        return dx  #? x was rotated. Is its gradient rotated as well, and in which direction?
        #= return rope(g, -positions, base)[0]

    return y, backward


def to_half_split(E):
    """Return the order (E,) of entries that converts interleaved to half-split.

    Reorder the rows of W_q and W_k so to give a model the other pairing: the half-split
    rotation of x[..., order] is the interleaved rotation of x, reordered by ``order``.
    """
    pairs = np.arange(E).reshape(E // 2, 2)  #? Which entries are pair 0, and which pair 1?
    return pairs.T.reshape(E)  #? One order converts, another converts back. Which begins with the even entries?
    #= return np.r_[0:E:2, 1:E:2]


def scores(q, k):
    """Return the products (L, S) of the rotated rows of q (L, E) and k (S, E).

    The positions of both are 0, 1, 2, … With q rotated by i and k by j, the score is
    that of q with k rotated by j - i.
    """
    turned_q, _ = rope(q, np.arange(len(q)))  #? Which position has each query, and is it rotated?
    #! turned_q, _ = rope(q, -np.arange(len(q)))  | scores of i + j: q and k rotated in opposite directions
    turned_k, _ = rope(k, np.arange(len(k)))  #? In which direction does a key rotate, and by how much?
    #! turned_k, _ = rope(k, -np.arange(len(k)))  | scores of i + j: q and k rotated in opposite directions
    return turned_q @ turned_k.T  #? Which rows are multiplied: before the rotation, or after it?
    #! return q @ k.T  | q . k without any rotation


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def two_bases(my, rng):
    """rows at positions 0 to 100, with two bases"""
    positions = np.array([0, 1, 2, 7, 100])
    for base in (10000.0, 50.0):
        my.rope(rng.normal(size=(3, 5, 14)), positions, base)
    for size in ((3, 5, 6), (5, 5, 10)):  # also as many pairs as positions
        my.rope(rng.normal(size=size), positions, 50.0)


def few(my, rng):
    """a negative position, one pair, the base as it is, and no rows"""
    my.rope(rng.normal(size=(3, 2)), np.array([0, -3, 5]))
    my.rope(rng.normal(size=(3, 6)), np.array([0, -3, 5]))
    my.rope(np.zeros((0, 6)), np.arange(0))


def orders(my, rng):
    """the order of 6 entries, of 14 and of 2"""
    for E in (6, 14, 2):
        my.to_half_split(E)


def pairs_of_rows(my, rng):
    """a score for each query and key"""
    for L, S in ((5, 7), (5, 5)):
        my.scores(rng.normal(size=(L, 14)), rng.normal(size=(S, 14)))


HINTS = """
rope  Write the case E = 2 first: one pair, and one angle for each position.
to_half_split  Take E = 6 and write both rows down: the three pairs before, and after.
scores  Rotate all rows of q and of k by their own positions, then multiply.
1  Even entries are x[..., 0::2], odd ones x[..., 1::2]: write each pair as two arrays of
   width E/2. The angles have shape (L, E/2).
2  The backward multiplies by the transpose of the matrix ((cos, -sin), (sin, cos)), which
   rotates by the opposite angle. For the order of entries: which entry of the interleaved
   x is the first of pair 0, of pair 1, …?
3  y[..., 0::2] and y[..., 1::2] are the two lines of the formula. In the backward, g
   replaces x and the sines change their sign. The order is first all even numbers, then
   all odd ones.
"""
WHY = """The backward of a rotation is its transpose, which is the rotation by the opposite
angle. R(i)^T R(j) = R(j - i), so the product of a query at i and a key at j depends on
their distance alone."""
