"""Compute one tile of the scores: 64 keys, its rows, by 64 queries, its columns.

    s[k, q] = scale Q[q] . K[k] + a bias of k - q + added[q, k],  -inf where masked

Queries lie along a row, so every loop of the softmax runs over 64 numbers side by side,
and no sum or maximum is taken inside a vector register. A block of queries is
transposed and scaled once (``pack``), for all its tiles.
"""

from typing import NamedTuple

import numpy as np

from .compiling import Helper, as_field, reads, writes
from .dropout import Draws
from .tile_plan import SIZE, Plan


class Terms(NamedTuple):
    """What turns the products q . k into scores. A table without rows adds nothing.

    offset   (rows, L + S - 1 + 64): the bias of the offset k - q is in column
             q - k + S - 1. In this order the kernel reads it along the queries. The
             last 64 columns are padding
    added    (rows, L | 1, S): a float mask or a bias
    """

    scale: float
    offset: reads(2)
    offset_of: reads(1, int)  # (N,): the row of each head
    added: reads(3)
    added_of: reads(1, int)  # (N,)


class Inputs(NamedTuple):
    """The inputs of a kernel for N query heads. Head n uses key head n // G."""

    q: reads(3)  # (N, L, E)
    k: reads(3)  # (N / G, S, E)
    v: reads(3)  # (N / G, S, Ev)
    terms: Terms
    plan: Plan
    draws: Draws

    @classmethod
    def of(cls, q, k, v, terms, plan, draws):
        """Return the record of these arrays."""
        return cls(*(as_field(x, q.dtype) for x in (q, k, v)), terms, plan, draws)


class Results(NamedTuple):
    """What the forward returns. The backward needs all of it but lse.

    lse is row_max plus the logarithm of the sum. If row_max is large, rounding removes
    the digits of the logarithm. So the backward does not compute the weights from lse,
    but as p = exp(s - row_max) inv_sum.
    """

    o: writes(3)  # (N, L, Ev)
    lse: writes(2)  # (N, L)
    row_max: writes(2)  # (N, L): m_i = max_j s_ij, 0 for a query without keys
    inv_sum: writes(2)  # (N, L): 1 / sum_j exp(s_ij - m_i), 0 for a query without keys


@Helper
def pack(columns: writes(2), rows: reads(2), scale: float):
    """columns[:, r] = scale * rows[r]; columns past the last row r become 0."""
    n, width = rows.shape
    for r in range(n):
        for e in range(width):
            columns[e, r] = rows[r, e] * scale
    for e in range(width):
        for r in range(n, SIZE):
            columns[e, r] = 0


@Helper
def add_terms(
    s: writes(2), terms: Terms, n: int, q0: int, q1: int, k0: int, S: int
):
    """Add the tables of head n to s, the tile of queries q0 to q1 that begins at k0."""
    rows = s.shape[0]
    if terms.offset.shape[0] > 0:
        # the column of query q0 and the tile's last key
        begin = q0 - (k0 + rows - 1) + S - 1
        offset = terms.offset[terms.offset_of[n], begin:]
        for k in range(rows):
            for q in range(SIZE):
                s[k, q] += offset[rows - 1 - k + q]
    if terms.added.shape[0] > 0:
        added = terms.added[terms.added_of[n]]
        if added.shape[0] == 1:
            for k in range(rows):
                for q in range(SIZE):
                    s[k, q] += added[0, k0 + k]
        else:
            for q in range(q1 - q0):
                for k in range(rows):
                    s[k, q] += added[q0 + q, k0 + k]


@Helper
def read_ranges(plan, row, q0, q1, lo, hi):
    """Read the key ranges of queries q0 to q1; return the range that all of them share.

    In lo and hi, the entries past the last query keep earlier numbers.
    """
    shared_lo, shared_hi = 0, 2**31 - 1
    for q in range(q1 - q0):
        lo[q], hi[q] = plan.lo[row, q0 + q], plan.hi[row, q0 + q]
        shared_lo, shared_hi = max(shared_lo, lo[q]), min(shared_hi, hi[q])
    return shared_lo, shared_hi


@Helper
def mask(s, k0, shared_lo, shared_hi, lo, hi, table, bits):
    """Write -inf where a query may not attend; table: the number of its bits, or -1."""
    if k0 < shared_lo or k0 + s.shape[0] > shared_hi:
        mask_by_range(s, k0, lo, hi)
    if table >= 0:
        mask_by_bits(s, bits[table])


@Helper
def mask_by_range(s, k0, lo, hi):
    """Mask all keys but lo[q] <= key < hi[q]; row 0 of s is key k0."""
    minus_infinity = s.dtype.type(-np.inf)
    for k in range(s.shape[0]):
        key = np.int32(k0 + k)
        for q in range(SIZE):
            if key < lo[q] or key >= hi[q]:
                s[k, q] = minus_infinity


@Helper
def mask_by_bits(s, bits):
    """Mask the pairs of row k and query q where bit q of bits[k] is 0."""
    minus_infinity = s.dtype.type(-np.inf)
    for k in range(s.shape[0]):
        row = bits[k]
        for q in range(SIZE):
            if (row >> q) & 1 == 0:
                s[k, q] = minus_infinity
