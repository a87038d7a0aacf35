"""E.14  The tiled backward  ●●●●  60 min  needs E.7, E.8

Attention whose matrix of weights is never there, neither forwards nor backwards. The
forward has left behind o and lse, two things a query, and from these every weight can
be computed again, wherever it is needed:

    s_ij = scale q_i . k_j        p_ij = exp(s_ij - lse_i)        o_i = sum_j p_ij v_j

    dv_j = sum_i p_ij g_i                               for g_i = dL/do_i
    ds_ij = p_ij (g_i . v_j - D_i),                     D_i = sum_l p_il (g_i . v_l)
    dq_i = scale sum_j ds_ij k_j                        dk_j = scale sum_i ds_ij q_i

D_i is a sum over all keys, and a tile has only some of them. But it equals a product of
two things that are known before the first tile. With ``causal``, query i sees the keys
j <= i alone, and tiles in which nothing is seen cost nothing.
"""

import numpy as np

from lessons import NotWritten


def row_sums(g, o):
    """D (L,) from g (L, E) and o (L, E), with no weight in sight."""
    raise NotWritten("E.14 row_sums")


def tile(q, k, v, g, lse, D, scale, seen):
    """What one block of queries and one block of keys say to each other.

    q, g (m, E), lse, D (m,), k, v (n, E), seen (m, n) bool: the pairs that count
    ->  dq (m, E), dk (n, E), dv (n, E), the parts that this tile adds
    """
    raise NotWritten("E.14 tile")


def backward(q, k, v, o, lse, g, scale, block, causal=False):
    """dq (L, E), dk (S, E), dv (S, E), tile by tile.

    q, o, g (L, E), lse (L,), k, v (S, E). No array of more than block x block scores;
    ``block`` need not divide L or S. A tile in which no pair is seen is left out: the
    keys and values of such a tile may be NaN.
    """
    raise NotWritten("E.14 backward")
