"""Biases and scores by the offset j - i: a number for each offset, not for each pair.

The offsets of L queries and S keys run from -(L - 1), the last query and the first key,
to S - 1, the first query and the last key. A bias b_ij = f(j - i) is kept as the row

    v = [f(-(L - 1)), ..., f(0), ..., f(S - 1)],    so that  b_ij = v[j - i + L - 1].

``OffsetBias`` holds v. Tiled attention reads v; ``toeplitz`` writes it out as a matrix.
If the value is a product of the query with a vector of the offset, each query has its
own row of values, which ``products_by_offset`` writes out.
"""

import numpy as np

from minigrad import concat, differentiable, expand, matmul, reshape, swapaxes
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


def products_by_offset(queries, table, S, first):
    """Multiply each query by the vector of each key's offset, or of the nearest offset.

        y_ij = q_i . t_c,    c = clip(j - i - first, 0, n - 1)

    queries (..., L, D), table (..., n, D)  ->  y (..., L, S)

    The table has the vectors of the offsets first, ..., first + n - 1. A query is
    multiplied once by each of them that occurs, and not by a vector for each key.
    """
    L, n = queries.shape[-2], table.shape[-2]
    begin, end = 1 - L - first, S - first  # the rows of all offsets, if there were more
    m = max(end - begin, 0)
    table = table[..., min(max(begin, 0), n - 1) : max(end, 1), :]
    x = matmul(queries, swapaxes(table, -1, -2))
    before, after = (min(max(k, 0), m) for k in (-begin, end - n))
    if before or after:  # the products of the nearest offset are copied
        low, high = (
            expand(edge, (*x.shape[:-1], k))
            for edge, k in ((x[..., :1], before), (x[..., -1:], after))
        )
        x = concat([low, x[..., : m - before - after], high], -1)
    return _shifted(x[..., :m], S)


def _shifted(x, S):
    """Return y_ij = x_{i, j - i + L - 1}: x (..., L, L + S - 1)  ->  y (..., L, S).

    Row i of y begins one number earlier in its row of x than row i - 1 does: if the
    rows of x are read as one, the rows of y begin at equal distances. (This is the
    "shift trick" of Transformer-XL.)
    """
    *leading, L, m = x.shape
    if L < 2:
        return reshape(x, (*leading, L, S))
    flat = reshape(x, (*leading, L * m))[..., L - 1 : L * m - 1]
    return reshape(flat, (*leading, L, m - 1))[..., :S]


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
