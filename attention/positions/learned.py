"""Learned positions: a row of a table for each, as for words.

    X[p] = E[token at p] + P[p]

P has n_max rows of d numbers, and what P[p] receives as a gradient is the sum of dX[p]
over the batch. A position that no training sequence reached keeps its random row, and
one beyond the table has none: nothing can be said about it.

Gehring et al. 2017, section 3.1; BERT and GPT-2.
"""

import numpy as np

from minigrad import embedding, nn

from ..checks import whole
from .sinusoidal import as_positions


class LearnedPositions(nn.Module):
    """n  ->  (n, d), the rows of positions 0 to n - 1;  positions (...)  ->  (..., d).

    weight   (n_max, d), drawn from N(0, 0.02^2) as in BERT and GPT-2
    rng      draws it; None takes minigrad's own generator

    Raises IndexError for a position outside the table, TypeError for one that is not
    an integer.
    """

    def __init__(self, n_max, d, rng=None):
        self.n_max = n_max = whole("LearnedPositions", "n_max", n_max, least=1)
        self.d = d = whole("LearnedPositions", "d", d, least=1)
        self.weight = nn.Parameter(np.empty((n_max, d), np.float32))
        nn.init.normal_(self.weight, std=0.02, rng=rng)

    def forward(self, n):
        positions = as_positions(repr(self), n)
        if positions.dtype.kind == "f" and positions.size:
            raise TypeError(
                f"{self!r}: positions are {positions.dtype}; expected integers, as "
                "there is no row between two rows."
            )
        if (positions < 0).any():
            raise IndexError(
                f"{self!r}: there is no row for position {positions.min()}; positions "
                f"count from 0, the first row, to {self.n_max - 1}."
            )
        outside = positions[positions >= self.n_max]
        if outside.size:
            raise IndexError(
                f"{self!r}: there is no row for position {outside.max()}; the table "
                f"ends at {self.n_max - 1}. Learned positions do not extrapolate: "
                "raise n_max, or take sinusoidal, rope or ALiBi."
            )
        return embedding(positions.astype(np.intp), self.weight)

    def extra_repr(self):
        return f"{self.n_max}, {self.d}"
