"""Turn the masks and float arrays that a call is given into one mask and one bias."""

import functools
import math
import operator

import numpy as np

from minigrad import Tensor, astype
from minigrad.arguments import between, plain
from minigrad.arguments import mask as check_mask

from .algebra import Mask, as_mask
from .arrays import from_array
from .block_mask import BlockMask


def allowed_pairs(name, shape, dtype, mask=None, lengths=None):
    """Return which pairs may attend, for scores of a shape, and what is added to these.

    mask      broadcasts to the scores: bool, where True = may attend, or float, which
              is added; or a function, such as those of attention.masks, for scores
              (B, H, L, S), or (B, L, S) without heads
    lengths   (B,) or (B, L), for scores (B, ..., L, S): how many keys are allowed

    The first is a bool array that broadcasts to the scores, or None if all pairs may
    attend; the second a Tensor of this dtype, or None.
    """
    bias = None
    if mask is not None and not is_function(mask):
        mask, bias = from_numbers(name, "mask", mask, shape, dtype)
    elif mask is not None and len(shape) == 3:  # examples, as lengths count, not heads
        mask = dense(mask, (shape[0], 1, *shape[1:]))[:, 0]
    elif mask is not None:
        mask = dense(mask, shape)
    if lengths is None:
        return mask, bias
    first = np.arange(shape[-1]) < lengths_of_rows(name, lengths, shape)[..., None]
    return first if mask is None else first & mask, bias


def lengths_of_rows(name, lengths, shape):
    """Return lengths (B,) or (B, L) such that they broadcast to the rows of scores.

    shape   of the scores (B, ..., L, S), whose rows are (B, ..., L)
    """
    (B, *L), S, rows = lengths.shape, shape[-1], shape[:-1]
    if rows[:1] != (B,) or len(rows) <= len(L) or L and [*rows[-1:]] != L:
        raise ValueError(
            f"{name}: lengths have shape {lengths.shape} and scores {shape}; "
            "expected (B,) with scores (B, ..., S), or (B, L) with scores "
            "(B, ..., L, S)."
        )
    between(name, "lengths", lengths, 0, S, "the number of keys")
    ones = [1] * (len(rows) - lengths.ndim)  # the heads have the same lengths
    return lengths.reshape(B, *ones, *L)


def one_mask(name, argument, shape, dtype, *given):
    """Return the mask of the pairs that all the given masks allow, and a bias.

    shape, dtype   of the scores (..., H, L, S)
    given          each None; a Mask, a BlockMask, or a function (b, h, q_idx, kv_idx);
                   or an array that broadcasts to the scores: bool, True = may attend,
                   or float, which is added, and masks where it is -inf

    The mask is None if every pair may attend, and the bias None if nothing is added.
    """
    masks, terms = [], []
    for mask in given:
        if mask is None:
            continue
        if is_function(mask):
            masks.append(mask)
            continue
        allowed, term = from_numbers(name, argument, mask, shape, dtype)
        terms += [] if term is None else [term]
        if not allowed.all():
            masks.append(_mask_of(allowed, shape))
    bias = functools.reduce(operator.add, terms) if terms else None
    if len(masks) == 1 and isinstance(masks[0], BlockMask):
        return masks[0], bias  # its plan of tiles is kept from call to call
    for i, mask in enumerate(masks):
        if isinstance(mask, BlockMask):
            mask.check(*four_sizes(shape))
            masks[i] = mask.mask
    masks = [as_mask(mask) for mask in masks]
    return functools.reduce(operator.and_, masks) if masks else None, bias


def from_numbers(name, argument, mask, shape, dtype):
    """Return the bool array of a mask that is an array, and what it adds to scores.

    The second is a Tensor of this dtype if the mask holds floats, and otherwise None.
    """
    mask = check_mask(name, argument, mask, shape)
    if mask.dtype == bool:
        return mask, None
    added = cast(mask, dtype)
    return added._data != -np.inf, added


def dense(mask, shape):
    """Return a Mask, a BlockMask or a function as a bool array.

    It broadcasts to scores of the shape (..., H, L, S), or (L, S).
    """
    sizes = four_sizes(shape)
    if isinstance(mask, BlockMask):
        mask.check(*sizes)
        mask = mask.mask
    allowed = as_mask(mask).dense(*sizes)  # (B | 1, H | 1, L, S)
    axes = len(shape)
    if axes < 4 or len(allowed) == 1:
        return allowed.reshape(allowed.shape[4 - min(axes, 4) :])
    return allowed.reshape(*shape[:-3], *allowed.shape[1:])


def check_axes(name, mask, axes):
    """Raise ValueError for an array with some of the axes before the queries.

    Laid over scores (B, H, L, S), a mask (B, L, S) would be one for each head.

    axes   the number of axes of the scores
    """
    if mask is None or is_function(mask):
        return
    shape = plain(mask).shape
    if len(shape) != axes and max(shape[:-2], default=1) != 1:
        raise ValueError(
            f"{name}: mask has shape {shape}; expected (L, S), or all axes of the "
            "scores, such as (B | 1, H | 1, L, S). If the first axis counts examples, "
            "pass mask[:, None]; if it counts heads, mask[None]."
        )


def is_function(mask):
    """Return whether a mask is a function of indices, and not an array."""
    return isinstance(mask, (Mask, BlockMask)) or callable(mask)


def four_sizes(shape):
    """Return B, H, L, S of scores (..., H, L, S) or (L, S).

    B counts the examples of all axes before the heads.
    """
    *batch, H, L, S = (1,) * (3 - len(shape)) + shape
    return math.prod(batch), H, L, S


def cast(x, dtype):
    """Return the same floats as a Tensor of that dtype."""
    x = x if isinstance(x, Tensor) else Tensor(plain(x))
    with np.errstate(over="ignore"):  # -1e300 becomes -inf in float32
        return x if x.dtype == dtype else astype(x, dtype)


def _mask_of(allowed, shape):
    """Return a mask from a bool array that broadcasts to (..., H, L, S)."""
    axes = max(len(shape), 3)
    allowed = allowed.reshape((1,) * (axes - allowed.ndim) + allowed.shape)
    *batch, H, L, S = allowed.shape  # each 1, or the size of the scores
    if math.prod(batch) > 1:
        batch = shape[:-3]
        allowed = np.broadcast_to(allowed, (*batch, H, L, S))
    return from_array(allowed.reshape(math.prod(batch), H, L, S))
