"""What a call is given as masks and float arrays: which pairs may attend, and a bias.

Exact attention makes ``Pairs``, from which tiles take a mask and the whole matrix of
scores an array. ``allowed_pairs`` returns arrays, for any axes, also with lengths.
"""

import functools
import math
import operator

import numpy as np

from minigrad import Tensor, astype
from minigrad.arguments import between, broadcastable, plain
from minigrad.arguments import mask as check_mask

from .algebra import Mask, as_mask
from .arrays import from_array
from .block_mask import BlockMask


class Pairs:
    """Which pairs may attend, of scores of a shape (..., H, L, S) and a dtype.

    given   {argument: None; a Mask, a BlockMask, or a function (b, h, q_idx, kv_idx);
            or an array that broadcasts to the scores: bool, True = may attend, or
            float, which is added, and masks where it is -inf}
    bias    a float array, which is added as such a mask is; an OffsetBias; or None

    sizes   B, H, L, S; B counts the examples of all axes before the heads
    masks   functions and bool arrays: a pair may attend if all of them allow it
    added   what is added to the scores, a Tensor, or None
    offset  what is added by offset, (H | 1, L + S - 1), or None
    """

    offset = None

    def __init__(self, name, shape, dtype, given, bias=None):
        self.shape, self.sizes, self.masks, terms = shape, four_sizes(shape), [], []
        if hasattr(bias, "matrix"):
            self.offset = cast(self._values_of(name, bias), dtype)
        elif bias is not None:
            given = given | {"bias": _floats(name, bias, shape)}
        for argument, mask in given.items():
            if is_function(mask):
                self.masks.append(mask)
            elif mask is not None:
                allowed, term = from_numbers(name, argument, mask, shape, dtype)
                terms += [] if term is None else [term]
                self.masks += [] if allowed.all() else [allowed]
        self.added = functools.reduce(operator.add, terms) if terms else None

    def dense(self):
        """Return a bool array that broadcasts to the scores, or None: all pairs."""
        arrays = [dense(m, self.shape) if is_function(m) else m for m in self.masks]
        return functools.reduce(operator.and_, arrays) if arrays else None

    def one_mask(self):
        """Return a Mask, a BlockMask, or None: all pairs."""
        if len(self.masks) == 1 and isinstance(self.masks[0], BlockMask):
            return self.masks[0]  # its plan of tiles is kept from call to call
        found = []
        for mask in self.masks:
            if isinstance(mask, BlockMask):
                mask.check(*self.sizes)
                mask = mask.mask
            found.append(as_mask(mask) if is_function(mask) else self._of_array(mask))
        return functools.reduce(operator.and_, found) if found else None

    def _values_of(self, name, bias):
        """Return the values of an OffsetBias, if they fit the scores."""
        _, H, L, S = self.sizes
        n = max(L + S - 1, 0)
        if bias.values.shape not in ((H, n), (1, n)):
            raise ValueError(
                f"{name}: bias is an OffsetBias of shape {bias.values.shape}; expected "
                f"(H | 1, L + S - 1) = ({H} | 1, {n})."
            )
        return bias.values

    def _of_array(self, allowed):
        """Return a mask from a bool array that broadcasts to the scores."""
        axes = max(len(self.shape), 3)
        allowed = allowed.reshape((1,) * (axes - allowed.ndim) + allowed.shape)
        *batch, H, L, S = allowed.shape  # each 1, or the size of the scores
        if math.prod(batch) > 1:
            batch = self.shape[:-3]
            allowed = np.broadcast_to(allowed, (*batch, H, L, S))
        return from_array(allowed.reshape(math.prod(batch), H, L, S))


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


def _floats(name, bias, shape):
    """Return the bias if it is an array of floats that broadcasts to the scores."""
    found = plain(bias)
    if found.dtype.kind != "f":
        found = type(bias).__name__ if callable(bias) else found.dtype
        raise TypeError(
            f"{name}: bias is {found}; expected floating-point numbers, which are "
            "added to the scores. Call a function: bias(L, S). Pass a bool array as a "
            "mask."
        )
    try:
        broadcastable(name, "bias", found.shape, shape)
    except ValueError as error:
        raise ValueError(
            f"{error} For values (H | 1, L + S - 1) by offset, pass OffsetBias(values)."
        ) from None
    return bias
