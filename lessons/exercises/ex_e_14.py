"""E.14  The backward of tiled attention  ●●●●  60 min  needs E.7, E.8

Tiled attention never stores the matrix of weights, neither in the forward nor in the
backward. The forward stores o and lse, and from lse every weight can be computed again:

    s_ij = scale q_i . k_j        p_ij = exp(s_ij - lse_i)        o_i = sum_j p_ij v_j

    dv_j = sum_i p_ij g_i                               for g_i = dL/do_i
    ds_ij = p_ij (g_i . v_j - D_i),                     D_i = sum_l p_il (g_i . v_l)
    dq_i = scale sum_j ds_ij k_j                        dk_j = scale sum_i ds_ij q_i

D_i is a sum over all keys, and a tile contains only some of them. But D_i also equals
the dot product of two rows that are known before the first tile. With ``causal``, query
i attends to the keys j <= i only, and tiles without an allowed pair cost nothing.
"""

import numpy as np

from lessons import NotWritten


def row_sums(g, o):
    """Return D (L,) from g (L, E) and o (L, E), without any weight."""
    raise NotWritten("E.14 row_sums")


def tile(q, k, v, g, lse, D, scale, seen):
    """Return what one block of queries and one block of keys add to the gradients.

    q, g (m, E), lse, D (m,), k, v (n, E), seen (m, n) bool: the allowed pairs. Scores
    and lse may be of any size, and the score of a pair that is not allowed may be far
    above lse.
    ->  dq (m, E), dk (n, E), dv (n, E)
    """
    raise NotWritten("E.14 tile")


def backward(q, k, v, o, lse, g, scale, block, causal=False):
    """Return dq (L, E), dk (S, E), dv (S, E), tile by tile.

    q, o, g (L, E), lse (L,), k, v (S, E). Store no array of more than block x block
    scores; ``block`` need not divide L or S. Leave out a tile without an allowed pair:
    its keys and values may be NaN.
    """
    raise NotWritten("E.14 backward")
