"""Softmax and its logarithm, without masks (``attention`` has a masked softmax)."""

import numpy as np

from ..differentiable import differentiable
from .real import real


@differentiable
def softmax(x, axis=-1):
    """Compute weights from scores; the weights sum to one along ``axis``.

        y_i = e_i / Z,   e_i = exp(x_i - m),   Z = sum_j e_j,   m = max_j x_j

    Subtracting the maximum m does not change y, and exp cannot overflow. So m counts as
    a constant: de_i/dx_k = delta_ik e_i and dZ/dx_k = e_k, where delta_ik = 1 if i = k,
    otherwise 0. The quotient rule gives the Jacobian, and with g = dL/dy the chain rule
    gives the gradient:

        dy_i/dx_k = (delta_ik e_i Z - e_i e_k) / Z^2 = y_i (delta_ik - y_k)
        dL/dx_k = sum_i g_i y_i (delta_ik - y_k) = y_k (g_k - sum_i g_i y_i)

    The code computes the right side, without the Jacobian.

    A row with only -inf gives NaN: x - m = -inf + inf. ``masked_softmax`` in
    ``attention`` returns weights of 0 for such a row.
    """
    x = real(x)
    with np.errstate(invalid="ignore"):
        e = np.exp(x - _maximum(x, axis))  # x - m; for an empty x, m is 0
        y = e / e.sum(axis, keepdims=True)

    def backward(g):
        return y * (g - (g * y).sum(axis, keepdims=True))

    return y, backward


# ---- A first reading can stop here ----


@differentiable
def log_softmax(x, axis=-1):
    """Compute the logarithm of softmax.

        y_i = z_i - ln sum_j exp(z_j),   z_i = x_i - max_j x_j

    If a weight is so small that it underflows to 0, y is still finite: the code does
    not compute ln 0. With dy_i/dx_k = delta_ik - softmax(x)_k and softmax(x) = exp(y),

        dL/dx_k = g_k - exp(y_k) sum_i g_i
    """
    x = real(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = x - _maximum(x, axis)
        y = z - np.log(np.exp(z).sum(axis, keepdims=True))

    def backward(g):
        return g - np.exp(y) * g.sum(axis, keepdims=True)

    return y, backward


def _maximum(x, axis):
    """Return max_j x_j; 0 for an empty x, where the value does not matter."""
    return x.max(axis, keepdims=True) if x.size else 0.0
