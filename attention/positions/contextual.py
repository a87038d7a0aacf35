"""Contextual positions (CoPE): a position counts what the query takes for a unit.

    g_ij = sigmoid(q_i . k_j / sqrt(D))          whether token j counts
    p_ij = min(sum of g_it over t from j to i, n - 1)
    s_ij = q_i . k_j / sqrt(D) + q_i . e[p_ij]   e (n, D) learned

p_ij is the number of tokens that count between j and i, so a query can prefer the third
sentence before, if its gates are 1 at full stops. With gates of 1 this is a relative
position. p_ij is no whole number: e is interpolated between its two nearest rows, and so
are the products z_ip = q_i . e_p, which are computed once for each query.

The gates use the scaled products here. Golovneva et al. 2024.
"""

import numpy as np

from minigrad import cumsum, flip, matmul, minimum, nn, sigmoid, swapaxes, where
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..scores import scaled_dot
from .scheme import Position, Scores


@shapes
def cope_scores(queries, keys, table, first=0):
    """Return the scores with contextual positions; those of later keys have none.

    queries (..., L, D), keys (..., S, D), table (n, D)  ->  scores (..., L, S)

    table   e, the rows of the positions 0 to n - 1
    first   the position of the first query
    """
    L, S, n = queries.shape[-2], keys.shape[-2], len(table)
    whole("cope_scores", "first", first, least=None)
    content = scaled_dot.unchecked(queries, keys)
    earlier = np.arange(S) <= np.arange(L)[:, None] + first  # (L, S): j <= i
    gates = where(earlier, sigmoid(content), 0.0)
    p = minimum(flip(cumsum(flip(gates, -1), -1), -1), n - 1.0)  # sum from j on
    low = np.floor(p.data).astype(np.intp)  # the row below, and the share of the next
    share = p - low.astype(p.dtype)
    z = matmul(queries, swapaxes(table, -1, -2))  # (..., L, n)
    at = np.indices(low.shape, sparse=True)[:-1]  # all axes but the last
    z_low, z_high = z[(*at, low)], z[(*at, np.minimum(low + 1, n - 1))]
    return content + where(earlier, z_low + share * (z_high - z_low), 0.0)


class Cope(Scores):
    """One table of ``max_distance`` contextual positions for all heads and layers."""

    def __init__(self, config, causal, rng):
        shape = config.max_distance, config.head_size
        self.table = nn.Parameter(np.zeros(shape, np.float32))

    def scores(self, attention, q, k, first):
        """Return the ``Scores`` with q_i . e[p_ij] added."""
        return cope_scores(q, k, self.table, first)


ROWS = [
    Position(
        "cope", Cope, definitions.cope,
        """score: + q_i . e[p], p the sum of learned gates of the tokens between j
        and i
        can prefer the third sentence before, of any length, if gates find its end
        cannot be computed in tiles: p needs all keys between j and i
        lesson 11: reading beyond the trained length; Golovneva et al. 2024""",
        "L*E + L*S*E + L*64*E + L*S",
        "e (64, E)",
    ),
]  # fmt: skip
