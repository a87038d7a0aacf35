"""Rows of a matrix in windows: copied out, and on the way back summed in again."""

import math

import numpy as np

from minigrad import differentiable


@differentiable
def gather_windows(x, first, stop, width):
    """y_iw = x_s with s = first_i + w, as long as s < stop_i; 0 beyond.

    x (..., S, D), first and stop (..., L) ints from 0 to S, width from 0 to S
        ->  y (..., L, width, D)

    Backward: a row of x stands in several windows, and receives the sum of what all of
    them send, dx_s = sum of g_iw over first_i + w = s < stop_i. Only this result has
    the size of x; the work is that of the windows.
    """
    shape, dtype = x.shape, x.dtype
    *leading, S, D = shape
    B, L = math.prod(leading), first.shape[-1]
    s = first.reshape(B, L, 1) + np.arange(width)  # (B, L, width)
    inside = s < stop.reshape(B, L, 1)
    b = np.arange(B)[:, None]
    y = x.reshape(B, S, D)[b[..., None], np.where(inside, s, 0)]
    y[~inside] = 0  # also where x is NaN

    def backward(g):
        g = g.reshape(B, L, width, D)
        dx = np.zeros((B, S + 1, D), dtype)
        to = np.where(inside, s, S)  # one past the last row: for what has none
        for i in range(L):  # in one window every row stands once, so that += adds it
            dx[b, to[:, i]] += g[:, i]
        return dx[:, :S].reshape(shape), None, None, None

    return y.reshape(*leading, L, width, D), backward
