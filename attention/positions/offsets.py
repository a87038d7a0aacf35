"""What depends on j - i alone: one value for each offset, L + S - 1 of them.

The offsets of L queries and S keys run from -(L - 1), the last query and the first key,
to S - 1, the first query and the last key. A bias b_ij = v(j - i) is kept as the row

    v = [v(-(L - 1)), ..., v(0), ..., v(S - 1)],    so that  b_ij = v[j - i + L - 1],

which a tiled kernel reads as it goes; ``toeplitz`` lays it out as a matrix. Where what
an offset is worth depends on the query too, each query has a row of its own, for n
offsets: ``from_offsets`` lays these out, and ``sum_offsets`` goes the other way.
"""

import numpy as np

from minigrad import differentiable

ALIGNMENTS = ("upper_left", "lower_right")


@differentiable
def toeplitz(v, L, S):
    """The matrices whose entries depend on j - i alone: b_ij = v_{j - i + L - 1}.

    v (..., L + S - 1)  ->  b (..., L, S): row i is S values of v, from L - 1 - i on

    dL/dv_o is the sum of g over the diagonal j - i = o - (L - 1): each row of g is
    added where it was taken.
    Raises ValueError when v has not L + S - 1 values.
    """
    v = np.asarray(v)
    if v.ndim < 1 or v.shape[-1] != max(L + S - 1, 0):
        raise ValueError(
            f"toeplitz: v has shape {v.shape}; expected (..., {max(L + S - 1, 0)}), "
            f"one value for each offset of {L} queries and {S} keys."
        )
    b = np.empty((*v.shape[:-1], L, S), v.dtype)
    for i in range(L):
        b[..., i, :] = v[..., L - 1 - i : L - 1 - i + S]

    def backward(g):
        dv = np.zeros(v.shape, g.dtype)
        for i in range(L):  # summed over i: an offset stands in one row after the other
            dv[..., L - 1 - i : L - 1 - i + S] += g[..., i, :]
        return dv

    return b, backward


@differentiable
def from_offsets(x, S, first):
    """Pick for each query and key the value of their offset, or of the nearest.

        y_ij = x_{i, c},    c = clip(j - i - first, 0, n - 1)

    x (..., L, n), of each query a value for each of the offsets first, ...,
    first + n - 1  ->  y (..., L, S)

    Nothing but x and y is ever made: row i of y is a piece of row i of x, and on either
    side of it the outermost value. (Transformer-XL's "shift trick" is this, by padding
    and reshaping, for a table that no offset lies outside of.)

    dL/dx_ic is the sum of the g_ij that picked it: ``sum_offsets`` of g.
    Raises ValueError when there is no offset to pick from.
    """
    x = np.asarray(x)
    L, n = _sizes("from_offsets", "x", x, "n")
    _check_offsets("from_offsets", L, S, n)
    y = np.empty((*x.shape[:-1], S), x.dtype)
    for i, begin, end, c in _pieces(L, S, n, first):
        y[..., i, :begin] = x[..., i, :1]
        y[..., i, begin:end] = x[..., i, c : c + end - begin]
        y[..., i, end:] = x[..., i, n - 1 :]

    def backward(g):
        return sum_offsets.raw(g, n, first)[0]

    return y, backward


@differentiable
def sum_offsets(p, n, first):
    """Sum over the keys of each offset; the outermost take what lies beyond them.

        y_ic = sum of p_ij over the j with clip(j - i - first, 0, n - 1) = c

    p (..., L, S)  ->  y (..., L, n), for the offsets first, ..., first + n - 1

    The transpose of ``from_offsets``, which is therefore the backward: dL/dp_ij = g_ic.
    Raises ValueError when there is no offset to sum for.
    """
    p = np.asarray(p)
    L, S = _sizes("sum_offsets", "p", p, "S")
    _check_offsets("sum_offsets", L, S, n)
    y = np.zeros((*p.shape[:-1], n), p.dtype)
    for i, begin, end, c in _pieces(L, S, n, first):
        y[..., i, :1] += p[..., i, :begin].sum(-1, keepdims=True)
        y[..., i, c : c + end - begin] += p[..., i, begin:end]
        y[..., i, n - 1 :] += p[..., i, end:].sum(-1, keepdims=True)

    def backward(g):
        return from_offsets.raw(g, S, first)[0]

    return y, backward


def offsets(name, L, S, causal_align):
    """j - i for each offset, in order: (L + S - 1,) integers.

    causal_align   which query stands where key 0 does: "upper_left", the first; or
                   "lower_right", where the *last* query stands beside the last key, as
                   when keys of earlier steps are cached. Then query i is at i + S - L.
    """
    return np.arange(-(L - 1), S) - first_query(name, L, S, causal_align)


def relative_positions(name, L, S, causal_align):
    """j - i for each query and key: (L, S) integers."""
    shift = first_query(name, L, S, causal_align)
    return np.arange(S) - (np.arange(L)[:, None] + shift)


def first_query(name, L, S, causal_align):
    """The position of query 0, where key 0 is at 0: query i is at i + first_query."""
    for letter, n in ("L", L), ("S", S):
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ValueError(
                f"{name}: {letter} is {n!r}; expected a number of "
                f"{'queries' if letter == 'L' else 'keys'}, an integer of 0 or more."
            )
    if causal_align not in ALIGNMENTS:
        raise ValueError(
            f"{name}: causal_align is {causal_align!r}; expected "
            f"{' or '.join(map(repr, ALIGNMENTS))}."
        )
    return 0 if causal_align == "upper_left" else S - L


def _pieces(L, S, n, first):
    """Of each query i the keys begin, ..., end - 1, whose offsets begin at column c."""
    for i in range(L):
        begin = min(max(i + first, 0), S)  # keys before it lie before all offsets
        end = min(max(i + first + n, 0), S)
        yield i, begin, end, max(begin - i - first, 0)


def _sizes(name, argument, x, letter):
    if x.ndim < 2:
        raise ValueError(
            f"{name}: {argument} has shape {x.shape}; expected (..., L, {letter})."
        )
    return x.shape[-2:]


def _check_offsets(name, L, S, n):
    if n < 1 and L * S:
        raise ValueError(
            f"{name}: {n} offsets for {L} queries and {S} keys; expected 1 or more."
        )
