"""The template of attention: score, mask, normalize, average.

    weights = normalize(mask(score(query, keys)))        context = weights @ values

Variants of attention differ in the score, in the mask or bias, in the normaliser, and
in the source of the queries, keys and values. ``attend`` takes any score function, and
any normaliser instead of the softmax. It computes the whole matrix of weights (L S
numbers); the average costs L S Ev multiplications. ``exact/sdpa.py`` computes scaled
dot-product attention, also without storing this matrix.

Bahdanau et al. 2015, equations 5 and 6; Luong et al. 2015, section 3.1.
"""

import numpy as np

from minigrad import arguments, dropout, where
from minigrad.shapes import shapes

from .scores import SCORES, scaled_dot
from .softmax import apply_normalizer, mask_scores, masked_softmax


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
    normalize=None,
):
    """Average the values; the score of a key decides the weight of its value.

    query (..., L, Dq), keys (..., S, Dk), values (..., S, Ev),
    bias? (..., L | 1, S | 1)  ->  context (..., L, Ev), weights (..., L, S)

    (``bias?`` may be None; ``L | 1`` is an axis of length L or 1.)

        s_ij = score(q_i, k_j)
        p_ij = exp(s_ij) / sum_n exp(s_in)    over the allowed n; 0 if j is masked
        c_i  = sum_j p_ij v_j

    Each option changes one of these; the order is score, bias, float mask, temperature,
    softmax, dropout, values.

    score        a function of two Tensors, query and keys, that returns the scores
                 (..., L, S), or one of the names "dot" and "scaled_dot". A lambda sets
                 the parameters: lambda q, k: general(q, k, W_a)
    mask         broadcasts to (..., L, S): bool, where True = may attend, or float,
                 which is added to the scores; -inf masks a key
    valid_lens   (B,) or (B, L): the first valid_lens keys are allowed
    bias         added to the scores; it may be learned
    temperature  divides the scores
    dropout_p    in training, p_ij becomes 0 with this probability, and otherwise p_ij /
                 (1 - dropout_p); the returned weights do not include this
    training     False switches dropout off
    rng          the generator of dropout; None uses minigrad's generator
    normalize    a function (scores, allowed) -> weights, all (..., L, S), that replaces
                 the softmax; allowed is bool. These scores include bias, float mask and
                 temperature. A masked key has the score 0, and must get the weight 0

    A query with no allowed key has weights, context and gradients of 0. A masked key
    has no influence. A key and value that are masked for every query may contain NaN.
    """
    # padding may contain NaN, and 0 * NaN = NaN: masked keys and values become 0
    keys, values = clear_masked(query, keys, values, mask, valid_lens)
    if isinstance(score, str):
        score = SCORES[arguments.one_of("attend", "score", score, SCORES)]
    scores = score(query, keys)  # (..., L, S)
    if bias is not None:
        scores = scores + bias
    if normalize is None:
        weights = masked_softmax(scores, valid_lens, mask, temperature)
    else:
        scores, allowed = mask_scores(scores, valid_lens, mask)
        if temperature != 1:
            scores = scores / temperature
        weights = apply_normalizer("attend", normalize, scores, allowed)
    dropped = dropout(weights, dropout_p, training, rng) if dropout_p else weights
    return dropped @ values, weights  # sum over S


# ---- A first reading can stop here ----


def clear_unused(keys, values, find_used_keys):
    """If there is NaN or inf, set the keys and values that no query may use to 0.

    find_used_keys   a function that returns bool (..., S): whether some query may
                     attend to key j. It is called only if there is NaN or inf

    A weight of 0 removes a finite value from the average, but 0 * NaN = NaN.
    """
    with np.errstate(all="ignore"):  # a finite sum has finite terms only
        if np.isfinite(keys._data.sum() + values._data.sum()):
            return keys, values
    is_used = find_used_keys()[..., None]  # (..., S, 1)
    return where(is_used, keys, 0.0), where(is_used, values, 0.0)


def clear_masked(query, keys, values, mask, valid_lens):
    """Call ``clear_unused`` with the keys that mask and valid_lens allow."""
    if mask is None and valid_lens is None:
        return keys, values

    def find_used_keys():  # equal scores give every allowed key a positive weight
        leading = np.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
        equal_scores = np.zeros((*leading, query.shape[-2], keys.shape[-2]))
        weights = masked_softmax(equal_scores, valid_lens, mask)
        return (weights.data > 0).any(-2)  # by any query

    return clear_unused(keys, values, find_used_keys)
