"""Masked softmax: weights from scores, with a weight of 0 for every masked key.

    p_ij = exp(s_ij / T) / sum_n exp(s_in / T)    for an allowed key j
    p_ij = 0                                      for a masked key j

The sum runs over the allowed keys n, and T is the temperature. A query with no allowed
key has weights of 0, and the gradient of its scores is 0.

Many implementations write a score of -1e6 for a masked key instead. With that method a
query with no allowed key gets the weight 1/S for every key, also for padding. It also
fails when real scores are near -1e6.

Bahdanau et al. 2015, equation 6; Vaswani et al. 2017, section 3.2.3 (masks).
"""

import numpy as np

from minigrad import Tensor, arguments, differentiable, where
from minigrad.shapes import shapes

from . import definitions
from .masks.given import allowed_pairs
from .variants.row import Normalizer


@shapes
def masked_softmax(scores, lengths=None, mask=None, temperature=1.0):
    """Return the weights of the allowed keys, which sum to 1 over the last axis.

    scores (B, ..., L, S) or (B, S) or (S,), lengths? (B,) or (B, L) int
        ->  weights (B, ..., L, S) or (B, S) or (S,)

    lengths       how many keys are allowed, from the first. Shape (B,): one number for
                  each example; (B, L): one for each query, the same in all heads.
                  None for scores (S,)
    mask          broadcasts to the scores: bool, where True = may attend, or float,
                  which is added to the scores; -inf masks a key
    temperature   T > 0: a small T makes the weights more different, a large T makes
                  them more equal. It divides the scores after a float mask is added

    With both lengths and mask, a key must be allowed by both.

    Each p_ij depends on all scores of row i. With g = dL/dp:

        ds_ij = p_ij (g_ij - sum_n p_in g_in) / T

    So a masked score has the gradient 0.
    """
    arguments.number("masked_softmax", "temperature", temperature, positive=True)
    allowed, bias = allowed_pairs(
        "masked_softmax", scores.shape, scores.dtype, mask, lengths
    )
    scores = scores if bias is None else scores + bias
    return softmax_over_allowed(scores, allowed, temperature)


@differentiable
def softmax_over_allowed(scores, allowed=None, temperature=1.0):
    """Compute ``masked_softmax``. The arguments are already checked.

    scores (..., S), allowed bool that broadcasts to them, or None  ->  p (..., S)

    It is one operation: made of several, it would store five arrays of the size of the
    scores, and it stores p alone. Its backward needs no mask, because p_ij = 0 for a
    masked key.
    """
    p = weights_of(scores, allowed, temperature)

    def backward(g):
        return gradient_of_scores(p, g, temperature), None, None

    return p, backward


def weights_of(scores, allowed, temperature=1.0):
    """p_j = exp((s_j - m) / T) / sum_n exp((s_n - m) / T), where m is the largest s

    If m is not finite, 0 takes its place: a row without allowed keys, or with -inf
    alone, has the sum 0 and the weights 0; a row with +inf or NaN has what the formula
    gives without m.
    """
    s = scores if allowed is None else np.where(allowed, scores, -np.inf)
    with np.errstate(all="ignore"):  # no warnings for NaN and infinity
        m = s.max(-1, keepdims=True, initial=-np.inf)
        m = np.where(np.isfinite(m), m, 0)
        p = s - m  # from here on in place: one new array, not three
        p *= 1 / temperature
        np.exp(p, out=p)  # exp(-inf) is 0
        total = p.sum(-1, keepdims=True)
        p /= np.where(total == 0, 1, total)
        has_nan = allowed is not None and np.isnan(total).any()
        return np.where(allowed, p, 0) if has_nan else p


def gradient_of_scores(p, g, temperature=1.0):
    """ds_j = p_j (g_j - sum_n p_n g_n) / T

    Where a weight is exactly 0, such as a masked one, ds is 0, whatever g is. If all g
    of a row are 0, ds is 0, even if p is NaN.
    """
    with np.errstate(all="ignore"):
        mean = (p * g).sum(-1, keepdims=True)
        ds = g - mean  # from here on in place
        ds *= p
        ds *= 1 / temperature
        if np.isfinite(ds).all():  # then the formula gives these zeros
            ds += 0.0  # a masked score has 0, not -0
            return ds
        mean = np.where(p != 0, p * g, 0).sum(-1, keepdims=True)
        counts = (p != 0) & (g != 0).any(-1, keepdims=True)
        return np.where(counts, p * (g - mean) * (1 / temperature), 0)


# ---- A first reading can stop here ----


def apply_normalizer(name, normalize, scores, allowed):
    """Return normalize(scores, allowed), all (..., L, S): weights instead of a softmax.

    The scores of masked pairs become 0, because -inf in a formula leads to NaN.
    """
    allowed = np.broadcast_to(True if allowed is None else allowed, scores.shape)
    scores = where(allowed, scores, 0.0)
    weights = arguments.called(
        f"{name}: normalize", "(scores, allowed)", normalize, scores, allowed
    )
    if not isinstance(weights, Tensor) or weights.shape != scores.shape:
        shape = getattr(weights, "shape", None)
        raise ValueError(
            f"{name}: normalize returned a {type(weights).__name__} of shape {shape}; "
            f"expected a Tensor of weights of the shape of the scores, {scores.shape}."
        )
    return weights


def _of_pairs(scores, allowed):
    return masked_softmax(scores, mask=allowed)


ROWS = [
    Normalizer(
        "softmax", definitions.softmax, _of_pairs,
        about="""normaliser: p = exp(s) / sum of exp(s) over the allowed keys
        can give weights that sum to 1, and a gradient to every allowed key
        cannot give a weight of 0; return nothing where no key fits
        lesson 15: lookup where the key may be missing; Bahdanau et al. 2015""",
    ),
]  # fmt: skip
