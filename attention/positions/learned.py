"""Learned positions: one row of a table for each position, as for each word.

    X[p] = E[token at p] + P[p]

P has n_max rows of d numbers. The gradient of P[p] is the sum of dX[p] over the batch.
A position that does not occur in training keeps its random row, and a position beyond
the table has no row. So learned positions do not extrapolate.

Gehring et al. 2017, section 3.1; BERT and GPT-2.
"""

import numpy as np

from minigrad import embedding, nn
from minigrad.arguments import whole

from .. import definitions
from .scheme import Position, Scheme
from .sinusoidal import as_positions


class LearnedPositions(nn.Module):
    """Return rows of a learned table: a length n, or positions, in; vectors out.

    n  ->  (n, d), the rows of the positions 0 to n - 1;  positions (...)  ->  (..., d)

    weight   (n_max, d), drawn from N(0, 0.02^2) as in BERT and GPT-2
    rng      the generator of the weight; None uses minigrad's generator
    """

    def __init__(self, n_max, d, rng=None):
        self.n_max = n_max = whole("LearnedPositions", "n_max", n_max, least=1)
        self.d = d = whole("LearnedPositions", "d", d, least=1)
        self.weight = nn.Parameter(np.empty((n_max, d), np.float32))
        nn.init.normal_(self.weight, std=0.02, rng=rng)

    def forward(self, n):
        """Return the rows of 0 to n - 1, or of an array n of positions."""
        positions = as_positions(repr(self), n)
        if positions.dtype.kind == "f" and positions.size:
            raise TypeError(
                f"{self!r}: positions are {positions.dtype}; expected integers, as "
                "there is no row between two rows."
            )
        outside = positions[(positions < 0) | (positions >= self.n_max)]
        if outside.size:
            raise IndexError(
                f"{self!r}: there is no row for position {outside[0]}; positions are "
                f"0 to {self.n_max - 1}. Learned positions do not extrapolate: raise "
                "n_max, or use sinusoidal, rope or ALiBi."
            )
        return embedding(positions.astype(np.intp), self.weight)

    def extra_repr(self):
        return f"{self.n_max}, {self.d}"


class Learned(Scheme):
    """Add a learned row for each position to the embeddings."""

    changes = "input"
    bounded = True

    def __init__(self, config, causal, rng):
        self.table = LearnedPositions(config.max_length, config.width, rng)

    def embed(self, x, positions):
        """Return x + P[positions]; the shapes are those of ``Scheme.embed``."""
        return x + self.table(positions)

    def extend(self, length):
        """Raise IndexError if the table has fewer rows."""
        self.table(np.array([length - 1]))


ROWS = [
    Position(
        "learned", Learned, definitions.learned,
        """source: a learned row for each place is added to the embeddings
        can learn what is special about single places, such as the first
        cannot read a text that is longer than its table
        lesson 11: reading beyond the trained length; Gehring et al. 2017""",
    ),
]  # fmt: skip
