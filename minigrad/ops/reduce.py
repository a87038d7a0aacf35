"""Sums, means, extremes and the like along axes; ``axis`` is as in NumPy.

Except in ``cumsum``, each input enters one output. Its gradient is the gradient g of
this output times a factor. The backward gives g the reduced axes again, with length
one, and broadcasts it.
"""

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..arguments import flag, whole
from ..differentiable import differentiable
from .real import real
from .select import select


@differentiable
def sum(x, axis=None, keepdims=False):
    """y = sum_i x_i.        dL/dx_i = g for every i of the group"""
    x = np.asarray(x)
    shape = x.shape

    def backward(g):
        return np.broadcast_to(_restore(g, axis, keepdims), shape)

    return x.sum(axis, keepdims=keepdims), backward


@differentiable
def mean(x, axis=None, keepdims=False):
    """y = (1/n) sum_i x_i.  dL/dx_i = g / n

    Raises ValueError when there is nothing to average.
    """
    x = np.asarray(x)
    shape, n = x.shape, _count("mean", x, axis)

    def backward(g):
        return np.broadcast_to(_restore(g, axis, keepdims) / n, shape)

    return x.mean(axis, keepdims=keepdims), backward


@differentiable
def max(x, *others, axis=None, keepdims=False):
    """y = max_i x_i.        dL/dx_i = g where x_i = y, shared evenly among ties, else 0

    If the group has a NaN, y is NaN, and the NaN entries share g.
    Raises ValueError when there is nothing to choose from.
    """
    return _extreme("max", x, others, axis, keepdims)


@differentiable
def min(x, *others, axis=None, keepdims=False):
    """y = min_i x_i.        dL/dx_i = g where x_i = y, shared evenly among ties, else 0

    If the group has a NaN, y is NaN, and the NaN entries share g.
    Raises ValueError when there is nothing to choose from.
    """
    return _extreme("min", x, others, axis, keepdims)


@differentiable
def var(x, axis=None, ddof=0, keepdims=False):
    """y = sum_i d_i^2 / (n - ddof),   d_i = x_i - mean(x).

    The mean moves with every x_i, but contributes nothing, because sum_i d_i = 0:

        dL/dx_k = g 2 / (n - ddof) sum_i d_i (delta_ik - 1/n) = g 2 d_k / (n - ddof)

    Raises ValueError unless n > ddof.
    """
    x = np.asarray(x)
    whole("var", "ddof", ddof, least=None)
    n = _count("var", x, axis) - ddof
    if n <= 0:
        raise ValueError(
            f"var: ddof is {ddof} and there are {n + ddof} values; expected ddof below "
            "the number of values."
        )
    d = x - x.mean(axis, keepdims=True)
    y = (d * d).sum(axis, keepdims=keepdims) / n

    def backward(g):
        return _restore(g, axis, keepdims) * (2 / n) * d

    return y, backward


@differentiable
def logsumexp(x, axis=None, keepdims=False):
    """y = ln sum_i e^(x_i), computed as m + ln sum_i e^(x_i - m) with m = max_i x_i.

        dL/dx_i = g e^(x_i - m) / sum_j e^(x_j - m)                (softmax)

    The code does not use g e^(x_i - y): if |m| is large, the rounding error of y would
    change the weights. If there are no values, or all are -inf, then y = -inf and the
    gradient is 0.
    """
    x = real(x)
    m = x.max(axis, keepdims=True, initial=-np.inf)
    m = np.where(np.isfinite(m), m, 0)  # inf - inf would be NaN
    with np.errstate(divide="ignore", over="ignore"):
        e = np.exp(x - m)
        total = e.sum(axis, keepdims=True)
        y = m + np.log(total)

    def backward(g):
        divisor = np.where(total == 0, 1, total)  # all -inf: no share, and no 0/0
        with np.errstate(invalid="ignore"):
            return _restore(g, axis, keepdims) * (e / divisor)

    return _drop("logsumexp", y, axis, keepdims), backward


@differentiable
def cumsum(x, axis=None):
    """y_i = sum of x_j over j <= i; axis None runs through the flattened array.

    x_j enters every y_i with i >= j:   dL/dx_j = sum of g_i over i >= j,
    a cumulative sum from the other end.
    """
    x = np.asarray(x)
    shape = x.shape

    def backward(g):
        along = 0 if axis is None else axis
        return np.flip(np.flip(g, along).cumsum(along), along).reshape(shape)

    return x.cumsum(axis), backward


def _restore(g, axis, keepdims):
    """Put the axes that a reduction dropped back, with length one."""
    return g if keepdims or axis is None else np.expand_dims(g, axis)


def _drop(name, y, axis, keepdims):
    """Drop the axes that were kept with length one."""
    return y if flag(name, "keepdims", keepdims) else y.squeeze(axis)


def _count(name, x, axis):
    """Return the number of values of each output; raise ValueError if it is 0."""
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    n = math.prod(x.shape[i] for i in axes)
    if n == 0:
        along = "" if axis is None else f" along axis {axis}"
        raise ValueError(f"{name}: there are no values{along} of shape {x.shape}.")
    return n


def _extreme(name, x, others, axis, keepdims):
    """Return the largest or smallest x, and the backward: all that equal it share g."""
    if others:
        raise TypeError(
            f"{name} takes its axis by name: write {name}(axis=...) for the values, and "
            f"x.data.arg{name}(axis) for the indices. PyTorch's {name}(axis) has both. "
            f"{name}imum(a, b) compares two tensors."
        )
    x = np.asarray(x)
    _count(name, x, axis)
    y = getattr(x, name)(axis, keepdims=True)

    def backward(g):
        chosen = (x == y) | np.isnan(x)  # if x has a NaN, y is NaN and equals nothing
        ties = chosen.sum(axis, keepdims=True, dtype=g.dtype)
        share = _restore(g, axis, keepdims) / ties
        return select(chosen, share)

    return _drop(name, y, axis, keepdims), backward
