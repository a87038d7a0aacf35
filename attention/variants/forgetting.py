"""Forgetting attention: each token decides how much of the past it lets through.

    c_t  = sum_{s <= t} ln sigmoid(f_s)                     f_t = w . x_t + b
    s_ij = q_i . k_j / sqrt(E) + c_i - c_j                  for j <= i, then a softmax

So the weight of key j is multiplied by the gates sigmoid(f_s) of all tokens s after it,
up to the query. If all gates are equal this is ALiBi, with the slope -ln sigmoid(f): the
slope is computed from the text. With f -> infinity nothing is forgotten; a gate of 0 at
t hides everything before t. Begin with b near 3.

In the softmax of row i, c_i is the same for all keys and cancels. What remains, -c_j,
is one more coordinate of key j, which every query multiplies by 1:

    q_i . k_j / sqrt(E) - c_j = [q_i; sqrt(E)] . [k_j; -c_j] / sqrt(E)

So dense matrices, tiles and kernels compute it as they are. (c_j grows with the text,
and in float32 its last digits are lost: 1e-4 of a score where c_j is 1000.)

Gradient: the rows of ds = dL/ds sum to 0, so dc_j = -sum_i ds_ij, and

    df_t = (1 - sigmoid(f_t)) sum_{s >= t} dc_s

Lin et al. 2025.
"""

import math

import numpy as np

from minigrad import concat, cumsum, expand, softplus
from minigrad.shapes import shapes

from ..exact.sdpa import scaled_dot_product_attention


@shapes
def forgetting_attention(q, k, v, f, **options):
    """Average the values of earlier tokens, and forget as the gates say.

    q (..., L, E), k (..., L, E), v (..., L, Ev), f (..., L)  ->  o (..., L, Ev)

    f         the gates before the sigmoid; with heads (..., H, L)
    options   of ``scaled_dot_product_attention``, such as path or normalize
    """
    scale = 1 / math.sqrt(max(q.shape[-1], 1))
    one = np.full((*q.shape[:-1], 1), 1 / scale, q.dtype)
    c = log_gates.unchecked(f)[..., None]  # (..., L, 1)
    c = expand(c, (*k.shape[:-1], 1))
    return scaled_dot_product_attention(
        concat([q, one], -1), concat([k, -c], -1), v,
        is_causal=True, scale=scale, **options,
    )  # fmt: skip


@shapes
def log_gates(f):
    """c_t = sum_{s <= t} ln sigmoid(f_s), which is -sum_{s <= t} softplus(-f_s)

    f (..., L)  ->  c (..., L)
    """
    return -cumsum(softplus(-f), -1)
