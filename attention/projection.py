"""Projections that what is not finite stays out of, and their heads."""

import numpy as np

from minigrad import reshape, swapaxes, where


def project_finite(project, x):
    """project(x), or NaN for each row of x that is not finite.

    project   a function of a Tensor (..., n, width) that takes each row by itself

    Such a row may stand in the padding. Then it must not meet the weights: the gradient
    that comes back for it is 0, and in theirs it would stand as 0 * NaN = NaN.
    """
    finite = np.isfinite(x._data).all(-1, keepdims=True)  # (..., n, 1)
    if finite.all():
        return project(x)
    return where(finite, project(where(finite, x, 0.0)), np.nan)


def heads(W, x, H):
    """(B, n, width)  ->  (B, H, n, E): W x, whose entries the heads share evenly."""
    y = project_finite(W, x)
    return swapaxes(reshape(y, (*y.shape[:2], H, y.shape[2] // H)), 1, 2)
