"""What is said about pairs of a query and a key: masks and biases, checked and joined.

The names are those of scaled_dot_product_attention, which says what they mean. All
masks become one, of attention.masks; a float mask and a dense bias become their sum; a
bias by offset stays one.
"""

import functools
import math
import operator

import numpy as np

from minigrad import Tensor, astype

from .. import masks
from ..checks import tensor
from ..masks.block_mask import BlockMask

NAME = "scaled_dot_product_attention"


def joined(
    shape,
    dtype,
    attn_mask,
    is_causal,
    window_size,
    bias,
    mask_mod,
    block_mask,
    causal_align,
):
    """mask, offset, added, as in ``Arguments``; for scores of that shape and dtype."""
    patterns = [
        *_by_distance(is_causal, window_size, causal_align),
        *_mask_mod(mask_mod),
        *_block_mask(block_mask, shape),
    ]
    offset, terms = None, []
    if attn_mask is not None:
        attn_mask = _attn_mask(attn_mask, shape)
        if attn_mask.dtype == bool:
            patterns.append(_of_array(attn_mask, shape))
        else:
            terms.append(_cast(attn_mask, dtype))
    if bias is not None:
        bias = _cast(_bias(bias, shape), dtype)
        if _by_offset(bias, shape):
            offset = bias if bias.ndim == 2 else bias.reshape(1, -1)
        else:
            terms.append(bias)
    added = functools.reduce(operator.add, terms) if terms else None
    if added is not None and (added._data == -np.inf).any():
        patterns.append(_of_array(added._data != -np.inf, shape))
    if block_mask is not None and len(patterns) == 1:
        return block_mask, offset, added
    mask = functools.reduce(operator.and_, patterns) if patterns else None
    return mask, offset, added


def _by_distance(is_causal, window_size, causal_align):
    """Masks that depend on the distance of query and key alone."""
    if causal_align not in ("upper_left", "lower_right"):
        raise ValueError(
            f"{NAME}: causal_align is {causal_align!r}; expected 'upper_left', where "
            "the first query stands at the first key, or 'lower_right', where the last "
            "stands at the last."
        )
    reach = window_size if isinstance(window_size, (tuple, list)) else ()
    if len(reach) != 2 or not all(_is_whole(n) and n >= -1 for n in reach):
        raise ValueError(
            f"{NAME}: window_size is {window_size!r}; expected (left, right), how many "
            "keys before the query's position and after it, -1 for all of them."
        )
    if is_causal:
        yield masks.causal(offset=causal_align)
    if tuple(reach) != (-1, -1):
        yield masks.sliding_window(*reach, causal_align)


def _mask_mod(mask_mod):
    if mask_mod is None:
        return
    if not callable(mask_mod):
        other = "A BlockMask is block_mask"
        if not isinstance(mask_mod, BlockMask):
            other = "An array is attn_mask"
        raise TypeError(
            f"{NAME}: mask_mod is a {type(mask_mod).__name__}; expected a function of "
            f"(b, h, q_idx, kv_idx), or a mask of attention.masks. {other}=."
        )
    is_mask = isinstance(mask_mod, masks.Mask)
    yield mask_mod if is_mask else masks.mask_mod(mask_mod)


def _block_mask(block_mask, shape):
    if block_mask is None:
        return
    if not isinstance(block_mask, BlockMask):
        raise TypeError(
            f"{NAME}: block_mask is a {type(block_mask).__name__}; expected a "
            "BlockMask, such as BlockMask.from_mask(mask, L, S). A mask is mask_mod=."
        )
    *batch, H, L, S = (1,) * (3 - len(shape)) + shape
    block_mask.check(math.prod(batch), H, L, S)
    yield block_mask.mask


def _attn_mask(attn_mask, shape):
    """A bool array, or floats as they came."""
    other = None
    if isinstance(attn_mask, BlockMask):
        other = "a BlockMask; expected an array. Pass it as block_mask="
    elif isinstance(attn_mask, masks.Mask):
        other = f"the mask {attn_mask}; expected an array. Pass it as mask_mod="
    elif callable(attn_mask):
        other = "a function; expected an array. A function of (b, h, q_idx, kv_idx) is"
        other += " mask_mod="
    elif isinstance(attn_mask, str):
        other = f"{attn_mask!r}; expected an array. A causal mask is is_causal=True"
    if other is not None:
        raise TypeError(f"{NAME}: attn_mask is {other}.")
    values = attn_mask._data if isinstance(attn_mask, Tensor) else np.asarray(attn_mask)
    if values.dtype.kind not in "bf":
        raise TypeError(
            f"{NAME}: attn_mask is {values.dtype}; expected bool, where True = may "
            "attend, or float, which is added. Ones and zeros could be meant either "
            "way: write attn_mask == 1 to allow the ones."
        )
    _check_fits("attn_mask", values.shape, shape)
    return values if values.dtype == bool else attn_mask


def _bias(bias, shape):
    if callable(bias):  # no Tensor is, though Modules are
        *_, L, S = shape
        raise TypeError(
            f"{NAME}: bias is a {type(bias).__name__}; expected numbers. Call it: "
            f"bias({L}, {S}) for {L} queries and {S} keys, or bias.by_offset({L}, {S})."
        )
    bias = tensor(NAME, "bias", bias)
    if bias.dtype.kind != "f":
        raise TypeError(
            f"{NAME}: bias is {bias.dtype}; expected floating-point numbers, which are "
            "added to the scores. What may attend to what is a boolean attn_mask=."
        )
    if not _by_offset(bias, shape):
        _check_fits("bias", bias.shape, shape, or_offsets=True)
    return bias


def _by_offset(bias, shape):
    """Whether it is (H | 1, L + S - 1), one value for each offset.

    Where L = 1 that is (H, S), which as a dense bias would not fit unless H = 1; then
    both mean the same, as they do where there are no queries or no keys.
    """
    *heads, L, S = shape
    H = heads[-1] if heads else 1
    offsets = bias.ndim in (1, 2) and bias.shape[-1] == max(L + S - 1, 0)
    dense = bias.shape[-1:] in ((1,), (S,)) and L > 1 and S > 0
    return offsets and not dense and (1, *bias.shape)[-2] in (1, H)


def _check_fits(name, own, shape, or_offsets=False):
    """ValueError unless ``own`` broadcasts to the scores' shape and not beyond it."""
    sizes = zip(reversed(own), reversed(shape))
    if len(own) <= len(shape) and all(m in (1, n) for m, n in sizes):
        return
    *heads, L, S = shape
    or_else = ""
    if or_offsets:
        one = (heads[-1] if heads else 1, max(L + S - 1, 0))
        or_else = f", or one value for each head and offset, {one}"
    raise ValueError(
        f"{NAME}: {name} has shape {own}; expected one that broadcasts to the scores, "
        f"{shape}{or_else}."
    )


def _cast(x, dtype):
    """The same floats as a Tensor of that dtype."""
    x = x if isinstance(x, Tensor) else Tensor(x)
    with np.errstate(over="ignore"):  # -1e300 becomes -inf in float32
        return x if x.dtype == dtype else astype(x, dtype)


def _of_array(allowed, shape):
    """A mask of B examples from a bool array that broadcasts to (..., H, L, S)."""
    *batch, H, L, S = (1,) * (3 - len(shape)) + shape
    allowed = allowed.reshape((1,) * (len(batch) + 3 - allowed.ndim) + allowed.shape)
    own = allowed.shape[: len(batch)]
    if math.prod(own) == 1:
        return masks.from_array(allowed.reshape(1, *allowed.shape[-3:]))
    allowed = np.broadcast_to(allowed, (*batch, *allowed.shape[-3:]))
    return masks.from_array(allowed.reshape(math.prod(batch), *allowed.shape[-3:]))


def _is_whole(n):
    return isinstance(n, (int, np.integer)) and not isinstance(n, (bool, np.bool_))
