"""Kernel regression: attention whose weights are a kernel of the distance.

    f(q) = sum_j K(u_j) v_j / sum_j K(u_j),    u_j = |q - k_j| / h

    gaussian      exp(-u^2 / 2)          every key counts, far keys hardly
    boxcar        1 where u <= 1         the mean over the keys within h
    triangular    max(0, 1 - u)          decreases linearly, 0 from h on
    epanechnikov  3/4 max(0, 1 - u^2)    0 from h on, flat at u = 0

Each kernel becomes a score ln K(u) for ``attend``, because softmax(ln K) = K / sum K.
The last three have K = 0 beyond h, and the score ln 0 = -inf masks a key. So a query
with no key within h has weights 0, like any query without allowed keys.

Dive into Deep Learning, 11.2, calls max(0, 1 - |u|) "Epanechikov"; it is the triangular
kernel.

Cost: L S D multiplications, and memory for L S numbers.

Nadaraya 1964; Watson 1964; Epanechnikov 1969.
"""

import numpy as np

from minigrad import Tensor, log, sqrt, where
from minigrad.arguments import one_of
from minigrad.shapes import shapes

from ..template import attend
from .gaussian import squared_distance, validated_bandwidth


@shapes
def nadaraya_watson(
    queries,
    keys,
    values,
    kernel="gaussian",
    bandwidth=1.0,
    mask=None,
    lengths=None,
):
    """Estimate the values at the queries from examples: f(q_i) = sum_j w_ij v_j.

    queries (..., L, D), keys (..., S, D), values (..., S, Ev)
        ->  estimate (..., L, Ev), weights (..., L, S)

        w_ij = K(|q_i - k_j| / h) / sum of the same over the allowed j; else 0

    kernel       "gaussian", "boxcar", "triangular" or "epanechnikov"
    bandwidth    h, from 1e-15 to 1e15: a number, or an array or Tensor that broadcasts
                 to (..., L, S), with a gradient
    mask         broadcasts to (..., L, S): bool, where True = allowed, or float, which
                 is added to ln K
    lengths      (B,) or (B, L): how many keys are allowed, from the first

    A query for which all K are 0 has weights, estimate and gradients 0.

    With g = dL/dw and G_i = sum_j w_ij g_ij, dL/du_ij = w_ij (g_ij - G_i) K'/K:

    "boxcar"        is constant except at u = 1, so queries, keys and bandwidth have no
                    gradient
    "triangular"    has kinks. At q = k the gradient is 0, the mean of the slopes on
                    both sides; at u = 1 it is 0, the slope on the outer side
    "epanechnikov"  has a kink at u = 1, with the gradient 0

    To learn h, exclude each example from its own estimate: mask=~np.eye(n, dtype=bool).
    """
    kernel = KERNELS[one_of("nadaraya_watson", "kernel", kernel, tuple(KERNELS))]

    def score(q, k):
        d = squared_distance(q, k)
        h = validated_bandwidth("nadaraya_watson", bandwidth, d)
        if not isinstance(h, Tensor):
            h = d.dtype.type(h)  # rounded before it is squared, as the points are
        return kernel(d / (h * h))

    return attend(queries, keys, values, score, mask=mask, lengths=lengths)


def gaussian(u2):
    """Return ln exp(-u^2 / 2), from u^2 (..., L, S)."""
    return u2 / -2.0


def boxcar(u2):
    """Return ln K, where K = 1 if u <= 1 and K = 0 otherwise."""
    return Tensor(np.where(u2._data > 1, -np.inf, 0.0).astype(u2.dtype))


def triangular(u2):
    """Return ln K, where K = max(0, 1 - u).

    u = sqrt(u^2) has an infinite slope at u = 0, and u^2 the slope 0: their product is
    NaN where q = k. There the square root is not applied.
    """
    apart = u2._data != 0
    u = where(apart, sqrt(where(apart, u2, 1.0)), 0.0)
    return _log(1.0 - u)


def epanechnikov(u2):
    """Return ln K, where K = max(0, 1 - u^2); the factor 3/4 cancels."""
    return _log(1.0 - u2)


KERNELS = {
    "gaussian": gaussian,
    "boxcar": boxcar,
    "triangular": triangular,
    "epanechnikov": epanechnikov,
}


def _log(K):
    """Return ln K, or -inf without a gradient where K <= 0."""
    outside = K._data <= 0
    return where(outside, -np.inf, log(where(outside, 1.0, K)))
