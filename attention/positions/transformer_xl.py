"""Transformer-XL's relative score: the distance asks as a key of its own.

    s_ij = ((q_i + u) . k_j  +  (q_i + w) . R_{i-j}) / sqrt(D)

R has a row for each distance i - j, sinusoids of it or learned, projected by a W_kR of
its own. u and w are learned, a vector each for each head, content_bias and
position_bias by name. (The paper's are u and v; v is a value here.) Of the four
products, two ask for what stands at j and two for where that is:

    q_i . k_j        for content        u . k_j        for content, whoever asks
    q_i . R_{i-j}    for a distance     w . R_{i-j}    for a distance, whoever asks

The last is a number for each distance, S_d = w . R_d. With it, the score has the form
in which labml writes it, equal to the one above:

    s_ij = ((q_i + u) . k_j  +  q_i . R_{i-j}  +  S_{i-j}) / sqrt(D)

L S D + (L + S - 1) L D multiplications: a query is multiplied with all distances, and
picks its own S of them; no array (L, S, D) is ever made. It is for models that keep the
keys of earlier segments, where an absolute position would stand twice.

Dai et al. 2019, section 3.3 and appendix B.
"""

import math

from minigrad import matmul, swapaxes, unsqueeze

from ..checks import floats, leading_axes, scale_or
from .offsets import from_offsets, offsets

NAME = "transformer_xl_scores"


def transformer_xl_scores(
    queries, keys, relative_keys, content_bias, position_bias, scale=None
):
    """s_ij = scale ((q_i + u) . k_j + (q_i + w) . R_{i-j})

    queries (..., L, D), keys (..., S, D)  ->  (..., L, S)

    relative_keys   R (..., L + S - 1, D), a row for each distance i - j in the order of
                    ``transformer_xl_distances``, from the last query and the first key
                    to the first query and the last key
    content_bias    u (..., D), such as (H, D): added to the queries that meet keys
    position_bias   w (..., D): added to the queries that meet distances
    scale           1 / sqrt(D) where it is None

    Leading axes are broadcast. In use, with sinusoids (or learned rows, table[at + n]):

        at = transformer_xl_distances(L, S)
        R = linear(sinusoidal(at, D_model), W_kR)  # (L + S - 1, D)
        score = lambda q, k: transformer_xl_scores(q, k, R, u, w)
        attend(q, k, v, score)
        scaled_dot_product_attention(q, k, v, scale=0.0, bias=score(q, k))

    The last two are the same: as a bias, the scores take the place of the products.

    With G = scale dL/ds and G_r (L, L + S - 1), where G_ij stands at its offset:
    dQ = G K + G_r R, dK = G^T (Q + u), dR = G_r^T (Q + w); du is the sum of G K, and dw
    of G_r R, over the queries.
    Raises TypeError for what holds no floating-point numbers, ValueError when widths,
    the number of distances or leading axes do not fit.
    """
    arguments = dict(
        queries=queries,
        keys=keys,
        relative_keys=relative_keys,
        content_bias=content_bias,
        position_bias=position_bias,
    )
    q, k, R, u, w = (floats(NAME, *each) for each in arguments.items())
    _check(q, k, R, u, w)
    L, S, D = q.shape[-2], k.shape[-2], q.shape[-1]
    u, w = unsqueeze(u, -2), unsqueeze(w, -2)  # (..., 1, D): for all queries
    content = matmul(q + u, swapaxes(k, -1, -2))  # (..., L, S)
    asked = matmul(q + w, swapaxes(R, -1, -2))  # (..., L, L + S - 1)
    position = from_offsets(asked, S, 1 - L)  # column 0 is j - i = -(L - 1)
    scale = scale_or(1 / math.sqrt(max(D, 1)), NAME, scale)
    return (content + position) * scale


def transformer_xl_distances(L, S, causal_align="upper_left"):
    """i - j for each row of R: (L + S - 1,) integers, falling.

    From L - 1 to -(S - 1); or, with causal_align "lower_right", where the last query
    stands beside the last key as in a model with memory, from S - 1 to -(L - 1).
    """
    return -offsets("transformer_xl_distances", L, S, causal_align)


def _check(q, k, R, u, w):
    shapes = (
        f"{NAME}: queries have shape {q.shape}, keys {k.shape}, relative_keys "
        f"{R.shape}, content_bias {u.shape} and position_bias {w.shape}"
    )
    if min(x.ndim for x in (q, k, R)) < 2 or min(u.ndim, w.ndim) < 1:
        raise ValueError(
            f"{shapes}; expected (..., L, D), (..., S, D), (..., L + S - 1, D), "
            "(..., D) and (..., D)."
        )
    if any(x.shape[-1] != q.shape[-1] for x in (k, R, u, w)):
        raise ValueError(f"{shapes}; expected one width D for all five.")
    n = max(q.shape[-2] + k.shape[-2] - 1, 0)
    if R.shape[-2] != n:
        raise ValueError(
            f"{shapes}; expected {n} relative_keys, one for each of "
            f"transformer_xl_distances({q.shape[-2]}, {k.shape[-2]})."
        )
    leading = [x.shape[:-2] for x in (q, k, R)] + [x.shape[:-1] for x in (u, w)]
    leading_axes(shapes, *leading, place="L, S and D")
