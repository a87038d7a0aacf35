"""Shaw's relative positions: each distance has a vector, added to key and value.

    s_ij = q_i . (k_j + a^K_{d(i, j)}) / sqrt(D)
    o_i  = sum_j p_ij (v_j + a^V_{d(i, j)})          d(i, j) = clip(j - i, -k, k)

a^K and a^V are learned tables of 2k + 1 rows, from k places to the left to k places to
the right; what is farther away is as far as that, so that a model meets no distance
that it was not trained on. Neither sum is computed as it stands, with a vector for each
pair, but

    q_i . k_j + (q_i . a^K_d)               L S D + (2k + 1) L D multiplications
    sum_j p_ij v_j + sum_d P_id a^V_d       L S Ev + (2k + 1) L Ev, with P_id the sum of
                                            the weights of distance d

and no array (L, S, D) is ever made. In the paper the heads of a layer share the tables,
and k = 16. Shaw et al. 2018, equations 3 to 5.
"""

import math

from minigrad import matmul, swapaxes

from ..checks import floats, leading_axes, scale_or
from .offsets import first_query, from_offsets, sum_offsets


def shaw_scores(queries, keys, relative_keys, scale=None, causal_align="upper_left"):
    """s_ij = scale q_i . (k_j + a^K_d),  d = clip(j - i, -k, k)    (equation 4)

    queries (..., L, D), keys (..., S, D), relative_keys (..., 2k + 1, D), its rows for
    j - i = -k, ..., k  ->  (..., L, S)

    scale          1 / sqrt(D) where it is None
    causal_align   "lower_right": the last query stands beside the last key

    Leading axes are broadcast: one table for all heads, or (H, 2k + 1, D). In use,

        attend(q, k, v, lambda q, k: shaw_scores(q, k, a_K))
        scaled_dot_product_attention(q, k, v, scale=0.0, bias=shaw_scores(q, k, a_K))

    are the same: as a bias, the scores take the place of the products.

    With G = scale dL/ds and G_d (L, 2k + 1) the sums of the G_ij of one distance:
    dQ = G K + G_d a^K, dK = G^T Q and da^K = G_d^T Q.
    Raises TypeError for what holds no floating-point numbers, ValueError when widths,
    table or leading axes do not fit.
    """
    name = "shaw_scores"
    q, k = floats(name, "queries", queries), floats(name, "keys", keys)
    a = floats(name, "relative_keys", relative_keys)
    _check(
        f"{name}: queries have shape {q.shape}, keys {k.shape} and relative_keys "
        f"{a.shape}",
        "(..., L, D), (..., S, D) and (..., 2k + 1, D)",
        (q, k, a),
    )
    if not q.shape[-1] == k.shape[-1] == a.shape[-1]:
        raise ValueError(
            f"{name}: queries have shape {q.shape}, keys {k.shape} and relative_keys "
            f"{a.shape}; expected one width D for all three."
        )
    L, S, D = q.shape[-2], k.shape[-2], q.shape[-1]
    content = matmul(q, swapaxes(k, -1, -2))  # (..., L, S)
    asked = matmul(q, swapaxes(a, -1, -2))  # (..., L, 2k + 1)
    position = from_offsets(asked, S, _first(name, L, S, a, causal_align))
    scale = scale_or(1 / math.sqrt(max(D, 1)), name, scale)
    return (content + position) * scale


def shaw_values(weights, relative_values, causal_align="upper_left"):
    """sum_j p_ij a^V_d, d = clip(j - i, -k, k): what positions add to the context.

    weights (..., L, S), relative_values (..., 2k + 1, Ev), its rows for
    j - i = -k, ..., k  ->  (..., L, Ev), the second term of equation 3:

        context, p = attend(q, k, v, lambda q, k: shaw_scores(q, k, a_K))
        output = context + shaw_values(p, a_V)

    Masked weights are 0, and add nothing. The weights p are those before dropout.
    Leading axes are broadcast.

    The weights of a distance are summed first, P_id (L, 2k + 1). With g = dL/do:
    da^V = P^T g, and dp_ij = g_i . a^V_d.
    Raises TypeError for what holds no floating-point numbers, ValueError when the table
    or leading axes do not fit.
    """
    name = "shaw_values"
    p = floats(name, "weights", weights)
    a = floats(name, "relative_values", relative_values)
    _check(
        f"{name}: weights have shape {p.shape} and relative_values {a.shape}",
        "(..., L, S) and (..., 2k + 1, Ev)",
        (p, a),
    )
    L, S = p.shape[-2:]
    P = sum_offsets(p, a.shape[-2], _first(name, L, S, a, causal_align))
    return matmul(P, a)  # (..., L, 2k + 1) by (..., 2k + 1, Ev)


def _first(name, L, S, table, causal_align):
    """j - i, both counted from 0, for the first row of the table."""
    k = table.shape[-2] // 2
    return first_query(name, L, S, causal_align) - k


def _check(found, expected, tensors):
    """``found`` begins the sentence; the last of the tensors is the table."""
    if min(x.ndim for x in tensors) < 2:
        raise ValueError(f"{found}; expected {expected}.")
    if tensors[-1].shape[-2] % 2 == 0:
        raise ValueError(
            f"{found}; expected a table of 2k + 1 rows, for the distances -k to k."
        )
    leading_axes(found, *(x.shape[:-2] for x in tensors))
