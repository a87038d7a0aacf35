"""Layer normalisation, and the same without means: the root mean square."""

import math

import numpy as np

from ..arguments import number
from ..differentiable import differentiable
from ..loops import replaceable
from ..shapes import shapes
from .real import real


@differentiable
@replaceable
def layer_norm(x, weight=None, bias=None, eps=1e-5):
    """Normalise the last axis to mean 0 and variance 1, then apply scale and shift.

    Ba et al. 2016, equation 4; x and y are (..., n), the learned weight and bias (n,).

        xhat = (x - mean(x)) / s,   s = sqrt(var(x) + eps),   y = w xhat + b

    If weight (or bias) has k axes, the last k axes are normalised together. With
    g = dL/dy, u = g w = dL/dxhat, delta_ik = 1 if i = k, otherwise 0, and
    dxhat_i/dx_k = (delta_ik - 1/n - xhat_i xhat_k / n) / s,

        dL/dx_k = (u_k - mean(u) - xhat_k mean(u xhat)) / s
        dL/dw = g xhat,    dL/db = g      (unbroadcast sums over leading axes)
    """
    x = np.asarray(x)
    axes = _normalised_axes(x, weight, bias)
    number("layer_norm", "eps", eps, least=0)
    xhat = x - x.mean(axes, keepdims=True)
    s = np.sqrt((xhat * xhat).mean(axes, keepdims=True) + eps)
    xhat /= s
    y = xhat if weight is None else xhat * weight
    y = y if bias is None else y + bias

    def backward(g):
        u = g if weight is None else g * weight
        dx = u - u.mean(axes, keepdims=True)
        dx -= xhat * (u * xhat).mean(axes, keepdims=True)
        dx /= s
        dw = None if weight is None else g * xhat
        return dx, dw, None if bias is None else g

    return y, backward


@shapes
@differentiable
def rms_norm(x, weight=None, eps=1e-6):
    """Divide the last axis by its root mean square r, then apply a scale.

    x (..., n), weight? (n,) or (..., n)  ->  y (..., n)

        xhat = x / r,   r = sqrt(mean(x^2) + eps),   y = w xhat

    Unlike ``layer_norm`` it neither computes a mean nor learns a shift (Zhang and
    Sennrich 2019). With g = dL/dy, u = g w = dL/dxhat, delta_ik = 1 if i = k, otherwise
    0, and dr/dx_k = x_k / (n r),

        dxhat_i/dx_k = delta_ik / r - x_i x_k / (n r^3)
                     = (delta_ik - xhat_i xhat_k / n) / r
        dL/dx_k = (u_k - xhat_k mean(u xhat)) / r
        dL/dw = g xhat      (unbroadcast sums over leading axes)
    """
    number("rms_norm", "eps", eps, least=0)
    x = real(x)
    r = np.sqrt((x * x).mean(-1, keepdims=True) + eps)  # (..., 1)
    xhat = x / r
    y = xhat.copy() if weight is None else xhat * weight

    def backward(g):
        u = g if weight is None else g * weight
        dx = (u - xhat * (u * xhat).mean(-1, keepdims=True)) / r
        return dx, None if weight is None else g * xhat

    return y, backward


def _normalised_axes(x, weight, bias):
    """Return the last axes of x: those of weight and bias; without both, the last."""
    if isinstance(weight, (tuple, int)):
        raise TypeError(
            f"layer_norm: weight is {weight}; expected an array. The axes to normalise "
            "are those of weight, or of bias; without both, the last one."
        )
    parameter = weight if weight is not None else bias
    k = 1 if parameter is None else parameter.ndim
    for name, array in (("weight", weight), ("bias", bias)):
        if array is not None and (k == 0 or array.shape != x.shape[-k:]):
            raise ValueError(
                f"layer_norm: {name} has shape {array.shape}; expected the shape of "
                f"the last axes of x, which has shape {x.shape}."
            )
    if math.prod(x.shape[-k:]) == 0:
        raise ValueError(
            f"layer_norm: x has shape {x.shape}; expected one number or more to "
            "normalise."
        )
    return tuple(range(-k, 0))
