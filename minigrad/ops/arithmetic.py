"""Arithmetic on single elements: each operation with its formula and its derivative.

L is the loss, one number, and y is the output of an operation. The backward pass starts
at L. It gives each operation the gradient of its output, g = dL/dy, and the operation
computes the gradients of its inputs from g by the chain rule.

Each function takes arrays and returns ``(output, backward)``. Its ``backward`` maps g
to the gradient of the input, or to a tuple of gradients for several inputs; in code, da
is short for dL/da. Some functions have a parameter ``needs``, a tuple of booleans: for
each input, whether its gradient is needed. ``@differentiable`` passes it, and turns the
function into an operation on tensors, which are arrays with gradients.

y_i depends on x_i alone, so dL/dx_i = g_i dy_i/dx_i. Two inputs are broadcast as in
NumPy. If an input was broadcast, ``broadcasting.unbroadcast`` sums its gradient over
the repeated axes. A Python number is a constant: it has no gradient and does not change
the dtype of the result. Integers are treated as in NumPy; where a real number is
needed, as in exp, ``real`` converts them to float64.
"""

import numpy as np

from ..arguments import booleans
from ..differentiable import differentiable
from .real import real


@differentiable
def add(a, b):
    """y = a + b.        dL/da = g,   dL/db = g"""
    return a + b, lambda g: (g, g)


@differentiable
def sub(a, b):
    """y = a - b.        dL/da = g,   dL/db = -g"""
    return a - b, lambda g: (g, -g)


@differentiable
def mul(a, b, *, needs=(True, True)):
    """y = a b.          dL/da = g b,   dL/db = g a"""

    def backward(g):
        da = g * b if needs[0] else None
        db = g * a if needs[1] else None
        return da, db

    return a * b, backward


@differentiable
def div(a, b, *, needs=(True, True)):
    """y = a / b.        dL/da = g / b,   dL/db = -g a / b^2 = -(dL/da) y"""
    y = a / b

    def backward(g):
        da = g / b  # db needs it too
        db = -da * y if needs[1] else None
        return da, db

    return y, backward


@differentiable
def neg(x):
    """y = -x.           dL/dx = -g"""
    return -x, lambda g: -g


@differentiable
def exp(x):
    """y = e^x.          dL/dx = g y"""
    y = np.exp(real(x))
    return y, lambda g: g * y


# ---- A first reading can stop here ----

# As in NumPy, some names hide Python's built-ins: abs, pow, min, max.
# If only some elements receive a gradient, the code uses ``np.where(condition, g, 0)``
# and not g * condition, because inf * 0 = NaN.


@differentiable
def log(x):
    """y = ln x.         dL/dx = g / x.   As in NumPy, ln 0 = -inf."""
    x = real(x)
    return np.log(x), lambda g: g / x


@differentiable
def log1p(x):
    """y = ln(1 + x).    dL/dx = g / (1 + x).   1 + x loses the digits of a small x."""
    x = real(x)
    return np.log1p(x), lambda g: g / (1 + x)


@differentiable
def pow(a, b, *, needs=(True, True)):
    """y = a^b.          The base and the exponent are arrays or numbers.

        dL/da = g b a^(b - 1),     dL/db = g a^b ln a

    Where a product would be 0 * inf = NaN, the backward sets the gradient to 0: dL/da
    if b = 0, because a^0 = 1 for every a, and dL/db if a = 0 and b > 0, because 0^b = 0
    for all these b. At a = b = 0, where 0^b has no slope, dL/db = 0 as in PyTorch.
    For a negative a, a^b is real only at integer b. So it has no derivative in b, and
    dL/db is NaN.
    """
    y = a**b

    def backward(g):
        da = db = None
        if needs[0]:
            da = np.where(b != 0, g * (b * a ** (b - 1)), 0)
        if needs[1]:
            db = np.where((a != 0) | (b < 0), g * (y * np.log(np.asarray(a, y.dtype))), 0)
        return da, db

    return y, backward


@differentiable
def sqrt(x):
    """y = x^(1/2).      dL/dx = g / (2 y), which is infinite at 0."""
    y = np.sqrt(real(x))
    return y, lambda g: g / (2 * y)


@differentiable
def abs(x):
    """y = |x|.          dL/dx = g sign(x)

    At 0 the slope is -1 on the left and 1 on the right; dL/dx uses their mean, 0. For
    NaN, y and dL/dx are NaN.
    """
    return np.abs(x), lambda g: g * np.sign(x)


@differentiable
def maximum(a, b):
    """y = max(a, b).    dL/da = g where a > b, else 0.  dL/db = g where b > a, else 0.

    Where a = b, each receives g / 2. Where one is NaN, y is NaN and each receives g.
    """

    def backward(g):
        share = np.where(a == b, g / 2, g)
        return np.where(a < b, 0, share), np.where(a > b, 0, share)

    return np.maximum(a, b), backward


@differentiable
def minimum(a, b):
    """y = min(a, b).    dL/da = g where a < b, else 0.  dL/db = g where b < a, else 0.

    Where a = b, each receives g / 2. Where one is NaN, y is NaN and each receives g.
    """

    def backward(g):
        share = np.where(a == b, g / 2, g)
        return np.where(a > b, 0, share), np.where(a < b, 0, share)

    return np.minimum(a, b), backward


@differentiable
def where(condition, x, y):
    """z_i = x_i if condition_i is true, otherwise y_i. Here g = dL/dz.

        dL/dx_i = g_i if condition_i is true, otherwise 0
        dL/dy_i = 0 if condition_i is true, otherwise g_i

    condition   boolean; it has no gradient

    The three are broadcast together. An entry that was not chosen receives 0, even if
    g_i is infinite or NaN. But the operation that computed the entry may turn this 0
    into NaN: at x = 0, the gradient of where(x > 0, sqrt(x), 0) is 0 / (2 sqrt(0)).
    Choose the input of sqrt too: where(x > 0, sqrt(where(x > 0, x, 1)), 0).
    """
    condition = booleans("where", "condition", condition)

    def backward(g):
        return None, np.where(condition, g, 0), np.where(condition, 0, g)

    return np.where(condition, x, y), backward


@differentiable
def clip(x, min=None, max=None, *, needs=(True, True, True)):
    """y = min where x < min, max where x > max, else x.

        dL/dx = g where min <= x <= max, else 0
        dL/dmin = g where x < min, else 0        dL/dmax = g where x > max, else 0

    None means no bound; a bound may be a tensor. Where min is larger than max, y is max
    and dL/dmax is g.
    A NaN in x stays NaN and receives g; in PyTorch it receives 0.
    """
    raised = x if min is None else np.maximum(x, min)
    y = raised if max is None else np.minimum(raised, max)

    needs = (*needs, False, False)  # a bound that was not passed has no entry

    def backward(g):
        is_min, is_max = raised > x, raised > y  # both are false for NaN
        dx = np.where(is_min | is_max, 0, g) if needs[0] else None
        dmin = np.where(is_min & ~is_max, g, 0) if needs[1] else None
        dmax = np.where(is_max, g, 0) if needs[2] else None
        return dx, dmin, dmax

    return y, backward
