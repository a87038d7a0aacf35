"""Shaw's relative positions: a learned vector for each distance of query and key.

    s_ij = q_i . (k_j + a^K_d) / sqrt(D),    d = clip(j - i, -c, c), the distance

a^K is a learned table with 2c + 1 rows, for the distances -c to c. Keys farther away
use the first or the last row, so a model can also use distances that do not occur in
training. The code does not build a vector for each pair, which would be an array
(L, S, D). It computes instead:

    q_i . k_j + q_i . a^K_d                 L S D + (2c + 1) L D multiplications

In the paper the heads of a layer share the table, c is called k, and k = 16. It adds
such vectors to the values too. Shaw et al. 2018, equations 4 and 5.
"""

import math

import numpy as np

from minigrad import matmul, nn, swapaxes
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from .offsets import products_by_offset
from .scheme import Position, Scores


@shapes
def shaw_scores(queries, keys, relative_keys, first=0):
    """s_ij = q_i . (k_j + a^K_d) / sqrt(D),  d = clip(j - i, -c, c)

    queries (..., L, D), keys (..., S, D), relative_keys (..., 2c + 1, D)
        ->  scores (..., L, S)

    relative_keys  a^K, its rows for j - i = -c, ..., c
    first          the position of the first query. S - L: the last query has the
                   position of the last key

    All heads share one table; a table (H, 2c + 1, D) has one for each head. These two
    calls give the same result:

        attend(q, k, v, lambda q, k: shaw_scores(q, k, a_K))
        scaled_dot_product_attention(
            q, k, v, score=lambda q, k: shaw_scores(q, k, a_K)
        )

    With G = dL/ds / sqrt(D), let N_id be the sum of G_ij over all keys j at distance d.
    Then dQ = G K + N a^K, dK = G^T Q and da^K = N^T Q, where N is (L, 2c + 1).
    """
    S, D = keys.shape[-2], queries.shape[-1]
    n = relative_keys.shape[-2]
    if n % 2 == 0:
        raise ValueError(
            f"shaw_scores: the table has {n} rows; expected 2c + 1, for distances -c "
            "to c."
        )
    first = whole("shaw_scores", "first", first, least=None) - n // 2
    content = matmul(queries, swapaxes(keys, -1, -2))  # (..., L, S)
    position = products_by_offset(queries, relative_keys, S, first)  # (..., L, S)
    return (content + position) * (1 / math.sqrt(max(D, 1)))


class Shaw(Scores):
    """One table for all heads, as in the paper, and for all layers.

    The paper adds such a table to the values as well. It is left out, because it would
    need the weights inside the attention; the authors found translations equally good
    without it (Shaw et al. 2018, section 4.3).
    """

    def __init__(self, config, causal, rng):
        shape = 2 * config.max_distance + 1, config.head_size
        table = nn.Parameter(np.empty(shape, np.float32))
        self.table = nn.init.xavier_uniform_(table, rng=rng)

    def scores(self, attention, q, k, first):
        """Return the ``Scores`` with q_i . a_r added."""
        return shaw_scores(q, k, self.table, first=first)


ROWS = [
    Position(
        "shaw", Shaw, definitions.shaw,
        """score: + q_i . a[j - i], a learned vector for each near distance
        can let the query decide which near distances it prefers
        cannot distinguish distances beyond the last vector
        lesson 11: reading beyond the trained length; Shaw et al. 2018""",
        "L*S*E",
        "a (5, E)",
    ),
]  # fmt: skip
