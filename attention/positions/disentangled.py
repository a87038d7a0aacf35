"""DeBERTa's disentangled score: content and position each ask, and each answer.

    s_ij = (q_i . k_j  +  q_i . K_r[d(i, j)]  +  k_j . Q_r[d(j, i)]) / sqrt(3 D)
    d(i, j) = clip(i - j + k, 0, 2k - 1)

q and k come from the content alone; K_r and Q_r are a table of 2k relative positions,
projected like keys and like queries. The second term: what is asked, and how far away
the key is; the third: what is offered, and how far away the query is, from the key's
side, hence d(j, i). Position to position would not depend on the tokens, and is left
out. Three terms of variance D each: so 3 D.

L S D + 2k (L + S) D multiplications: a query is multiplied with 2k positions, not with
S, and picks what it needs. Distances of k - 1 and more, to the left, are alike; to the
right, those of k and more. He et al. 2021, equations 3 and 4.
"""

import math

import numpy as np

from minigrad import Tensor, matmul, swapaxes

from ..checks import leading_axes, scale_or
from .offsets import relative_positions


def disentangled_scores(
    queries,
    keys,
    relative_queries,
    relative_keys,
    scale=None,
    causal_align="upper_left",
):
    """Content to content, content to position, and position to content.

    queries (..., L, D), keys (..., S, D), relative_queries and relative_keys
    (..., 2k, D)  ->  (..., L, S)

    scale          1 / sqrt(3 D) where it is None
    causal_align   "lower_right": the last query stands beside the last key

    Leading axes are broadcast. With G = scale dL/ds, and G_r (L, 2k) the sums of the
    G_ij of one distance d(i, j): dQ = G K + G_r K_r, and dK_r = G_r^T Q; for the third
    term the same, from the side of the keys.
    Raises ValueError when widths, tables or leading axes do not fit.
    """
    tensors = [
        x if isinstance(x, Tensor) else Tensor(x)
        for x in (queries, keys, relative_queries, relative_keys)
    ]
    _check(*tensors)
    q, k, q_r, k_r = tensors
    L, S, D = q.shape[-2], k.shape[-2], q.shape[-1]
    span = k_r.shape[-2] // 2  # the k of the formula
    ahead = relative_positions("disentangled_scores", L, S, causal_align)  # j - i
    i, j = np.arange(L)[:, None], np.arange(S)
    there = np.clip(span - ahead, 0, 2 * span - 1)  # d(i, j): (L, S)
    back = np.clip(span + ahead, 0, 2 * span - 1)  # d(j, i): (L, S)

    content = matmul(q, swapaxes(k, -1, -2))  # (..., L, S)
    to_position = matmul(q, swapaxes(k_r, -1, -2))[..., i, there]  # of (..., L, 2k)
    from_position = matmul(k, swapaxes(q_r, -1, -2))[..., j, back]  # of (..., S, 2k)
    scale = scale_or(
        1 / math.sqrt(max(3 * D, 1)), "disentangled_scores", scale, "1 / sqrt(3 D)"
    )
    return (content + to_position + from_position) * scale


def _check(q, k, q_r, k_r):
    shapes = (
        f"disentangled_scores: queries have shape {q.shape}, keys {k.shape}, "
        f"relative_queries {q_r.shape} and relative_keys {k_r.shape}"
    )
    if min(x.ndim for x in (q, k, q_r, k_r)) < 2:
        raise ValueError(
            f"{shapes}; expected (..., L, D), (..., S, D), (..., 2k, D) and "
            "(..., 2k, D)."
        )
    if any(x.shape[-1] != q.shape[-1] for x in (k, q_r, k_r)):
        raise ValueError(f"{shapes}; expected one width D for all four.")
    n = k_r.shape[-2]
    if q_r.shape[-2] != n or n % 2 or n == 0:
        raise ValueError(
            f"{shapes}; expected two tables of 2k rows, for the distances -k to k - 1."
        )
    leading_axes(shapes, *(x.shape[:-2] for x in (q, k, q_r, k_r)))
