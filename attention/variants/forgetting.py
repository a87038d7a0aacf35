"""Forgetting attention: each token decides how much of the past it lets through.

    b_ij = sum_{j < s <= i} ln sigmoid(f_s)                 f_t = w . x_t + b
    s_ij = q_i . k_j / sqrt(E) + b_ij                       for j <= i, then a softmax

So the weight of key j is multiplied by the gates sigmoid(f_s) of all tokens s after it,
up to the query. If all gates are equal this is ALiBi, with the slope -ln sigmoid(f): the
slope is computed from the text. With f -> infinity nothing is forgotten; a gate of 0 at
t hides everything before t. Begin with b near 3.

With the cumulative sums c_t = sum_{s <= t} ln sigmoid(f_s), b_ij is c_i - c_j. But after
one gate near 0 all c_t are large, and their difference loses its digits: 0.03 of a score
in float32 where c is -1e6, and NaN for a gate of 0. So each query sums for itself, from
the last key to the first: L S additions, beside L S E multiplications for the scores.

Gradient, with ds = dL/ds: ln sigmoid(f_t) is in b_ij for all j < t <= i, so

    df_t = (1 - sigmoid(f_t)) sum_{i >= t} sum_{j < t} ds_ij

Lin et al. 2025.
"""

import numpy as np

from minigrad import concat, cumsum, flip, softplus, where
from minigrad.shapes import shapes

from .. import definitions
from ..exact.sdpa import scaled_dot_product_attention
from .row import Variant


@shapes
def forgetting_attention(q, k, v, f, **options):
    """Average the values of earlier tokens, and forget as the gates say.

    q (..., L, E), k (..., L, E), v (..., L, Ev), f (..., L)  ->  o (..., L, Ev)

    f         the gates before the sigmoid; with heads (..., H, L)
    options   of ``scaled_dot_product_attention``, such as path or normalize; not bias
    """
    bias = forgetting_bias.unchecked(f, f.shape[-1])
    return scaled_dot_product_attention(q, k, v, is_causal=True, bias=bias, **options)


@shapes
def forgetting_bias(f, L):
    """b_ij = sum_{j < s <= i} ln sigmoid(f_s), where the last L of T tokens are queries.

    f (..., T)  ->  b (..., L, T)
    """
    T = f.shape[-1]
    log_gates = -softplus(-f)  # sigmoid(f) could be rounded to 0
    zero = np.zeros((*f.shape[:-1], min(T, 1)), f.dtype)
    following = concat([log_gates[..., 1:], zero], -1)  # of the token j + 1
    i, j = np.arange(T - L, T)[:, None], np.arange(T)
    following = where(j < i, following[..., None, :], 0.0)  # (..., L, T)
    return flip(cumsum(flip(following, -1), -1), -1)


ROWS = [
    Variant(
        "forgetting", definitions.forgetting, forgetting_attention,
        inputs="q (L, E), k (L, E), v (L, Ev), f (L)",
        multiplications="L*E + L*L*E + L*L*Ev",
        about="""score: + sum of ln sigmoid(f) over the tokens after j, up to i, f
        computed from the token
        can hide all tokens before a token, or none, by gates computed from the text
        cannot read again what a gate near 0 has hidden
        lesson 15: the mean since the last reset; Lin et al. 2025""",
    ),
]  # fmt: skip
