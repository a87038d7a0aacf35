"""Masks for images: tokens in rows and columns, one row after the other.

    token i stands in row i // columns and column i % columns

Axial attention reads the own row and the own column, so two layers connect any two
tokens, and a query of n tokens has some 2 sqrt(n) keys. A neighbourhood is a window in
two dimensions.

Ho et al. 2019 (axial); Parmar et al. 2018 (neighbourhoods).
"""

import numpy as np

from minigrad.arguments import whole

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
