"""Masks for images: tokens in rows and columns, one row after the other.

    token i stands in row i // columns and column i % columns

In axial attention a query reads its own row and its own column. So two layers connect
any two tokens, and each of n queries has about 2 sqrt(n) keys. A neighbourhood is a
window in two dimensions.

Ho et al. 2019 (axial); Parmar et al. 2018 (neighbourhoods).
"""

import numpy as np

from minigrad.arguments import whole

from ..variants.row import Pattern
from .algebra import Mask


class axial(Mask):
    """The keys in the row and in the column of the query.

    columns   the number of tokens of a row
    """

    def __init__(self, columns):
        self.columns = whole("axial", "columns", columns, least=1)

    def allowed(self, b, h, q, kv):
        """Return whether query and key share a row or a column."""
        columns = self.columns
        return (q // columns == kv // columns) | (q % columns == kv % columns)

    def __repr__(self):
        return f"axial({self.columns})"


class neighbourhood(Mask):
    """The keys that are at most ``reach`` rows and ``reach`` columns away.

    columns   the number of tokens of a row
    reach     a query has (2 reach + 1)^2 keys, fewer at the edges
    """

    def __init__(self, columns, reach):
        self.columns = whole("neighbourhood", "columns", columns, least=1)
        self.reach = whole("neighbourhood", "reach", reach)

    def allowed(self, b, h, q, kv):
        """Return whether the key is near the query in both directions."""
        rows = np.abs(q // self.columns - kv // self.columns)
        columns = np.abs(q % self.columns - kv % self.columns)
        return np.maximum(rows, columns) <= self.reach

    def __repr__(self):
        return f"neighbourhood({self.columns}, {self.reach})"


def axial_pairs(L, S, columns):
    """Count the pairs of ``axial``: each query's row and column."""
    row, column = np.divmod(np.arange(L), columns)
    in_row = np.clip(S - row * columns, 0, columns)
    in_column = (S - column + columns - 1) // columns
    return int((in_row + in_column).sum()) - min(L, S)  # a token itself is in both


def neighbourhood_pairs(L, S, columns, reach):
    """Count the pairs of masks.neighbourhood, one row of keys after the other."""
    row, column = np.divmod(np.arange(L), columns)
    left, right = np.maximum(column - reach, 0), np.minimum(column + reach + 1, columns)
    pairs = 0
    for r in range(-reach, reach + 1):
        start = np.where(row + r < 0, S, (row + r) * columns)  # of the row of keys
        pairs += int((np.minimum(start + right, S) - np.minimum(start + left, S)).sum())
    return pairs


ROWS = [
    Pattern(
        "axial", axial,
        pairs=axial_pairs,
        options=dict(columns=1024),  # of a square image of a million places
        small=dict(columns=3),
        about="""mask: only the keys in the row and the column of the query
        can connect any two places of an image in two layers
        cannot compare two places that share no row and no column, in one layer
        lesson 19: how many layers connect all patches; Ho et al. 2019""",
    ),
    Pattern(
        "near-2d", neighbourhood,
        pairs=neighbourhood_pairs,
        options=dict(columns=16, reach=2),
        small=dict(columns=3, reach=1),
        about="""mask: only the keys near the query, in rows and in columns
        can read images of any size at a fixed cost for each place
        cannot move information further than the window in one layer
        lesson 19: how many layers connect all patches; Parmar et al. 2018""",
    ),
]  # fmt: skip
