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


def row_sums(g, o):
    """Return D (L,) from g (L, E) and o (L, E), without any weight."""
    # BEGIN SOLUTION
    return (g * o).sum(1)  # sum_l p_il (g_i . v_l) = g_i . o_i
    # END SOLUTION


def tile(q, k, v, g, lse, D, scale, seen):
    """Return what one block of queries and one block of keys add to the gradients.

    q, g (m, E), lse, D (m,), k, v (n, E), seen (m, n) bool: the allowed pairs. Scores
    and lse may be of any size, and the score of a pair that is not allowed may be far
    above lse.
    ->  dq (m, E), dk (n, E), dv (n, E)
    """
    # BEGIN SOLUTION
    s = scale * (q @ k.T)  # (m, n)
    p = np.where(seen, np.exp(np.where(seen, s - lse[:, None], 0.0)), 0.0)
    ds = p * (g @ v.T - D[:, None])
    return scale * (ds @ k), scale * (ds.T @ q), p.T @ g
    # END SOLUTION


def backward(q, k, v, o, lse, g, scale, block, causal=False):
    """Return dq (L, E), dk (S, E), dv (S, E), tile by tile.

    q, o, g (L, E), lse (L,), k, v (S, E). Store no array of more than block x block
    scores; ``block`` need not divide L or S. Leave out a tile without an allowed pair:
    its keys and values may be NaN.
    """
    # BEGIN SOLUTION
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    D = row_sums(g, o)
    for a in range(0, len(q), block):
        i = slice(a, min(a + block, len(q)))
        for b in range(0, len(k), block):
            j = slice(b, min(b + block, len(k)))
            if causal and b > i.stop - 1:
                break  # all later keys come after every query
            rows, columns = np.ogrid[i, j]
            seen = np.broadcast_to(not causal, (len(rows), columns.size))
            seen = seen | (columns <= rows)
            parts = tile(q[i], k[j], v[j], g[i], lse[i], D[i], scale, seen)
            dq[i] += parts[0]
            dk[j] += parts[1]
            dv[j] += parts[2]
    return dq, dk, dv
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "exp(s - lse) computes each weight again, so none is stored, and D_i is g_i . o_i "
    "because o_i is the sum of p_il v_l. A tile needs only its own queries and keys "
    "then, and the gradients of all tiles are added."
)

MUTANTS = [  # of tiles left out and memory, which no edit of the loops shows
    ("if causal and b > i.stop - 1:", "if False:", "nan"),
    (
        "    D = row_sums(g, o)\n",
        "    D, pairs = row_sums(g, o), np.ones((len(q), len(k)))\n",
        "all-pairs",
    ),
]
