"""Operations that copy or move entries: reshape, transpose, expand, concat, pad, ...

    y_p = x_{i(p)}        dL/dx_i = sum of g_p over all p with i(p) = i

Entry p of the result is entry i(p) of x. So the backward adds the gradient of each copy
to the gradient of the entry. Results may be views.
"""

import itertools

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..arguments import number, plain
from ..differentiable import differentiable


@differentiable
def reshape(x, shape):
    """Return the same values in another shape; one length may be -1, for the rest."""
    x = np.asarray(x)
    before = x.shape
    return x.reshape(shape), lambda g: g.reshape(before)


@differentiable
def transpose(x, axes=None):
    """Permute the axes: y.shape[i] = x.shape[axes[i]]; None reverses them.

    Axis i of g belongs to axis axes[i] of x: the inverse permutation is argsort(axes).
    """
    x = np.asarray(x)
    if axes is None:
        return x.transpose(), lambda g: g.transpose()
    back = np.argsort(normalize_axis_tuple(axes, x.ndim))
    return x.transpose(axes), lambda g: g.transpose(back)


@differentiable
def swapaxes(x, axis1, axis2):
    """Exchange two axes. Exchanging them again brings the gradient back."""
    return np.swapaxes(x, axis1, axis2), lambda g: g.swapaxes(axis1, axis2)


@differentiable
def expand(x, shape):
    """Broadcast x to ``shape`` without copying; -1 keeps an axis as it is.

    The backward pass adds up the gradients of all copies, in ``unbroadcast``.
    Raises ValueError when x does not broadcast to ``shape``.
    """
    x = np.asarray(x)
    wanted = tuple(np.atleast_1d(shape).tolist())
    lead = len(wanted) - x.ndim
    full = tuple(
        x.shape[i - lead] if n == -1 and i >= lead >= 0 else n
        for i, n in enumerate(wanted)
    )
    fits = lead >= 0 and all(n in (1, m) for n, m in zip(x.shape, full[lead:]))
    if not fits or any(n < 0 for n in full):
        raise ValueError(
            f"expand: shape {x.shape} does not broadcast to {wanted}. Compare the axes "
            "from the right: an axis of the tensor must have the new length, or length "
            "1. -1 is allowed only for an axis that the tensor has."
        )
    return np.broadcast_to(x, full), lambda g: g


@differentiable
def squeeze(x, axis=None):
    """Drop axes of length one: those named by ``axis`` (integer or tuple), or all."""
    x = np.asarray(x)
    before = x.shape
    return x.squeeze(axis), lambda g: g.reshape(before)


@differentiable
def unsqueeze(x, axis):
    """Insert an axis of length one at ``axis`` of the result, or several axes."""
    x = np.asarray(x)
    before = x.shape
    return np.expand_dims(x, axis), lambda g: g.reshape(before)


@differentiable
def concat(tensors, axis=0):
    """Join a list of tensors along an existing axis. Each gets its own slice of g."""
    arrays = _list_of_arrays("concat", tensors)
    y = np.concatenate(arrays, axis)
    ends = itertools.accumulate((a.shape[axis] for a in arrays), initial=0)
    slices = [slice(*pair) for pair in itertools.pairwise(ends)]
    before = (slice(None),) * (axis % y.ndim)
    return y, lambda g: tuple(g[*before, piece] for piece in slices)


@differentiable
def stack(tensors, axis=0):
    """Join a list of tensors of one shape along a new axis. Each gets its own slice."""
    arrays = _list_of_arrays("stack", tensors)
    return np.stack(arrays, axis), lambda g: tuple(np.moveaxis(g, axis, 0))


@differentiable
def split(x, sections, axis=0):
    """Cut x into a tuple of tensors along ``axis``, as ``numpy.split`` does.

    sections   an integer: that many equal pieces (in torch: pieces of that *size*);
               a list of positions: cut before each of them

    The inverse of concat: the gradients of the pieces are joined again.
    Raises ValueError when an integer does not divide the axis, or cuts go backwards.
    """
    x = np.asarray(x)
    n = x.shape[normalize_axis_index(axis, x.ndim)]
    if isinstance(sections, int) and (sections < 1 or n % sections):
        raise ValueError(
            f"split: axis {axis} of shape {x.shape} has length {n}, which does not "
            f"divide into {sections} equal pieces; give a list of cuts instead."
        )
    is_list = isinstance(sections, (list, tuple))
    if is_list and sum(sections) == n and (np.diff(sections) <= 0).any():
        raise ValueError(
            f"split: the numbers {sections} have the sum {n}, the length of the axis. "
            "They are positions here, not lengths as in PyTorch; write "
            f"{np.cumsum(sections)[:-1].tolist()}."
        )
    pieces = tuple(np.split(x, sections, axis))
    if sum(piece.shape[axis] for piece in pieces) != n:
        raise ValueError(f"split: the cuts {sections} must not go backwards.")
    return pieces, lambda g: np.concatenate(g, axis)


@differentiable
def pad(x, pad_width, value=0.0):
    """Surround x with a constant, which has no gradient.

    pad_width   as in ``numpy.pad``: n, (before, after), or one such pair for each axis
    """
    number("pad", "value", value, finite=False)
    x = np.asarray(x)
    try:
        widths = np.broadcast_to(pad_width, (x.ndim, 2)).tolist()
    except ValueError:
        widths = [[-1]]
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError(
            f"pad: pad_width={pad_width} for shape {x.shape}; it must be n, (before, "
            "after), or one such pair for each axis, none negative."
        )
    shape = [before + n + after for n, (before, after) in zip(x.shape, widths)]
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths))
    if np.asarray(value, x.dtype) != value and x.dtype.kind in "biu":
        raise TypeError(f"pad: x is {x.dtype}, which cannot hold the value {value}.")
    y = np.full(shape, value, x.dtype)
    y[inner] = x
    return y, lambda g: g[inner]


@differentiable
def flip(x, axis=None):
    """Reverse the order along an axis, along several, or (None) along all."""
    return np.flip(x, axis), lambda g: np.flip(g, axis)


@differentiable
def astype(x, dtype):
    """Convert x to another dtype; the backward pass converts g back.

    Raises TypeError if floats would become anything else, such as integers: rounding
    has the derivative 0, so no gradient could pass.
    """
    x, dtype = np.asarray(x), np.dtype(dtype)
    if x.dtype.kind == "f" and dtype.kind != "f":
        raise TypeError(
            f"astype: no gradient passes from {dtype} back to {x.dtype}. Without a "
            "gradient, convert the array: tensor.data.astype(...)."
        )
    return x.astype(dtype), lambda g: g


def _list_of_arrays(name, tensors):
    is_list = isinstance(tensors, (list, tuple))
    if not is_list or not tensors:
        found = "no tensor" if is_list else type(tensors).__name__
        raise TypeError(
            f"{name}: found {found}; expected a list of one tensor or more."
        )
    arrays = [a if isinstance(a, (int, float)) else plain(a) for a in tensors]
    dtype = np.result_type(*arrays)  # a number of Python's does not change it
    return [np.asarray(a, dtype) for a in arrays]
