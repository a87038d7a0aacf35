"""Combine all masks and biases of one call of scaled_dot_product_attention.

    scores (..., H, L, S)  ->  scores + added + b[h, j - i + L - 1],    -inf where masked

A pair of query i and key j may attend if every mask allows it: is_causal, window_size,
mask_mod, block_mask, and attn_mask if it is bool. They become one mask of
attention.masks. A float attn_mask and a dense bias are added to the scores; a pair with
-inf is masked. An OffsetBias stays L + S - 1 numbers b for each head.
"""

import functools
import math
import operator
from dataclasses import dataclass

import numpy as np

from minigrad import Tensor, astype
from minigrad.arguments import broadcastable, plain
from minigrad.arguments import mask as check_mask

from ..masks import algebra, arrays, windows
from ..masks.block_mask import BlockMask
from ..positions import OffsetBias
from .options import NAME


def combined_masks(shape, dtype, options):
    """Return the ``CombinedMasks`` of ``Options``, for scores of a shape and a dtype.

    shape   (..., H, L, S)
    """
    masks, terms, offset = _masks(options, shape), [], None
    if options.attn_mask is not None:
        attn_mask = check_mask(NAME, "attn_mask", options.attn_mask, shape)
        if attn_mask.dtype == bool:
            masks.append(_mask_of_array(attn_mask, shape))
        else:
            terms.append(_cast(attn_mask, dtype))
    if isinstance(options.bias, OffsetBias):
        offset = _cast(_offset_values(options.bias, shape), dtype)
    elif options.bias is not None:
        terms.append(_cast(_float_bias(options.bias, shape), dtype))
    added = functools.reduce(operator.add, terms) if terms else None
    if added is not None and (added._data == -np.inf).any():
        masks.append(_mask_of_array(added._data != -np.inf, shape))
    mask = functools.reduce(operator.and_, masks) if masks else None
    if options.block_mask is not None and len(masks) == 1:
        mask = options.block_mask  # its plan of tiles is kept from call to call
    return CombinedMasks(shape, mask, offset, added)


@dataclass
class CombinedMasks:
    """Which pairs of one call may attend, and what is added to their scores.

    shape    (..., H, L, S), the shape of the scores
    mask     a mask of attention.masks, a BlockMask, or None: every pair may attend
    offset   (H | 1, L + S - 1): the values of an OffsetBias, or None
    added    (..., H | 1, L | 1, S | 1): a float mask, a dense bias, their sum, or None
    """

    shape: tuple
    mask: algebra.Mask | BlockMask | None
    offset: Tensor | None
    added: Tensor | None

    @property
    def sizes(self):
        """B, H, L, S, where B counts the examples of all axes before the heads."""
        return four_sizes(self.shape)

    def dense(self):
        """Return the mask as a bool array that broadcasts to the scores, or None."""
        if self.mask is None:
            return None
        mask = self.mask.mask if isinstance(self.mask, BlockMask) else self.mask
        allowed = mask.dense(*self.sizes)  # (B | 1, H | 1, L, S)
        axes = len(self.shape)
        if axes < 4 or len(allowed) == 1:
            return allowed.reshape(allowed.shape[4 - min(axes, 4) :])
        return allowed.reshape(*self.shape[:-3], *allowed.shape[1:])

    def used_keys(self, key_shape):
        """Return which keys some query may attend to, bool (..., Hk, S).

        key_shape   (..., Hk, S, E)
        """
        allowed = np.broadcast_to(self.dense(), self.shape)
        if len(self.shape) == 2:
            return allowed.any(0)  # (S,)
        *batch, Hk, S, _ = key_shape
        L = self.shape[-2]
        group = self.shape[-3] // max(Hk, 1)
        return allowed.reshape(*batch, Hk, group * L, S).any(-2)


def four_sizes(shape):
    """Return B, H, L, S of scores (..., H, L, S) or (L, S)."""
    *batch, H, L, S = (1,) * (3 - len(shape)) + shape
    return math.prod(batch), H, L, S


def _masks(options, shape):
    """Return a list of masks: is_causal, window_size, mask_mod and block_mask."""
    masks = []
    if options.is_causal:
        masks.append(windows.causal(offset=options.causal_align))
    if tuple(options.window_size) != (-1, -1):
        left, right = options.window_size
        masks.append(windows.sliding_window(left, right, options.causal_align))
    if options.mask_mod is not None:
        is_mask = isinstance(options.mask_mod, algebra.Mask)
        mask_mod = options.mask_mod if is_mask else algebra.mask_mod(options.mask_mod)
        masks.append(mask_mod)
    if options.block_mask is not None:
        masks.append(_mask_of_blocks(options.block_mask, shape))
    return masks


def _mask_of_blocks(block_mask, shape):
    """Return the mask of a BlockMask, if it was made for scores of this shape."""
    if not isinstance(block_mask, BlockMask):
        raise TypeError(
            f"{NAME}: block_mask is of type {type(block_mask).__name__}; expected a "
            "BlockMask such as BlockMask.from_mask(mask, L, S). Pass a mask as "
            "mask_mod."
        )
    block_mask.check(*four_sizes(shape))
    return block_mask.mask


def _mask_of_array(allowed, shape):
    """Return a mask from a bool array that broadcasts to (..., H, L, S)."""
    axes = max(len(shape), 3)
    allowed = allowed.reshape((1,) * (axes - allowed.ndim) + allowed.shape)
    *batch, H, L, S = allowed.shape  # each 1, or the size of the scores
    if math.prod(batch) > 1:
        batch = shape[:-3]
        allowed = np.broadcast_to(allowed, (*batch, H, L, S))
    return arrays.from_array(allowed.reshape(math.prod(batch), H, L, S))


def _offset_values(bias, shape):
    """Return the values (H | 1, L + S - 1) of an OffsetBias, if they fit the scores."""
    *heads, L, S = shape
    (H,), n = heads[-1:] or (1,), max(L + S - 1, 0)
    if bias.values.shape not in ((H, n), (1, n)):
        raise ValueError(
            f"{NAME}: bias is an OffsetBias of shape {bias.values.shape}; expected "
            f"(H | 1, L + S - 1) = ({H} | 1, {n})."
        )
    return bias.values


def _float_bias(bias, shape):
    """Return the bias, if it is of floats and broadcasts to the scores."""
    if plain(bias).dtype.kind != "f":
        found = type(bias).__name__ if callable(bias) else plain(bias).dtype
        raise TypeError(
            f"{NAME}: bias is {found}; expected floating-point numbers, which are "
            "added to the scores. Call a function: bias(L, S). Pass a bool array as "
            "attn_mask."
        )
    try:
        broadcastable(NAME, "bias", plain(bias).shape, shape)
    except ValueError as error:
        raise ValueError(
            f"{error} For values (H | 1, L + S - 1) by offset, pass OffsetBias(values)."
        ) from None
    return bias


def _cast(x, dtype):
    """Return the same floats as a Tensor of that dtype."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    with np.errstate(over="ignore"):  # -1e300 becomes -inf in float32
        return x if x.dtype == dtype else astype(x, dtype)
