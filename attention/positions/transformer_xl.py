"""Transformer-XL's relative score: each distance has a key of its own.

    s_ij = ((q_i + u) . k_j  +  (q_i + w) . R_{i-j}) / sqrt(D)

R has a row for each distance i - j: a sinusoidal or learned vector, multiplied by W_kR.
u and w are learned vectors of each head, named content_bias and position_bias. (In the
paper they are u and v; here v is a value.) There are four products:

    q_i . k_j        query and content     u . k_j        content alone
    q_i . R_{i-j}    query and distance    w . R_{i-j}    distance alone

The last product is one number for each distance, S_d = w . R_d. With it, the score is
often written as

    s_ij = ((q_i + u) . k_j  +  q_i . R_{i-j}  +  S_{i-j}) / sqrt(D)

The cost is L S D + (L + S - 1) L D multiplications: each query is multiplied by the
rows of all distances, and S of these products enter its scores. No array (L, S, D) is
needed. Relative positions are necessary in models that cache the keys of earlier
segments, because each absolute position occurs in every segment.

Dai et al. 2019, section 3.3 and appendix B.
"""

import math

import numpy as np

from minigrad import matmul, nn, reshape, swapaxes, unsqueeze
from minigrad.shapes import shapes

from .. import definitions
from .offsets import offsets, products_by_offset
from .scheme import Position, Scores
from .sinusoidal import sinusoidal


@shapes
def transformer_xl_scores(queries, keys, relative_keys, content_bias, position_bias):
    """s_ij = ((q_i + u) . k_j + (q_i + w) . R_{i-j}) / sqrt(D)

    queries (..., L, D), keys (..., S, D), relative_keys (..., L + S - 1, D),
    content_bias (..., D), position_bias (..., D)  ->  scores (..., L, S)

    relative_keys   R, a row for each distance i - j in the order of
                    ``transformer_xl_distances``, from the last query and the first key
                    to the first query and the last key
    content_bias    u, such as (H, D): added to the queries that are compared with keys
    position_bias   w: added to the queries that are compared with distances

    In this example, R is made of sinusoids. A learned table of the distances -n to n
    has the rows table[distances + n] instead. The last two lines give the same result.

        distances = transformer_xl_distances(L, S)
        R = linear(sinusoidal(distances, D_model), W_kR)  # (L + S - 1, D)
        score = lambda q, k: transformer_xl_scores(q, k, R, u, w)
        attend(q, k, v, score)
        scaled_dot_product_attention(q, k, v, score=score)

    With G = dL/ds / sqrt(D) and G_r (L, L + S - 1), where row i has G_ij in the column
    of j - i, and 0 elsewhere: dQ = G K + G_r R, dK = G^T (Q + u), dR = G_r^T (Q + w);
    du is the sum of G K, and dw of G_r R, over the queries.
    """
    L, S, D = queries.shape[-2], keys.shape[-2], queries.shape[-1]
    u, w = unsqueeze(content_bias, -2), unsqueeze(position_bias, -2)  # (..., 1, D)
    content = matmul(queries + u, swapaxes(keys, -1, -2))  # (..., L, S)
    # the first row of R is that of j - i = -(L - 1)
    position = products_by_offset(queries + w, relative_keys, S, 1 - L)
    return (content + position) * (1 / math.sqrt(max(D, 1)))


def transformer_xl_distances(L, S, first=0):
    """Return i - j for each row of R: (L + S - 1,) integers, in decreasing order.

    They run from L - 1 to -(S - 1), plus the position ``first`` of the first query.
    With S - L, the last query has the position of the last key, as with a cache.
    """
    return -offsets("transformer_xl_distances", L, S, first)


class TransformerXL(Scores):
    """Sinusoids of the distance, projected by W_kR, and the biases u and w.

    All layers share W_kR; in the paper each layer has its own.
    """

    def __init__(self, config, causal, rng):
        H, E = config.heads, config.head_size
        self.base, self.width = config.base, config.width
        self.W_kR = nn.Linear(self.width, H * E, False, rng)
        self.content_bias = nn.Parameter(np.zeros((H, E), np.float32))  # u
        self.position_bias = nn.Parameter(np.zeros((H, E), np.float32))  # w

    def scores(self, attention, q, k, first):
        """Return the ``Scores`` with the vectors R_r of all distances."""
        _, Hk, G, L, E = q.shape
        distances = transformer_xl_distances(L, k.shape[-2], first)  # (n,)
        R = self.W_kR(sinusoidal(distances, self.width, self.base, q.dtype))
        R = swapaxes(reshape(R, (len(distances), Hk * G, E)), 0, 1)  # (H, n, E)
        return transformer_xl_scores(
            q,
            k,
            reshape(R, (Hk, G, len(distances), E)),
            reshape(self.content_bias, (Hk, G, E)),
            reshape(self.position_bias, (Hk, G, E)),
        )


ROWS = [
    Position(
        "transformer-xl", TransformerXL, definitions.transformer_xl,
        """score: (q_i + u) . k_j + (q_i + w) . R[i - j], R from sines of the
        distance
        can let the query decide which distances it prefers, also those beyond training
        cannot be one product of queries and keys: it takes two
        lesson 11: reading beyond the trained length; Dai et al. 2019""",
        "2*L*S*E",
        "R (L + S - 1, E), u (E), w (E)",
    ),
]  # fmt: skip
