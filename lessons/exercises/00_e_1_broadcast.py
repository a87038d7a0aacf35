"""E.1  The gradient of a broadcast  ●○○○  25 min

NumPy broadcasts arrays to one shape before it adds or multiplies them: it aligns the
shapes at the last axis, inserts missing axes in front, and repeats each axis of length
1. A number that is repeated is used in several places, so its gradient is the sum of
the gradients of all these places:

    y = a * b,   a (3, 1, 7),   b (5, 1)   ->   y (3, 5, 7)

    da[i, 0, k] = sum_j  g[i, j, k] b[j, 0]
    db[j, 0]    = sum_ik g[i, j, k] a[i, 0, k]

The same rule holds for every copy, such as overlapping windows of a sequence.
"""

import numpy as np


def unbroadcast(g, shape):
    """Return the gradient of an array of this shape, from g of the broadcast shape.

    g (3, 5, 7), shape (5, 1)  ->  (5, 1)

    ``shape`` broadcasts to g.shape. The sum of all entries of the result equals the sum
    of all entries of g: each entry of g is added exactly once.
    """
    extra = g.ndim - len(shape)
    inserted = tuple(range(extra))  #? Where does NumPy insert the axes that are missing?
    inner = g.sum(inserted)  #? Each place where a number is used counts, once.
    #! inner = g[(0,) * extra]  | one row of a sum over rows
    #! inner = g.max(inserted, initial=-np.inf)  | the largest of the terms along the inserted axes
    #= inner = np.add.reduce(g, inserted)
    stretched = tuple(k for k, n in enumerate(shape) if n == 1)
    return inner.sum(stretched, keepdims=True)  #? What is left of an axis of length 1?
    #! return inner.max(stretched, keepdims=True, initial=-np.inf)  | the largest of the terms along the axes of length 1
    #! return inner[tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]  | the first term along the axes of length 1
    #! return g[(0,) * extra][tuple(slice(0, 1) if n == 1 else slice(None) for n in shape)]  | the first of the terms, not their sum
    #! return g.max(inserted, initial=-np.inf).max(stretched, keepdims=True, initial=-np.inf)  | the largest of the terms, not their sum


def multiply(a, b):
    """Return y = a * b with broadcasting; backward(g) returns (da, db)."""
    y = np.asarray(a * b)

    def backward(g):
        da = unbroadcast(g * b, a.shape)  #? Which factor remains in dy/da? It differs between the places.
        #! da = unbroadcast(g, a.shape) * b  | g, summed before it is multiplied
        #! da = unbroadcast(0 * g + b, a.shape)  | the sum of the other factor, without g
        #! da = g * b  | the product, which is not summed
        db = unbroadcast(g * a, b.shape)  #? Which factor remains in dy/db? It differs between the places.
        #! db = unbroadcast(g, b.shape) * a  | g, summed before it is multiplied
        #! db = unbroadcast(0 * g + a, b.shape)  | the sum of the other factor, without g
        #! db = g * a  | the product, which is not summed
        return da, db

    return y, backward


def windows(x, n):
    """Return all windows of n neighbours; backward(g) returns dx.

    y[i, k] = x[i + k]        x (S,)  ->  y (S - n + 1, n)
    """
    y = np.array([x[i : i + n] for i in range(len(x) - n + 1)])

    def backward(g):
        dx = np.zeros(len(x))
        for i in range(len(g)):  #? Which windows are there?
            #! for i in range(len(g) - 1):  | the sum without the last window
            #! for i in range(1, len(g)):  | the sum without the first window
            dx[i : i + n] += g[i]  #? A number stands in several windows. Does each count?
            #! dx[i : i + n] = np.where(dx[i : i + n] == 0, g[i], dx[i : i + n])  | the gradient of the first window of each number
            #! dx[i] += g[i, 0]  | the gradient of the first place of each window
            #! dx[i] += g[i].sum()  | the sum of each window, in its first place
            #! dx[i : i + n] += g[i, ::-1]  | the sum, with each window reversed
            #! dx[i : i + n] += g[i] * x[i : i + n]  | the sum, times the input itself
            #! dx[i : i + n - 1] += g[i, :-1]  | the sum without the last place of each window
            #! dx[i + 1 : i + n] += g[i, 1:]  | the sum without the first place of each window
        return dx  #? Is the gradient a sum over the windows, or an average?
        #! return dx / np.convolve(np.ones(len(g)), np.ones(n))  | the sum, divided by the number of windows of each number

    return y, backward


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def shapes(my, rng):
    """inserted axes, axes of length 1, both, and squares"""
    g = rng.normal(size=(3, 5, 7))
    for shape in ((5, 7), (7,), (1,), (), (5, 1), (1, 7), (3, 1, 7), (3, 1, 1), (1, 5, 1)):
        my.unbroadcast(g, shape)
    my.unbroadcast(g, g.shape)
    for shape in ((5,), (5, 1), (1, 5)):  # a square does not show the alignment
        my.unbroadcast(rng.normal(size=(5, 5)), shape)


def products(my, rng):
    """products with four kinds of broadcast"""
    kinds = ((3, 1, 7), (5, 1)), ((5, 7), (5, 7)), ((7,), (3, 5, 1)), ((), (3, 5))
    for of_a, of_b in kinds:
        my.multiply(rng.normal(size=of_a), np.array(rng.normal(size=of_b)))


def of_windows(my, rng):
    """windows, in which a number stands several times"""
    for S, n in ((11, 3), (7, 7), (5, 1), (7, 4)):
        my.near(0).windows(rng.normal(size=S), n)  # 12 digits; differences have 11


def empty(my, rng):
    """an empty array"""
    my.unbroadcast(np.zeros((0, 5)), (5,))
    my.unbroadcast(np.zeros((3, 0)), (3, 0))


HINTS = """
unbroadcast  Which axes of g does the array not have, or have with length 1? Sum over
   all of these.
multiply  The gradient of a factor is g times the other factor; then undo the broadcast.
windows  An entry that is in several windows receives the sum of their gradients.
1  A broadcast does two things: it inserts axes in front, and it repeats axes of length
   1. Undo them one after the other.
2  A sum over an inserted axis removes it. A sum over an axis of length 1 needs
   keepdims=True, so that the axis stays.
3  g.ndim - len(shape) axes were inserted: sum over that many first axes. Then sum over
   each axis k with shape[k] == 1 and keep it. In multiply, multiply by the other factor
   before the sum: the gradient of a is g * b, unbroadcast.
"""
WHY = """A number that is used in several places receives the sum of the gradients of these
places. A broadcast repeats numbers along the inserted axes and the axes of length 1, so
these axes are summed, after the multiplication by the other factor."""
