"""DeBERTa's disentangled score: contents and positions are compared separately.

    s_ij = (q_i . k_j  +  q_i . K_r[d(i, j)]  +  k_j . Q_r[d(j, i)]) / sqrt(3 D)
    d(i, j) = clip(i - j + c, 0, 2c - 1)

q_i and k_j are projections of the content, without positions. A table P of 2c relative
positions, for the distances -c to c - 1, is projected twice, to K_r = P W_kr and to
Q_r = P W_qr; the caller does this. In the paper, c is k. The second term compares the
query's content with the key's position; the third compares the key's content with the
query's position relative to the key, d(j, i). A fourth term, position with position,
would not depend on the tokens and is left out. Each of the three terms has variance D,
their sum has 3 D.

The cost is L S D + 2c (L + S) D multiplications: a query is multiplied by 2c positions
and not by S. Distances i - j of c - 1 and more share one row, and so do distances of -c
and less. He et al. 2021, equations 3 and 4, with the paper's d(j, i). The published
weights were trained with d(i, j) in the third term, too, and need that.
"""

import math

import numpy as np

from minigrad import flip, matmul, nn, reshape, swapaxes
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from .offsets import products_by_offset
from .scheme import Position, Scores


@shapes
def disentangled_scores(queries, keys, relative_queries, relative_keys, first=0):
    """s_ij = (q_i . k_j + q_i . K_r[d(i, j)] + k_j . Q_r[d(j, i)]) / sqrt(3 D)

    queries (..., L, D), keys (..., S, D), relative_queries (..., N, D),
    relative_keys (..., N, D)  ->  scores (..., L, S)

    N = 2c   rows of the tables, for the distances -c to c - 1
    first    the position of the first query

    Let G = dL/ds / sqrt(3 D), G_r (L, 2c) the sums of the G_ij of one distance d(i, j),
    and H_r (S, 2c) the sums of the G_ij of one distance d(j, i):

        dQ = G K + G_r K_r,      dK_r = G_r^T Q
        dK = G^T Q + H_r Q_r,    dQ_r = H_r^T K
    """
    name = "disentangled_scores"
    L, S, D = queries.shape[-2], keys.shape[-2], queries.shape[-1]
    N = relative_keys.shape[-2]
    if N % 2 or N == 0:
        raise ValueError(
            f"{name}: the tables have {N} rows; expected 2c, for the distances -c to "
            "c - 1."
        )
    first, c = whole(name, "first", first, least=None), N // 2
    content = matmul(queries, swapaxes(keys, -1, -2))  # (..., L, S)
    # d(i, j) falls with j, and d(j, i) with i: the last rows of a table come first
    K_r, Q_r = (flip(x, -2) for x in (relative_keys, relative_queries))
    of_keys = products_by_offset(queries, K_r, S, first + 1 - c)  # (..., L, S)
    of_queries = products_by_offset(keys, Q_r, L, 1 - c - first)  # (..., S, L)
    scores = content + of_keys + swapaxes(of_queries, -1, -2)
    return scores * (1 / math.sqrt(max(3 * D, 1)))


class Disentangled(Scores):
    """DeBERTa's score.

    Each layer projects the table of distances by its own W_q and W_k, as in the
    authors' largest model (He et al. 2021, section 5.3). Their first models have two
    more matrices for it, W_qr and W_kr.
    """

    def __init__(self, config, causal, rng):
        table = np.empty((2 * config.max_distance, config.width), np.float32)
        self.table = nn.init.normal_(nn.Parameter(table), rng=rng)

    def scores(self, attention, q, k, first):
        """Return the ``Scores`` with the table projected by this layer."""
        (_, Hk, G, _, E), n = q.shape, len(self.table)
        q_r = swapaxes(reshape(attention.W_q(self.table), (n, Hk * G, E)), 0, 1)
        k_r = swapaxes(reshape(attention.W_k(self.table), (n, Hk, E)), 0, 1)
        q_r, k_r = reshape(q_r, (Hk, G, n, E)), reshape(k_r, (Hk, 1, n, E))
        return disentangled_scores(q, k, q_r, k_r, first=first)


ROWS = [
    Position(
        "disentangled", Disentangled, definitions.disentangled,
        """score: + q_i . K_r[i - j] + k_j . Q_r[j - i], with tables of near
        distances
        can let query and key each decide which distances they prefer
        cannot distinguish distances beyond the tables
        lesson 11: reading beyond the trained length; He et al. 2021""",
        "3*L*S*E",
        "Q_r (6, E), K_r (6, E)",
    ),
]  # fmt: skip
