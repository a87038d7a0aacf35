"""The template of attention: score, mask, normalise, average.

    weights = normalize(mask(score(query, keys)))        context = weights @ values

A variant of attention is a choice of score, of mask or bias, and of where query, keys
and values come from. ``attend`` takes any score function. It makes the whole matrix of
weights: L S numbers, and L S Ev multiplications for the average.
``exact/sdpa.py`` has the case of scaled dot products, also without that matrix.

Bahdanau et al. 2015, equations 5 and 6; Luong et al. 2015, section 3.1.
"""

import numpy as np

from minigrad import dropout, where
from minigrad.shapes import shapes

from .scores import dot, scaled_dot
from .softmax import masked_softmax

SCORES = {"dot": dot, "scaled_dot": scaled_dot}  # scores without parameters, by name


@shapes
def attend(
    query,
    keys,
    values,
    score=scaled_dot,
    mask=None,
    valid_lens=None,
    bias=None,
    temperature=1.0,
    dropout_p=0.0,
    training=True,
    rng=None,
):
    """Average the values, each weighted by how well its key suits the query.

    query (..., L, Dq), keys (..., S, Dk), values (..., S, Ev),
    bias? (..., L | 1, S | 1)  ->  context (..., L, Ev), weights (..., L, S)

        s_ij = score(q_i, k_j) + b_ij
        p_ij = exp(s_ij / temperature) / sum of the same over the allowed j; else 0
        c_i  = sum_j z_ij p_ij v_j

    where dropout z_ij is 0 with probability dropout_p, else 1 / (1 - dropout_p). The
    order is score (with its scale and softcap), bias, mask, softmax, dropout, values.

    score        a function (query, keys) -> scores (..., L, S) of Tensors. Bind
                 parameters with a lambda: lambda q, k: general(q, k, W_a). "dot" and
                 "scaled_dot" name the scores without parameters
    mask         broadcasts to (..., L, S): bool, where True = may attend, or float,
                 which is added
    valid_lens   (B,) or (B, L): how many keys are allowed, from the first
    bias         b_ij, added to the scores, with a gradient
    training     False switches dropout off
    rng          the generator of dropout; None is minigrad's own

    The weights are returned before dropout. A query with no allowed key has weights,
    context and gradients 0. A masked key has no influence. Keys and values that every
    query excludes may be NaN.
    """
    if mask is not None or valid_lens is not None:
        keys, values = clear_unused(
            keys, values, lambda: _used(query, keys, mask, valid_lens)
        )
    s = SCORES.get(score, score)(query, keys)  # (..., L, S)
    if bias is not None:
        s = s + bias
    weights = masked_softmax(s, valid_lens, mask, temperature)
    kept = dropout(weights, dropout_p, training, rng) if dropout_p else weights
    return kept @ values, weights


def clear_unused(keys, values, used):
    """Replace the keys and values that no query may attend to by 0, if any is NaN.

    used   a function that returns bool (..., S): whether some query may attend to j

    A weight of 0 excludes every finite number, but 0 * NaN = NaN.
    """
    with np.errstate(all="ignore"):  # a sum is NaN or infinite if a number is
        if np.isfinite(keys._data.sum() + values._data.sum()):
            return keys, values
    used = used()[..., None]  # (..., S, 1)
    return where(used, keys, 0.0), where(used, values, 0.0)


def _used(query, keys, mask, valid_lens):
    """Return bool (..., S): equal scores give a weight to every allowed key."""
    leading = np.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
    equal = np.zeros((*leading, query.shape[-2], keys.shape[-2]))
    return (masked_softmax(equal, valid_lens, mask).data > 0).any(-2)
