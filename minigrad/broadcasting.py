"""Give the gradient of an input the shape and dtype of that input."""

import numpy as np


def unbroadcast(g, shape):
    """Sum ``g`` over the axes along which an array x of this shape was repeated.

    Broadcasting repeats x along new leading axes and along axes of length one. Each
    copy receives its own gradient. The gradient of x is the sum of the gradients of its
    copies:

        y_{ij} = x_j   for all i      =>      dL/dx_j = sum_i g_{ij}

    Raises ValueError if ``shape`` cannot be broadcast to ``g.shape``.
    """
    new_axes = g.ndim - len(shape)
    if new_axes < 0 or any(n not in (1, m) for n, m in zip(shape, g.shape[new_axes:])):
        raise ValueError(
            f"found a gradient of shape {g.shape} for a tensor of shape "
            f"{tuple(shape)}, which does not broadcast to {g.shape}."
        )
    repeated_axes = tuple(range(new_axes)) + tuple(
        new_axes + axis
        for axis, n in enumerate(shape)
        if n == 1 and g.shape[new_axes + axis] != 1
    )
    if repeated_axes:
        g = g.sum(axis=repeated_axes, keepdims=True)
    return g.reshape(shape)


def fit_to_input(d, x):
    """Return the gradient ``d`` with the shape and dtype of the input ``x``."""
    if not hasattr(d, "shape"):
        raise TypeError(
            f"found a {type(d).__name__} as a gradient; expected an array or None."
        )
    return np.asarray(unbroadcast(d, x.shape), x.dtype)
