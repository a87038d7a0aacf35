"""Kernel regression: attention whose weights are a kernel of the distance.

    f(q) = sum_j K(u_j) v_j / sum_j K(u_j),    u_j = |q - k_j| / h

    gaussian      exp(-u^2 / 2)          every key counts, though far ones hardly
    boxcar        1 where u <= 1         the mean over the keys within h
    triangular    max(0, 1 - u)          the nearer the more, and nothing from h on
    epanechnikov  3/4 max(0, 1 - u^2)    the same, but flat where u = 0

Each is a score, ln K(u), in the template of ``attend``, for the softmax of logarithms
is the quotient of the numbers themselves. The three that end at h have K = 0 beyond it,
and ln 0 = -inf is what a mask leaves. So they choose their keys as a mask by distance
would, and a query with no key in reach is the empty row of every attention.

What Dive into Deep Learning, 11.2, prints as "Epanechikov", max(0, 1 - |u|), is the
triangular kernel. L S D multiplications and L S numbers of memory. Nadaraya 1964;
Watson 1964; Epanechnikov 1969.
"""

import numpy as np

from minigrad import Tensor, log, sqrt, where

from ..attend import attend
from .gaussian import checked_bandwidth, gaussian, squared_distance

NAME = "nadaraya_watson"


def nadaraya_watson(
    queries,
    keys,
    values,
    kernel="gaussian",
    bandwidth=1.0,
    mask=None,
    valid_lens=None,
):
    """Estimate the values at the queries from examples: f(q_i) = sum_j w_ij v_j.

    queries (..., L, D), keys (..., S, D), values (..., S, Ev)
        ->  estimate (..., L, Ev), weights (..., L, S)

        w_ij = K(|q_i - k_j| / h) / sum of the same over the allowed j; else 0

    kernel       "gaussian", "boxcar", "triangular" or "epanechnikov", as above
    bandwidth    h, from 1e-15 to 1e15: a number, or an array or Tensor that broadcasts
                 to (..., L, S), as of ``gaussian``. It can be learned
    mask         (..., L, S) or what broadcasts to it: bool, where True = is allowed, or
                 float, which is added to ln K
    valid_lens   (B,) or (B, L): only the first so many keys are allowed

    A query with no key in reach has weights, estimate and gradients of exactly 0.

    With g = dL/dw and G_i = sum_j w_ij g_ij, u_ij receives w_ij (g_ij - G_i) K'/K:

    "boxcar"        is constant but for its steps. Queries, keys and bandwidth have no
                    part in its graph; no gradient comes to them, not even one of 0
    "triangular"    has kinks. Where q = k the gradient is 0, the middle of the slopes
                    on either side; at u = 1 it is 0, the slope on the outer side
    "epanechnikov"  has a kink at u = 1, with the gradient 0

    To learn h, leave each example out of its own estimate: mask=~np.eye(n, dtype=bool).
    Raises ValueError for shapes and bandwidths that do not fit and for another kernel,
    TypeError for what holds no floating-point numbers.
    Source: Nadaraya 1964; Watson 1964; Epanechnikov 1969.
    """
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ValueError(
            f"{NAME}: kernel is {kernel!r}; expected {', '.join(map(repr, KERNELS))}."
        )

    def score(q, k):
        return KERNELS[kernel](q, k, bandwidth)

    return attend(queries, keys, values, score, mask=mask, valid_lens=valid_lens)


def boxcar(queries, keys, bandwidth=1.0):
    """ln K of K = 1 where u <= 1: 0, else -inf. Shapes as of ``gaussian``."""
    u2 = _squared(queries, keys, bandwidth)._data
    inside = np.minimum(u2, 0)  # 0, or NaN where it is NaN
    return Tensor(np.where(u2 > 1, -np.inf, inside))


def triangular(queries, keys, bandwidth=1.0):
    """ln K of K = max(0, 1 - u). Shapes as of ``gaussian``.

    Towards u = 0 the slope of u = sqrt(u^2) grows beyond all bounds while that of u^2
    goes to 0: their product, where q = k, would be NaN. There the root is left out.
    """
    u2 = _squared(queries, keys, bandwidth)
    apart = u2._data != 0
    u = where(apart, sqrt(where(apart, u2, 1.0)), 0.0)
    return _log(1.0 - u)


def epanechnikov(queries, keys, bandwidth=1.0):
    """ln K of K = max(0, 1 - u^2), as 3/4 cancels. Shapes as of ``gaussian``."""
    return _log(1.0 - _squared(queries, keys, bandwidth))


KERNELS = {
    "gaussian": gaussian,
    "boxcar": boxcar,
    "triangular": triangular,
    "epanechnikov": epanechnikov,
}


def _squared(q, k, bandwidth):
    """u^2 = |q - k|^2 / h^2, a Tensor (..., L, S)"""
    d = squared_distance(q, k)
    h = checked_bandwidth(NAME, bandwidth, d)
    if not isinstance(h, Tensor):
        h = d.dtype.type(h)  # rounded before it is squared, as the points are
    return d / (h * h)


def _log(K):
    """ln K, or -inf without a gradient where K <= 0; NaN stays NaN."""
    nothing = K._data <= 0
    return where(nothing, -np.inf, log(where(nothing, 1.0, K)))
