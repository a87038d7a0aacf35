"""The masked softmax, forward and backward, as compiled loops.

The NumPy form, and the derivation, are in ``attention/softmax.py``.
"""

import math

import numpy as np

from ..softmax import gradient_of_scores
from .choice import EXP
from .compiling import any_order, kernel, reads, writes
from .elementary import exp, from_ordered, ordered

NO_MASK = np.empty((0, 0), bool), np.empty(0, np.int64)


def softmax_over_allowed(x, mask=None, temperature=1.0):
    """Compute that of attention/softmax.py, or return NotImplemented: NumPy should run.

    x (..., S), mask bool that broadcasts to x, or None  ->  p (..., S)
    """
    loop = forward_loop.on_threads(x.dtype, EXP * x.size)
    if loop is None:
        return NotImplemented
    shape, dtype, size = x.shape, x.dtype, x.size  # backward does not keep x
    rows = np.ascontiguousarray(x).reshape(math.prod(shape[:-1]), shape[-1])
    p = np.empty_like(rows)
    masks, mask_of = NO_MASK if mask is None else _own_rows(mask, shape)
    loop(len(rows), rows, masks, mask_of, 1 / temperature, p)

    def backward(g):
        back = backward_loop.on_threads(dtype, EXP * size)
        if back is None:  # another backend was chosen after the forward
            return gradient_of_scores(p.reshape(shape), g, temperature), None, None
        g, dx = np.ascontiguousarray(g).reshape(p.shape), np.empty_like(p)
        back(len(dx), p, g, 1 / temperature, dx)
        return dx.reshape(shape), None, None

    return p.reshape(shape), backward


@kernel
def forward_loop(
    start: int,
    stop: int,
    x: reads(2),
    masks: reads(2, bool),
    mask_of: reads(1, int),
    rate: float,
    p: writes(2),
):
    """Compute the weights p of rows of scores x; rate = 1 / T."""
    S = x.shape[1]
    zero, infinity = x.dtype.type(0), x.dtype.type(np.inf)
    for r in range(start, stop):
        x_r, p_r = x[r], p[r]
        if mask_of.size:
            allowed = masks[mask_of[r]]
            for j in range(S):
                p_r[j] = x_r[j] if allowed[j] else -infinity
        else:
            for j in range(S):
                p_r[j] = x_r[j]
        total = normalize(p_r, rate)
        if total != total and mask_of.size:  # all are NaN; masked ones become 0
            for j in range(S):
                p_r[j] = p_r[j] if masks[mask_of[r], j] else zero


@any_order
def normalize(p: writes(1), rate: float):
    """Turn scores into their weights in place, and return the sum; rate = 1 / T."""
    one, infinity = p.dtype.type(1), p.dtype.type(np.inf)
    largest = ordered(-infinity)
    for j in range(p.size):
        largest = max(largest, ordered(p[j]))
    m, total = from_ordered(largest), p.dtype.type(0)
    if -infinity < m < infinity:
        for j in range(p.size):
            p[j] = exp((p[j] - m) * rate)
            total += p[j]
    else:  # rare, so it may be slow: the C library's exp, for any number
        for j in range(p.size):
            p[j] = np.exp(p[j] * rate)
            total += p[j]
    total = one if total == 0 else total
    for j in range(p.size):
        p[j] /= total
    return total


@kernel
def backward_loop(
    start: int, stop: int, p: reads(2), g: reads(2), rate: float, dx: writes(2)
):
    """dx_j = p_j (g_j - sum_l p_l g_l) rate, for each row."""
    S = p.shape[1]
    zero, one = p.dtype.type(0), p.dtype.type(1)
    for r in range(start, stop):
        p_r, g_r, dx_r = p[r], g[r], dx[r]
        mean = nonzero = zero  # mean of g, weighted by p; number of g that are not 0
        for j in range(S):
            mean += p_r[j] * g_r[j] if p_r[j] != 0 else zero
            nonzero += zero if g_r[j] == 0 else one
        for j in range(S):
            # a row of NaN weights whose g is all 0 gets no gradient
            counts = p_r[j] != 0 and nonzero != 0
            dx_r[j] = p_r[j] * (g_r[j] - mean) * rate if counts else zero


def _own_rows(mask, shape):
    """Return the rows of ``mask``, not broadcast, and which of them each row of x has.

    So a mask that is the same for all heads, or all queries, is not repeated for them.
    """
    *leading, S = shape
    own = mask.shape[:-1]  # not yet broadcast
    masks = np.broadcast_to(mask, (*own, S)).reshape(math.prod(own), S)
    numbers = np.arange(len(masks)).reshape(own)
    mask_of = np.broadcast_to(numbers, leading).reshape(-1)
    return np.ascontiguousarray(masks), np.ascontiguousarray(mask_of)
