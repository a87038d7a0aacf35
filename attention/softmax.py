"""Masked softmax: weights from scores, with a weight of 0 for every masked key.

    p_ij = exp(s_ij / T) / sum_l exp(s_il / T)    over the allowed j, l; else exactly 0

A query with no allowed key has the weights 0, and its scores the gradient 0. Many
implementations write a score of -1e6 for a masked key instead. Such a query then has
the weight 1/S on every key, padding included, and the method fails where real scores
are as low as that.

All variants of attention that have a matrix of weights use this function. It computes
one exp for each allowed pair.

Bahdanau et al. 2015, equation 6; Vaswani et al. 2017, section 3.2.3 (masks).
"""

import numpy as np

from minigrad import astype, differentiable
from minigrad.checks import between, number
from minigrad.checks import mask as check_mask
from minigrad.shapes import shapes

from .kernels import softmax as kernels


@shapes
def masked_softmax(scores, valid_lens=None, mask=None, temperature=1.0):
    """Return the weights of the allowed keys, which sum to 1 over the last axis.

    scores (B, ..., L, S) or (B, S) or (S,), valid_lens? (B,) or (B, L) int
        ->  weights (B, ..., L, S) or (B, S) or (S,)

    valid_lens    how many keys are allowed, from the first: (B,) for all queries of an
                  example, (B, L) for each query. 0 to S, the same in all heads
    mask          broadcasts to the scores: bool, where True = may attend, or float,
                  which is added to the scores; -inf masks
    temperature   T > 0: a small T sharpens the weights, a large T levels them. It
                  divides the scores after a float mask is added

    With both valid_lens and mask, a key must be allowed by both.

    Backward, with g = dL/dp, as p_ij depends on all scores of its row:

        ds_ij = p_ij (g_ij - sum_l p_il g_il) / T    which is 0 where p_ij = 0
    """
    number("masked_softmax", "temperature", temperature, positive=True)
    if mask is not None:
        mask = check_mask("masked_softmax", "mask", mask, scores.shape)
        if mask.dtype != bool:
            with np.errstate(over="ignore"):  # -1e300 becomes -inf in float32
                mask = astype(mask, scores.dtype)
            scores, mask = scores + mask, None
    if valid_lens is not None:
        valid_lens = _row_lengths(valid_lens, scores.shape)
    return masked_softmax_core(scores, valid_lens, mask, temperature)


@differentiable
def masked_softmax_core(scores, lengths=None, mask=None, temperature=1.0):
    """Compute ``masked_softmax`` of validated arrays, compiled or in NumPy.

    scores (..., S), lengths (G,) ints or None, mask bool or None  ->  p (..., S)

    The rows of scores fall into G consecutive groups of equal size; the rows of a group
    share a length. The backward needs no mask, because p_j = 0 where j is masked.
    """
    p = kernels.forward(scores, lengths, mask, temperature)

    def backward(g):
        return kernels.backward(p, g, temperature), None, None, None

    return p, backward


def _row_lengths(valid_lens, shape):
    """Return (G,) lengths, one for each group of consecutive rows of the scores."""
    if len(shape) <= valid_lens.ndim:
        raise ValueError(
            f"masked_softmax: valid_lens have shape {valid_lens.shape} and scores "
            f"{shape}; expected (B,) with scores (B, ..., S), or (B, L) with scores "
            "(B, ..., L, S)."
        )
    S = shape[-1]
    between("masked_softmax", "valid_lens", valid_lens, 0, S, "the number of keys")
    if valid_lens.ndim == 2:  # (B, L): repeat for the heads, the axes between B and L
        B, *heads, L = shape[:-1]
        valid_lens = valid_lens.reshape(B, *(1,) * len(heads), L)
        valid_lens = np.broadcast_to(valid_lens, shape[:-1])
    return valid_lens.reshape(-1)
