"""Biases and scores by the offset j - i: a number for each offset, not for each pair.

The offsets of L queries and S keys run from -(L - 1), the last query and the first key,
to S - 1, the first query and the last key. A bias b_ij = f(j - i) is kept as the row

    v = [f(-(L - 1)), ..., f(0), ..., f(S - 1)],    so that  b_ij = v[j - i + L - 1].

``OffsetBias`` holds v. Tiled attention reads v; ``toeplitz`` writes it out as a matrix.
If the value also depends on the query, each query has its own row of values:
``from_offsets`` writes these out as a matrix, and ``sum_offsets`` is its transpose.
"""

import numpy as np

from minigrad import differentiable
from minigrad.arguments import whole
from minigrad.shapes import shapes



class OffsetBias:
    """A bias of the scores that depends on j - i: b_ij = values[h, j - i + L - 1]."""

    @shapes
    def __init__(self, values):
        """Keep one value for each head, or for all heads, and each offset.

        values (H | 1, n)  ->  ``OffsetBias``

        n = L + S - 1, for L queries and S keys.
        """
        self.values = values

    def __repr__(self):
        return f"OffsetBias of values {self.values.shape}; .matrix(L, S) is the array"

    def matrix(self, L, S):
        """Return the bias as a matrix for each head: (H | 1, L, S)."""
        return toeplitz(self.values, L, S)


@shapes
@differentiable
def toeplitz(v, L, S):
    """Write out a matrix whose entries depend only on j - i: b_ij = v_{j - i + L - 1}.

    v (..., L + S - 1)  ->  b (..., L, S)

    Row i of b is v[L - 1 - i : L - 1 - i + S]. dL/dv_n is the sum of g over the
    diagonal j - i = n - (L - 1): each row of g is added to the same part of dv.
    """
    _check_sizes("toeplitz", L, S)
    b = np.empty((*v.shape[:-1], L, S), v.dtype)
    for i in range(L):
        b[..., i, :] = v[..., L - 1 - i : L - 1 - i + S]

    def backward(g):
        dv = np.zeros(v.shape, g.dtype)
        for i in range(L):  # summed over i: an offset occurs in many rows
            dv[..., L - 1 - i : L - 1 - i + S] += g[..., i, :]
        return dv

    return b, backward


@shapes
@differentiable
def from_offsets(x, S, first):
    """Take for each query and key the value of their offset, or of the nearest offset.

        y_ij = x_{i, c},    c = clip(j - i - first, 0, n - 1)

    x (..., L, n)  ->  y (..., L, S)

    x_i holds the values of query i for the offsets first, ..., first + n - 1. Row i of
    y is a part of row i of x, between copies of the first and of the last value. So no
    array larger than x and y is needed. (The "shift trick" of Transformer-XL computes
    the same by padding and reshaping, if x has a value for every offset.)

    dL/dx_ic is the sum of the g_ij with y_ij = x_ic: ``sum_offsets`` of g.
    """
    whole("from_offsets", "S", S)
    whole("from_offsets", "first", first, least=None)
    n = x.shape[-1]
    y = np.empty((*x.shape[:-1], S), x.dtype)
    if n < 1 and y.size:
        raise ValueError(f"from_offsets: there are {n} offsets; expected 1 or more.")
    for i, begin, end, c in _pieces(x.shape[-2], S, n, first):
        y[..., i, :begin] = x[..., i, :1]
        y[..., i, begin:end] = x[..., i, c : c + end - begin]
        y[..., i, end:] = x[..., i, n - 1 :]

    def backward(g):
        return sum_offsets(g, n, first)

    return y, backward


def sum_offsets(p, n, first):
    """Sum the numbers of each query by offset: the transpose of ``from_offsets``.

        y_ic = sum of p_ij over the j with clip(j - i - first, 0, n - 1) = c

    p (..., L, S), y (..., L, n). Column c of y belongs to the offset first + c; the
    first and the last column include all offsets beyond theirs.
    """
    y = np.zeros((*p.shape[:-1], n), p.dtype)
    for i, begin, end, c in _pieces(*p.shape[-2:], n, first):
        y[..., i, :1] += p[..., i, :begin].sum(-1, keepdims=True)
        y[..., i, c : c + end - begin] += p[..., i, begin:end]
        y[..., i, n - 1 :] += p[..., i, end:].sum(-1, keepdims=True)
    return y


def offsets(name, L, S, first):
    """Return all distances from a query's position to a key: (L + S - 1,) integers.

    first   the position of query 0, where key 0 has position 0. It is S - L if the keys
            of earlier steps are in a cache: the last query has that of the last key
    """
    _check_sizes(name, L, S)
    return np.arange(-(L - 1), S) - whole(name, "first", first, least=None)


def relative_positions(name, L, S, first):
    """Return the distance from each query's position to each key: (L, S) integers."""
    _check_sizes(name, L, S)
    first = whole(name, "first", first, least=None)
    return np.arange(S) - (np.arange(L)[:, None] + first)


def _check_sizes(name, L, S):
    whole(name, "L, the number of queries,", L)
    whole(name, "S, the number of keys,", S)


def _pieces(L, S, n, first):
    """Yield i, begin, end, c for each query i.

    The keys begin, ..., end - 1 have the offsets of the columns c, c + 1, .... Earlier
    keys have smaller offsets than the first column, later keys larger than the last.
    """
    for i in range(L):
        begin = min(max(i + first, 0), S)
        end = min(max(i + first + n, 0), S)
        yield i, begin, end, max(begin - i - first, 0)
