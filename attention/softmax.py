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

from minigrad import Tensor, arguments, astype, differentiable, where
from minigrad.shapes import shapes

from . import definitions
from .kernels import softmax as softmax_kernels
from .variants.row import Normalizer


@shapes
def masked_softmax(scores, valid_lens=None, mask=None, temperature=1.0):
    """Return the weights of the allowed keys, which sum to 1 over the last axis.

    scores (B, ..., L, S) or (B, S) or (S,), valid_lens? (B,) or (B, L) int
        ->  weights (B, ..., L, S) or (B, S) or (S,)

    valid_lens    the first valid_lens keys are allowed. Shape (B,): one number for each
                  example; (B, L): one for each query, the same in all heads.
                  None for scores (S,)
    mask          broadcasts to the scores: bool, where True = may attend, or float,
                  which is added to the scores; -inf masks a key
    temperature   T > 0: a small T makes the weights more different, a large T makes
                  them more equal. It divides the scores after a float mask is added

    With both valid_lens and mask, a key must be allowed by both.

    Each p_ij depends on all scores of row i. With g = dL/dp:

        ds_ij = p_ij (g_ij - sum_n p_in g_in) / T

    So a masked score has the gradient 0.
    """
    arguments.number("masked_softmax", "temperature", temperature, positive=True)
    scores, mask = _add_float_mask(scores, mask)  # what remains is bool, or None
    # one for each group: the rows of an example or, if valid_lens is (B, L), one row
    lengths = _group_lengths(valid_lens, scores.shape)
    return softmax_over_allowed(scores, lengths, mask, temperature)


# ---- A first reading can stop here ----


@differentiable
def softmax_over_allowed(scores, lengths=None, mask=None, temperature=1.0):
    """Compute ``masked_softmax``. The arguments are already checked.

    scores (..., S), lengths (N,) ints or None, mask bool or None  ->  p (..., S)

    One operation, compiled if numba is installed: composed of operations, it would
    compute five arrays of the size of the scores, and compiled it computes p alone. Its
    backward needs no mask, because p_ij = 0 for a masked key.

    lengths   the rows of the scores are divided into N groups of equal size; in each
              row of group i, the first lengths[i] keys are allowed
    """
    p = softmax_kernels.forward(scores, lengths, mask, temperature)

    def backward(g):
        return softmax_kernels.backward(p, g, temperature), None, None, None

    return p, backward


def apply_normalizer(name, normalize, scores, allowed):
    """Return normalize(scores, allowed), all (..., L, S): weights instead of a softmax.

    The scores of masked pairs become 0, because -inf in a formula leads to NaN.
    """
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


def mask_scores(scores, valid_lens=None, mask=None):
    """Return scores with a float mask added, and allowed: bool, both (..., L, S)."""
    if mask is None and valid_lens is None:
        return scores, np.broadcast_to(True, scores.shape)
    equal = np.zeros(scores.shape)  # gives every allowed key a positive weight
    scores, pairs = _add_float_mask(scores, mask)
    if mask is not None and pairs is None:  # a float mask
        with np.errstate(over="ignore"):
            pairs = arguments.plain(mask).astype(scores.dtype) > -np.inf
    return scores, masked_softmax(equal, valid_lens, pairs).data > 0


def _add_float_mask(scores, mask):
    """Return the scores, with a float mask added; and the bool mask, or None."""
    if mask is None:
        return scores, None
    mask = arguments.mask("masked_softmax", "mask", mask, scores.shape)
    if mask.dtype == bool:
        return scores, mask
    with np.errstate(over="ignore"):  # -1e300 becomes -inf in float32
        mask = astype(mask, scores.dtype)
    return scores + mask, None


def _group_lengths(valid_lens, shape):
    """Return (N,) lengths, one for each group of consecutive rows of the scores."""
    if valid_lens is None:
        return None
    if len(shape) <= valid_lens.ndim:
        raise ValueError(
            f"masked_softmax: valid_lens have shape {valid_lens.shape} and scores "
            f"{shape}; expected (B,) with scores (B, ..., S), or (B, L) with scores "
            "(B, ..., L, S)."
        )
    S = shape[-1]
    arguments.between(
        "masked_softmax", "valid_lens", valid_lens, 0, S, "the number of keys"
    )
    if valid_lens.ndim == 1:  # one group for each example
        return valid_lens
    # one group for each row; the heads, the axes between B and L, have the same lengths
    B, *heads, L = shape[:-1]
    ones = [1] * len(heads)
    return np.broadcast_to(valid_lens.reshape(B, *ones, L), shape[:-1]).reshape(-1)


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
