"""Forgetting attention: each token decides how much of the past it lets through.

    c_t  = sum_{s <= t} ln sigmoid(f_s)                     f_t = w . x_t + b
    s_ij = q_i . k_j / sqrt(E) + c_i - c_j                  for j <= i, then a softmax

So the weight of key j is multiplied by the gates sigmoid(f_s) of all tokens s after it,
up to the query. If all gates are equal this is ALiBi, with the slope -ln sigmoid(f): the
slope is computed from the text. With f -> infinity nothing is forgotten; a gate of 0 at
t hides everything before t. Begin with b near 3.

The difference is a product of two more coordinates,

    q_i . k_j / sqrt(E) + c_i - c_j = [q_i; c_i; 1] . [k_j; 1; -c_j]    but for sqrt(E)

so dense matrices, tiles, kernels and caches compute it as they are. In a softmax c_i
cancels, because it is the same for all keys of row i; with a sink it does not. (c_j
grows with the text, and in float32 its last digits are lost: 1e-4 of a score where c_j
is 1000.)

Gradient, with ds = dL/ds: dc_t = sum_j ds_tj - sum_i ds_it, whose first sum is 0 for a
softmax, and

    df_t = (1 - sigmoid(f_t)) sum_{s >= t} dc_s

Lin et al. 2025.
"""

import math

import numpy as np

from minigrad import concat, cumsum, expand, reshape, softplus
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
    q, k = with_gates(q, k, log_gates.unchecked(f), scale)
    return scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale, **options)


@shapes
def log_gates(f):
    """c_t = sum_{s <= t} ln sigmoid(f_s), which is -sum_{s <= t} softplus(-f_s)

    f (..., L)  ->  c (..., L)
    """
    return -cumsum(softplus(-f), -1)


def with_gates(q, k, c, scale):
    """Return [q_i; c_i / scale; 1 / scale] and [k_j; 1; -c_j].

    q (..., H, L, E), k (..., Hk, L, E), c (..., Hk, L)
    """
    c_k = expand(c[..., None], (*k.shape[:-1], 1))
    groups = q.shape[-3] // max(k.shape[-3], 1) if q.ndim > 2 else 1
    c_q = expand(c_k[..., None, :, :], (*k.shape[:-2], groups, k.shape[-2], 1))
    c_q = reshape(c_q, (*q.shape[:-1], 1))  # of the key head of each query head
    one_q, one_k = (np.ones((*x.shape[:-1], 1), x.dtype) for x in (q, k))
    return concat([q, c_q / scale, one_q / scale], -1), concat([k, one_k, -c_k], -1)
