"""The compiled loop of ``minigrad.layer_norm``, forward and backward.

The twin is ``minigrad/ops/normalize.py``, with the formulas. The forward saves the mean
and 1 / s of each row, and the backward computes xhat again: that is faster than to
store and load it.
"""

import math

import numpy as np

from .choice import EXP
from .compiling import kernel, reads, writes
from .pool import WORTH_A_CALL

ROWS = 16  # of a work item of the forward
GROUPS = 8  # at most: each group of rows sums dw and db separately


def layer_norm(x, weight=None, bias=None, eps=1e-5):
    """Compute ``minigrad.layer_norm``; NotImplemented if its taught form should run."""
    is_number = type(eps) is float and 0 <= eps < math.inf
    if not is_number or not all(isinstance(a, np.ndarray) for a in (x, weight, bias)):
        return NotImplemented
    shape, k, n = x.shape, weight.ndim, weight.size
    fits = 0 < k <= x.ndim and shape[-k:] == weight.shape == bias.shape
    work = EXP * x.size
    if not fits or not x.dtype == weight.dtype == bias.dtype or work < WORTH_A_CALL:
        return NotImplemented
    loop = forward_loop.on_threads(x.dtype, work)
    back = backward_loop.on_threads(x.dtype, 2 * work)
    if loop is None or back is None:
        return NotImplemented
    R = x.size // n
    X = np.ascontiguousarray(x).reshape(R, n)
    w, b = (np.ascontiguousarray(a).reshape(n) for a in (weight, bias))
    y, mean, rate = np.empty_like(X), *np.empty((2, R), x.dtype)
    loop(-(-R // ROWS), X, w, b, eps, mean, rate, y)

    def backward(g):
        G, dx = np.ascontiguousarray(g).reshape(R, n), np.empty_like(X)
        groups = min(R, GROUPS)
        dw, db = (np.empty((groups, n), x.dtype) for _ in range(2))
        back(groups, G, X, w, mean, rate, dx, dw, db)
        sums = (a.sum(0).reshape(weight.shape) for a in (dw, db))
        return dx.reshape(shape), *sums

    return y.reshape(shape), backward


@kernel
def forward_loop(
    start: int,
    stop: int,
    x: reads(2),
    w: reads(1),
    b: reads(1),
    eps: float,
    mean: writes(1),
    rate: writes(1),
    y: writes(2),
):
    """y = (x - mean) rate w + b, rate = 1 / s; a work item is ROWS rows."""
    (R, n), zero, one = x.shape, x.dtype.type(0), x.dtype.type(1)
    size = x.dtype.type(n)
    for r in range(start * ROWS, min(stop * ROWS, R)):
        x_r, y_r = x[r], y[r]
        total = squares = zero
        for i in range(n):
            total += x_r[i]
        m = total / size
        for i in range(n):
            d = x_r[i] - m
            squares += d * d
        per_s = one / np.sqrt(squares / size + eps)
        mean[r], rate[r] = m, per_s
        for i in range(n):
            y_r[i] = (x_r[i] - m) * per_s * w[i] + b[i]


@kernel
def backward_loop(
    start: int,
    stop: int,
    g: reads(2),
    x: reads(2),
    w: reads(1),
    mean: reads(1),
    rate: reads(1),
    dx: writes(2),
    dw: writes(2),
    db: writes(2),
):
    """Compute dx, and the dw and db of each group of rows, a work item."""
    (R, n), groups, zero = x.shape, dw.shape[0], x.dtype.type(0)
    size = x.dtype.type(n)
    xhat, u = np.empty(n, x.dtype), np.empty(n, x.dtype)
    for group in range(start, stop):
        dw_g, db_g = dw[group], db[group]
        dw_g[:] = 0
        db_g[:] = 0
        for r in range(group * R // groups, (group + 1) * R // groups):
            x_r, g_r, dx_r, m, per_s = x[r], g[r], dx[r], mean[r], rate[r]
            mean_u = mean_ux = zero
            for i in range(n):
                xhat[i] = (x_r[i] - m) * per_s
            for i in range(n):
                u[i] = g_r[i] * w[i]
                mean_u += u[i]
                mean_ux += u[i] * xhat[i]
            mean_u, mean_ux = mean_u / size, mean_ux / size
            for i in range(n):
                dx_r[i] = (u[i] - mean_u - xhat[i] * mean_ux) * per_s
            for i in range(n):
                dw_g[i] += g_r[i] * xhat[i]
            for i in range(n):
                db_g[i] += g_r[i]
