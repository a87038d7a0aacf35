"""Softmax and its logarithm, without masks (``attention`` has a masked softmax)."""

import numpy as np

from ..differentiable import differentiable


@differentiable
def softmax(x, axis=-1):
    """Turn scores into weights that sum to one along ``axis``.

        y_i = exp(x_i - m) / sum_j exp(x_j - m),   m = max_j x_j

    With g = dL/dy and dy_i/dx_k = y_i (delta_ik - y_k),

        dL/dx_k = sum_i g_i y_i (delta_ik - y_k) = y_k (g_k - sum_i g_i y_i)

    The n x n Jacobian is never formed. A constant g gives 0: a check that sums y proves
    nothing. A row whose entries are all -inf gives 0/0 = NaN; ``masked_softmax`` in
    ``attention`` allows such rows.
    """
    x = np.asarray(x)
    with np.errstate(invalid="ignore"):
        e = np.exp(x - _largest(x, axis))
        y = e / e.sum(axis, keepdims=True)

    def backward(g):
        return y * (g - (g * y).sum(axis, keepdims=True))

    return y, backward


@differentiable
def log_softmax(x, axis=-1):
    """The logarithm of softmax, without ever forming a weight that underflows.

    y_i = z_i - ln sum_j exp(z_j),   z_i = x_i - max_j x_j

    With dy_i/dx_k = delta_ik - softmax(x)_k,

        dL/dx_k = g_k - exp(y_k) sum_i g_i
    """
    x = np.asarray(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = x - _largest(x, axis)
        y = z - np.log(np.exp(z).sum(axis, keepdims=True))

    def backward(g):
        return g - np.exp(y) * g.sum(axis, keepdims=True)

    return y, backward


def _largest(x, axis):
    """Return max_j x_j; for an empty x any number will do."""
    return x.max(axis, keepdims=True) if x.size else 0.0
