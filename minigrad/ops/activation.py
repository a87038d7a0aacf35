"""Activation functions of single elements.

With the gradient of the output, g = dL/dy, each of them has dL/dx_i = g_i dy_i/dx_i.
"""

import numpy as np

from ..arguments import number, one_of
from ..differentiable import differentiable
from ..loops import replaceable
from .normal import normal_cdf
from .real import real
from .select import select


@differentiable
def tanh(x):
    """y = tanh x.       dL/dx = g (1 - y^2)"""
    y = np.tanh(real(x))
    return y, lambda g: g * (1 - y * y)


@differentiable
def sigmoid(x):
    """y = 1 / (1 + e^-x).       dL/dx = g y (1 - y)

    Far below zero e^-x overflows to inf, whose reciprocal 0 is the right limit.
    """
    y = _sigmoid(real(x))
    return y, lambda g: g * (y * (1 - y))


@differentiable
def silu(x):
    """y = x s,  s = sigmoid(x) = 1 / (1 + e^-x)   (Elfwing et al. 2018), also "swish".

    With ds/dx = s (1 - s):    dL/dx = g (s + x s (1 - s)) = g (s + y (1 - s))
    """
    x = real(x)
    s = _sigmoid(x)
    y = x * s
    return y, lambda g: g * (s + y * (1 - s))


@differentiable
def relu(x):
    """y = max(x, 0).    dL/dx = 0 where x <= 0, else g. So dL/dx = g where x is NaN."""
    y = np.maximum(x, 0)
    return y, lambda g: select(~(y <= 0), g)


@differentiable
def elu(x, alpha=1.0):
    """y = x where x > 0, else alpha (e^x - 1)  (Clevert et al. 2016, section 3).

    dL/dx = g where x > 0, else g alpha e^x. Where x is NaN, y is NaN and dL/dx = g.
    """
    number("elu", "alpha", alpha)
    x = real(x)
    below = np.minimum(x, 0)  # where x > 0, e^x is unused and could overflow

    def backward(g):
        return select(~(x <= 0), g) + select(x <= 0, g * (alpha * np.exp(below)))

    return np.maximum(x, 0) + alpha * np.expm1(below), backward


@differentiable
@replaceable
def gelu(x, approximate="none"):
    """y = x P(X <= x) = x Phi(x) for a standard normal X  (Hendrycks & Gimpel 2016).

    approximate   "none", or "tanh": Phi(x) ~ (1 + tanh u) / 2,
                  u = c (x + 0.044715 x^3),  c = sqrt(2 / pi)

    With the density phi = dPhi/dx = e^(-x^2 / 2) / sqrt(2 pi),

        dL/dx = g (Phi(x) + x phi(x));    for "tanh", phi is (1 - tanh^2 u) u' / 2

    Raises ValueError for another ``approximate``.
    """
    one_of("gelu", "approximate", approximate, ("none", "tanh"))
    x = real(x)
    if approximate == "none":
        Phi = normal_cdf(x)

        def backward(g):
            phi = np.exp(-0.5 * x * x) * (2 * np.pi) ** -0.5
            return g * (Phi + x * phi)

        return x * Phi, backward

    c = (2 / np.pi) ** 0.5
    t = np.tanh(c * x * (1 + 0.044715 * x * x))
    Phi = 0.5 * (1 + t)

    def backward(g):
        phi = 0.5 * (1 - t * t) * (c * (1 + 3 * 0.044715 * x * x))
        return g * (Phi + x * phi)

    return x * Phi, backward


@differentiable
def softplus(x, beta=1.0):
    """y = ln(1 + e^(beta x)) / beta, a smooth max(x, 0).      dL/dx = g sigmoid(beta x)

    Computed as (max(z, 0) + ln(1 + e^-|z|)) / beta with z = beta x: nothing overflows.
    """
    number("softplus", "beta", beta, positive=True)
    z = beta * real(x)
    y = (np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))) / beta
    return y, lambda g: g * _sigmoid(z)


def _sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))
