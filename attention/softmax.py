"""Masked softmax: scores in, weights out, and nothing for what may not be attended to.

    p_ij = exp(s_ij / T) / sum_l exp(s_il / T)    over the allowed j, l; else exactly 0

A query with no allowed key has the weights 0, and its scores the gradient 0. The usual
way, a score of -1e6 for what is masked, gives such a query the weight 1/S on every key,
padding included, and it fails where real scores are as low as that.

An exp for each allowed pair, in L S numbers of memory, forward and backward. All
variants that have a matrix of weights get it here.

Bahdanau et al. 2015, equation 6; Vaswani et al. 2017, section 3.2.3 (masks).
"""

import numpy as np

from minigrad import Tensor, differentiable, transpose

from .kernels import softmax as kernels


def masked_softmax(scores, valid_lens=None, mask=None, axis=-1, temperature=1.0):
    """Turn scores into weights over the allowed keys, which sum to 1 along ``axis``.

    scores (..., L, S)  ->  weights (..., L, S), of the same dtype

    valid_lens    whole numbers from 0 to S: only the first so many keys are allowed.
                  (B,): one number for all queries of an example; (B, L): one for each
                  query. Scores are (B, L, S), or (B, H, L, S), alike for all heads
    mask          broadcasts to the scores: bool, where True = may attend, or float,
                  which is added to them and, as a Tensor, gets a gradient
    axis          that of the keys; valid_lens counts along it, and B and L are then the
                  first and the last of the other axes
    temperature   T > 0: small values sharpen the weights, large ones level them. It
                  divides the sum of scores and float mask

    With both, a key must be allowed by both. A NaN at a score that is masked has no
    influence; elsewhere NaN and infinity give what the formula gives.

    Backward, with g = dL/dp, as p_ij depends on all scores of its row:

        ds_ij = p_ij (g_ij - sum_l p_il g_il) / T    which is 0 wherever p_ij = 0

    Raises TypeError for scores that are not floating-point, for integer masks, and for
    valid_lens that are not whole numbers; ValueError for shapes, lengths and
    temperatures that do not fit.
    Source: Bahdanau et al. 2015, eq. 6; Zhang et al., Dive into Deep Learning, 11.3.
    """
    scores = scores if isinstance(scores, Tensor) else Tensor(scores)
    axis = _checked_axis(scores, axis)
    _check_temperature(temperature)
    if mask is not None:
        mask = _checked_mask(mask, scores)
        if mask.dtype.kind == "f":
            scores, mask = scores + mask, None
    if axis == scores.ndim - 1:
        lengths = _checked_lengths(valid_lens, scores.shape)
        return masked_softmax_core(scores, lengths, mask, temperature)
    order = [*(i for i in range(scores.ndim) if i != axis), axis]
    scores = transpose(scores, order)
    if mask is not None:
        mask = mask[(None,) * (len(order) - mask.ndim)].transpose(order)
    lengths = _checked_lengths(valid_lens, scores.shape)
    weights = masked_softmax_core(scores, lengths, mask, temperature)
    return transpose(weights, [order.index(i) for i in range(len(order))])


@differentiable
def masked_softmax_core(scores, lengths=None, mask=None, temperature=1.0):
    """``masked_softmax`` of arrays that have been checked: the kernel or its twin.

    scores (..., S), lengths (G,) ints or None, mask bool or None  ->  p (..., S)

    The rows of scores, counted through, fall into G groups of equal size; those of one
    group have the same length. The backward needs p alone: p_j = 0 where j is masked.
    """
    p = kernels.forward(scores, lengths, mask, temperature)

    def backward(g):
        return kernels.backward(p, g, temperature), None, None, None

    return p, backward


def _checked_axis(scores, axis):
    if scores.dtype.kind != "f":
        raise TypeError(
            f"masked_softmax: scores are {scores.dtype}; expected floating-point "
            "numbers. Write 1.0 for 1, or use .astype(np.float32)."
        )
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(
            f"masked_softmax: axis is {axis!r}; expected the whole number of one axis."
        )
    if not -scores.ndim <= axis < scores.ndim:
        raise ValueError(
            f"masked_softmax: there is no axis {axis} in scores of shape "
            f"{scores.shape}."
        )
    return axis % scores.ndim


def _check_temperature(temperature):
    if not isinstance(temperature, (int, float, np.number)):
        raise TypeError(
            f"masked_softmax: temperature is a {type(temperature).__name__}; expected "
            "a number. To learn it, divide the scores by it."
        )
    if not 1e-30 <= temperature <= 1e30:  # so that float32 holds it and its inverse
        raise ValueError(
            f"masked_softmax: temperature is {temperature}; expected a positive "
            "number, from 1e-30 to 1e30."
        )


def _checked_mask(mask, scores):
    """A bool array, or a float array or Tensor of the scores' dtype."""
    values = mask._data if isinstance(mask, Tensor) else np.asarray(mask)
    if values.dtype.kind == "O":
        raise TypeError(
            f"masked_softmax: mask is {mask!r}; expected an array of bool or float. A "
            "mask of attention.masks gives one: mask.dense(1, 1, L, S)[0, 0]."
        )
    if values.dtype.kind not in "bf":
        raise TypeError(
            f"masked_softmax: mask is {values.dtype}; expected bool, where True = may "
            "attend, or float, which is added. Ones and zeros could be meant either "
            "way: write mask == 1 to allow the ones."
        )
    sizes = zip(reversed(values.shape), reversed(scores.shape))
    if values.ndim > scores.ndim or any(m not in (1, n) for m, n in sizes):
        raise ValueError(
            f"masked_softmax: mask has shape {values.shape}; expected one that "
            f"broadcasts to the scores, {scores.shape}."
        )
    if values.dtype.kind == "b":
        return values
    mask = mask if isinstance(mask, Tensor) else values
    if values.dtype != scores.dtype:
        with np.errstate(over="ignore"):  # -1e300 becomes -inf in float32
            return mask.astype(scores.dtype)
    return mask


def _checked_lengths(valid_lens, shape):
    """(G,): one length for each example, or for each row of the scores."""
    if valid_lens is None:
        return None
    lengths = valid_lens._data if isinstance(valid_lens, Tensor) else valid_lens
    lengths = np.asarray(lengths)
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise TypeError(
            f"masked_softmax: valid_lens are {lengths.dtype}; expected whole numbers, "
            "how many keys may be attended to."
        )
    fitting = {1: shape[:1], 2: (*shape[:1], *shape[-2:-1])}.get(lengths.ndim)
    if lengths.shape != fitting or len(shape) <= lengths.ndim:
        raise ValueError(
            f"masked_softmax: valid_lens have shape {lengths.shape} and scores "
            f"{shape}; expected (B,) for scores (B, …, S), one for each example, or "
            "(B, L) for scores (B, …, L, S), one for each query."
        )
    S = shape[-1]
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= S:
        wrong = lengths.min() if lengths.min() < 0 else lengths.max()
        raise ValueError(
            f"masked_softmax: valid_lens contain {wrong}; expected lengths from 0 to "
            f"{S}, the number of keys in scores of shape {shape}."
        )
    if lengths.ndim == 2 and len(shape) > 3:  # heads in between: for each the same
        lengths = lengths.reshape(shape[0], *(1,) * (len(shape) - 3), shape[-2])
        lengths = np.broadcast_to(lengths, shape[:-1])
    return lengths.reshape(-1)
