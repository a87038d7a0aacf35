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

POWERS32 = tuple(map(real, polynomial(TERMS[4])))
POWERS64 = tuple(polynomial(TERMS[8]))
MIDDLE32, HALF32, ROOT_HALF32 = real(MIDDLE), real(0.5), real(math.sqrt(0.5))
DENSITY64 = (2 * math.pi) ** -0.5  # phi(0)
DENSITY32 = real(DENSITY64)


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


def _density_and_tail32(x):
    """phi(x) and P(X > x) for 0 <= x <= 40."""
    z = x * ROOT_HALF32
    t = (z - MIDDLE32) / (z + MIDDLE32)
    f = POWERS32[0]
    for c in POWERS32[1:]:
        f = f * t + c
    e = exp(-HALF32 * x * x)
    return DENSITY32 * e, HALF32 * e * f


def _density_and_tail64(x):
    z = x * math.sqrt(0.5)
    t = (z - MIDDLE) / (z + MIDDLE)
    f = POWERS64[0]
    for c in POWERS64[1:]:
        f = f * t + c
    e = exp(-0.5 * x * x)
    return DENSITY64 * e, 0.5 * e * f


density_and_tail = Helper(_density_and_tail32, _density_and_tail64)
