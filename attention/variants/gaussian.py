"""The Gaussian kernel as a score: keys near the query get large weights.

    f(q) = sum_j K(q, k_j) v_j / sum_j K(q, k_j),    K(q, k) = exp(-|q - k|^2 / (2 h^2))

In 1964, Nadaraya and Watson estimated a function from examples (k_j, v_j) in this way.
The bandwidth h decides which keys are near enough to count. As K = exp(score), the
quotients K / sum K are a softmax of the scores, so the estimate is attention.

    -|q - k|^2 / 2 = q . k - |q|^2 / 2 - |k|^2 / 2

The term |q|^2 is the same for all keys and cancels in the softmax. So if all keys have
the same norm, these are the weights of the dot product at the temperature h^2.

Cost: L S D multiplications, and memory for L S numbers.

Nadaraya 1964; Watson 1964; Zhang et al., Dive into Deep Learning, 11.2.
"""

import math

import numpy as np

from minigrad import Tensor, clip, differentiable, exp, nn
from minigrad.arguments import between, broadcastable, plain
from minigrad.shapes import shapes

from .. import definitions
from ..layers import Attention
from .row import Score

SMALLEST, LARGEST = 1e-15, 1e15  # float32 holds the squares and their inverses
LIMIT = 30.0  # |ln h| of a learned bandwidth is at most this: h from 1e-13 to 1e13


@shapes
def gaussian(queries, keys, bandwidth=1.0):
    """s_ij = -|q_i - k_j|^2 / (2 h^2)    (Nadaraya 1964; Watson 1964)

    queries (..., L, D), keys (..., S, D)  ->  scores (..., L, S)

    bandwidth   h, from 1e-15 to 1e15: a number, or an array or Tensor that broadcasts
                to the scores, such as (H, 1, 1), one for each head

    With g = dL/ds:

        dq_i = sum_j g_ij (k_j - q_i) / h^2
        dk_j = sum_i g_ij (q_i - k_j) / h^2
        dh   = sum_ij g_ij |q_i - k_j|^2 / h^3

    To learn h by regression on the examples themselves, exclude each example from its
    own estimate with attend(..., mask=~np.eye(n, dtype=bool)). Otherwise h shrinks to
    0, where every example estimates itself without error.
    """
    d = squared_distance(queries, keys)  # (..., L, S)
    h = validated_bandwidth("gaussian", bandwidth, d)
    return d / (h * h * -2.0)


class GaussianAttention(Attention):
    """Attention to near keys, s_ij = -|q_i - k_j|^2 / (2 h^2), with a learned h.

    bandwidth       the initial h, limited to e^-30 ... e^30
    log_bandwidth   (), the parameter: h = exp(log_bandwidth) stays above 0

    Nadaraya 1964; Watson 1964.
    """

    def __init__(self, bandwidth=1.0, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        h = validated_bandwidth("GaussianAttention", bandwidth, np.empty(()))
        self.log_bandwidth = nn.Parameter(np.log(h, dtype=np.float32))

    def score(self, queries, keys):
        """Return the scores (..., L, S) of ``gaussian`` with h = exp(log_bandwidth)."""
        h = exp(clip(self.log_bandwidth, -LIMIT, LIMIT))
        return gaussian(queries, keys, h)

    def extra_repr(self):
        h = np.exp(np.clip(self.log_bandwidth.data, -LIMIT, LIMIT))
        return f"bandwidth={h:.3g}, {super().extra_repr()}"


@shapes
@differentiable
def squared_distance(q, k):
    """d_ij = |q_i - k_j|^2 = sum_a (q_ia - k_ja)^2

    q (..., L, D), k (..., S, D)  ->  d (..., L, S)

    Backward, with g = dL/dd:

        dq_ia = 2 sum_j g_ij (q_ia - k_ja),    dk_ja = -2 sum_i g_ij (q_ia - k_ja)

    The loop over the coordinates a avoids an array (..., L, S, D). The formula
    |q|^2 - 2 q . k + |k|^2 avoids it as well, but near points have the largest weights,
    and for them the three terms cancel and only rounding errors remain.
    """
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    (L, D), S = q.shape[-2:], k.shape[-2]
    d = np.zeros((*leading, L, S), np.result_type(q, k))
    for a in range(D):
        d += _differences(q, k, a) ** 2

    def backward(g):
        dq = np.empty((*leading, L, D), d.dtype)
        dk = np.empty((*leading, S, D), d.dtype)
        for a in range(D):
            slope = 2 * g * _differences(q, k, a)  # (..., L, S)
            dq[..., a] = slope.sum(-1)  # sum over j
            dk[..., a] = -slope.sum(-2)  # sum over i
        return dq, dk

    return d, backward


def validated_bandwidth(name, bandwidth, d):
    """Return the bandwidth of the scores d: a float, or a Tensor of the dtype of d."""
    values = plain(bandwidth)
    if values.dtype.kind not in "iuf":
        raise TypeError(
            f"{name}: bandwidth is {bandwidth!r}; expected a positive number, or an "
            "array of them."
        )
    broadcastable(name, "bandwidth", values.shape, d.shape)
    between(name, "bandwidth", values, SMALLEST, LARGEST, "the range of h")
    if values.ndim == 0 and not isinstance(bandwidth, Tensor):
        return float(values)
    bandwidth = bandwidth if isinstance(bandwidth, Tensor) else Tensor(values)
    return bandwidth if values.dtype == d.dtype else bandwidth.astype(d.dtype)


def _differences(q, k, a):
    """Return q_ia - k_ja of all pairs: (..., L, S)."""
    return q[..., :, None, a] - k[..., None, :, a]


def _of_log_bandwidth(q, k, log_h=0.0):
    return definitions.gaussian(q, k, math.exp(log_h))


ROWS = [
    # a square for each coordinate of q_i - k_j; the square of the layer's bandwidth is
    # the divisor of "scaled"
    Score(
        "gaussian", _of_log_bandwidth, GaussianAttention, "E**0.25",
        multiplications="L*S*E + L*S*Ev",
        about="""score: s = -|q - k|^2 / (2 h^2), a distance, with a width h
        can estimate a smooth curve from points near the query
        cannot prefer one of two keys at the same distance
        lesson 4: a curve through noisy points; Nadaraya 1964""",
    ),
]  # fmt: skip
