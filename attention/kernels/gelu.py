"""The compiled loop of ``minigrad.gelu``: y = x Phi(x), and its slope, in one pass.

The twin is ``minigrad/ops/activation.py``, and ``minigrad/ops/normal.py`` has the
formula of Phi. One exponential serves the tail of Phi and the density phi.
"""

import math

import numpy as np

from minigrad.ops.normal import TERMS, polynomial
from minigrad.ops.normal import K as MIDDLE

from .choice import EXP
from .compiling import Helper, kernel, reads, writes
from .elementary import exp, real
from .pool import WORTH_A_CALL

BLOCK = 2048  # numbers of a work item


def gelu(x, approximate="none"):
    """Compute ``minigrad.gelu``; NotImplemented if its taught form should run."""
    if approximate != "none" or not isinstance(x, np.ndarray):
        return NotImplemented
    work = EXP * x.size
    if work < WORTH_A_CALL:
        return NotImplemented
    loop = forward_loop.on_threads(x.dtype, work)
    if loop is None:
        return NotImplemented
    y, slope = np.empty((2, *x.shape), x.dtype)
    flat = np.ascontiguousarray(x).ravel()
    loop(-(-x.size // BLOCK), flat, y.ravel(), slope.ravel())
    return y, lambda g: g * slope


@kernel
def forward_loop(start: int, stop: int, x: reads(1), y: writes(1), slope: writes(1)):
    """y = x Phi(x), slope = dy/dx = Phi(x) + x phi(x)"""
    zero, one, most = x.dtype.type(0), x.dtype.type(1), x.dtype.type(40)
    for item in range(start, stop):
        block = slice(item * BLOCK, min((item + 1) * BLOCK, x.size))
        x_b, y_b, slope_b = x[block], y[block], slope[block]
        for i in range(x_b.size):
            size = abs(x_b[i])
            size = most if size > most else size
            phi, tail = density_and_tail(size)
            Phi = one - tail if x_b[i] > zero else tail
            y_b[i] = x_b[i] * Phi
            slope_b[i] = Phi + x_b[i] * phi


def _density_and_tail(real, powers):
    """Return the function for one dtype; ``powers`` are the coefficients of f."""
    middle, half, density = real(MIDDLE), real(0.5), real((2 * math.pi) ** -0.5)
    root_half = real(math.sqrt(0.5))

    def density_and_tail(x):
        """phi(x) and P(X > x) for 0 <= x <= 40."""
        z = x * root_half
        t = (z - middle) / (z + middle)
        f = powers[0]
        for c in powers[1:]:
            f = f * t + c
        e = exp(-half * x * x)
        return density * e, half * e * f

    return density_and_tail


density_and_tail = Helper(
    _density_and_tail(real, tuple(map(real, polynomial(TERMS[4])))),
    _density_and_tail(np.float64, tuple(polynomial(TERMS[8]))),
)
