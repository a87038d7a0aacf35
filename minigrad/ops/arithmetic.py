"""Arithmetic on each element. Two operands are broadcast as in NumPy.

y_i depends on x_i alone, so the Jacobian is diagonal: dL/dx_i = g_i dy_i/dx_i. Where
an operand was broadcast, the engine sums its gradient down (``graph.unbroadcast``).
A Python number is a constant and never changes the dtype.

A gradient that goes to some elements only is chosen by ``np.where(condition, g, 0)``:
the product g * condition would turn an infinite g into inf * 0 = NaN.
"""

import numpy as np

from ..differentiable import differentiable


@differentiable
def add(a, b):
    """y = a + b.        dL/da = g,   dL/db = g"""
    return a + b, lambda g: (g, g)


@differentiable
def sub(a, b):
    """y = a - b.        dL/da = g,   dL/db = -g"""
    return a - b, lambda g: (g, -g)


@differentiable
def mul(a, b):
    """y = a b.          dL/da = g b,   dL/db = g a"""
    return a * b, lambda g: (
        g * b if isinstance(a, np.ndarray) else None,  # a number has no gradient
        g * a if isinstance(b, np.ndarray) else None,
    )


@differentiable
def div(a, b):
    """y = a / b.        dL/da = g / b,   dL/db = -g a / b^2 = -(g / b) y"""
    y = a / b

    def backward(g):
        da = g / b
        return da, -da * y if isinstance(b, np.ndarray) else None

    return y, backward


@differentiable
def neg(x):
    """y = -x.           dL/dx = -g"""
    return -x, lambda g: -g


@differentiable
def pow(a, b):
    """y = a^b, for a base and an exponent that may each be an array or a number.

        dL/da = g b a^(b - 1),     dL/db = g a^b ln a

    Where one factor is 0 and another infinite, the gradient is not their product, NaN:
    dL/da = 0 where b = 0, since a^0 = 1 for every a, and dL/db = 0 where a = 0 <= b.
    A negative base has real powers at integer exponents only: there dL/db is NaN.
    """
    y = a**b

    def backward(g, needs):
        da = db = None
        with np.errstate(divide="ignore", invalid="ignore"):
            if needs[0]:
                da = np.where(b != 0, g * (b * a ** (b - 1)), 0)
            if needs[1]:
                db = np.where((a != 0) | (b < 0), g * (y * np.log(a)), 0)
        return da, db

    return y, backward


@differentiable
def exp(x):
    """y = e^x.          dL/dx = g y"""
    y = np.exp(x)
    return y, lambda g: g * y


@differentiable
def log(x):
    """y = ln x.         dL/dx = g / x.   As in NumPy, ln 0 = -inf."""
    return np.log(x), lambda g: g / x


@differentiable
def sqrt(x):
    """y = x^(1/2).      dL/dx = g / (2 y), which is infinite at 0."""
    y = np.sqrt(x)

    def backward(g):
        with np.errstate(divide="ignore", invalid="ignore"):
            return g / (2 * y)

    return y, backward


@differentiable
def abs(x):
    """y = |x|.          dL/dx = g sign(x), and 0 at 0: the middle of [-1, 1]."""
    return np.abs(x), lambda g: g * np.sign(x)


@differentiable
def maximum(a, b):
    """y = max(a, b).    The gradient goes to the larger; of equals, half to each."""

    def backward(g):
        half = np.where(a == b, g / 2, 0)
        return np.where(a > b, g, half), np.where(a < b, g, half)

    return np.maximum(a, b), backward


@differentiable
def minimum(a, b):
    """y = min(a, b).    The gradient goes to the smaller; of equals, half to each."""

    def backward(g):
        half = np.where(a == b, g / 2, 0)
        return np.where(a < b, g, half), np.where(a > b, g, half)

    return np.minimum(a, b), backward


@differentiable
def where(condition, x, y):
    """z = x where the condition holds, else y. The gradient goes where z came from.

    condition   boolean, a constant; the three are broadcast together

    What was not chosen receives 0, even where its own derivative is infinite or NaN.
    """
    condition = np.asarray(condition, bool)

    def backward(g):
        return None, np.where(condition, g, 0), np.where(condition, 0, g)

    return np.where(condition, x, y), backward


@differentiable
def clip(x, min=None, max=None):
    """y = x between min and max, with min <= max; None stands for no bound.

    The gradient goes to the value taken: x inside and on the borders, else a bound.
    """
    y = x if min is None else np.maximum(x, min)
    y = y if max is None else np.minimum(y, max)

    def backward(g, needs):
        taken = (y == x, y > x, y < x)  # x, min, max
        return tuple(np.where(t, g, 0) if n else None for t, n in zip(taken, needs))

    return y, backward
