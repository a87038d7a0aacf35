"""The Gaussian kernel as a score: attention as regression by neighbours.

    f(q) = sum_j K(q, k_j) v_j / sum_j K(q, k_j),    K(q, k) = exp(-|q - k|^2 / (2 h^2))

Nadaraya and Watson estimated a function from examples (k_j, v_j) in this way in 1964:
the values of near keys count, and the bandwidth h says what near is. As K = exp(score),
the quotient is a softmax of scores, and the estimate is attention.

    -|q - k|^2 / 2 = q . k - |q|^2 / 2 - |k|^2 / 2

The term of q is the same for all keys and leaves the weights alone. So if all keys have
one norm, these are the weights of the dot product at the temperature h^2.

L S D multiplications and L S numbers of memory. It shows where attention comes from,
and serves wherever near is meant by distance and not by angle. Nadaraya 1964; Watson
1964; Zhang et al., Dive into Deep Learning, 11.2.
"""

import numpy as np

from minigrad import Tensor, clip, differentiable, exp, nn

from ..checks import leading_axes
from ..layers import Attention

LIMIT = 30.0  # of the logarithm of a bandwidth that is learned


def gaussian(queries, keys, bandwidth=1.0):
    """e_ij = -|q_i - k_j|^2 / (2 h^2)    (Nadaraya 1964; Watson 1964)

    queries (..., L, D), keys (..., S, D)  ->  (..., L, S)

    bandwidth   h, from 1e-15 to 1e15: a number, or an array or Tensor that broadcasts
                to the scores, such as (H, 1, 1), one for each head. It can be learned

    Cost L S D, in memory L S. With g = dL/de,

        dq_i = sum_j g_ij (k_j - q_i) / h^2
        dk_j = sum_i g_ij (q_i - k_j) / h^2
        dh   = sum_ij g_ij |q_i - k_j|^2 / h^3

    To learn h by regression on the examples themselves, leave each example out of its
    own estimate, by attend(..., mask=~np.eye(n, dtype=bool)): h would shrink to 0,
    where every example estimates itself without an error.
    Raises ValueError when queries and keys differ in width, and for a bandwidth that
    does not fit.
    """
    d = squared_distance(queries, keys)  # (..., L, S)
    h = checked_bandwidth("gaussian", bandwidth, d)
    return d / (h * h * -2.0)


class GaussianAttention(Attention):
    """Near keys count: s_ij = -|q_i - k_j|^2 / (2 h^2), queries as wide as keys.

    bandwidth       h to begin with
    log_bandwidth   (), the parameter: h = exp(log_bandwidth) is above 0 at every step,
                    and within what float32 holds the square of, from 1e-13 to 1e13

    Raises TypeError and ValueError for a bandwidth that is no number
    from 1e-15 to 1e15.
    Nadaraya 1964; Watson 1964.
    """

    def __init__(self, bandwidth=1.0, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        name = "GaussianAttention"
        if not isinstance(bandwidth, (int, float, np.number, np.ndarray)):
            raise TypeError(
                f"{name}: bandwidth is a {type(bandwidth).__name__}; expected a number."
            )
        h = checked_bandwidth(name, bandwidth, np.empty(()))
        self.log_bandwidth = nn.Parameter(np.log(h, dtype=np.float32))

    def score(self, queries, keys):
        within = clip(self.log_bandwidth, -LIMIT, LIMIT)
        return gaussian(queries, keys, exp(within))

    def extra_repr(self):
        h = np.exp(np.clip(self.log_bandwidth.data, -LIMIT, LIMIT))
        return f"bandwidth={h:.3g}, {super().extra_repr()}"


@differentiable
def squared_distance(q, k):
    """d_ij = |q_i - k_j|^2 = sum_a (q_ia - k_ja)^2

    q (..., L, D), k (..., S, D)  ->  d (..., L, S)

    Backward, with g = dL/dd:

        dq_ia = 2 sum_j g_ij (q_ia - k_ja),    dk_ja = -2 sum_i g_ij (q_ia - k_ja)

    One coordinate a at a time: an array (..., L, S, D) is never made. The other way to
    save it, |q|^2 - 2 q . k + |k|^2, has the sum of near points cancel to nothing but
    rounding errors, and the near ones are those that count.
    Raises ValueError when the widths differ, or leading axes do not broadcast.
    """
    q, k = np.asarray(q), np.asarray(k)
    leading = _checked_points(q, k)
    D = q.shape[-1]
    d = np.zeros((*leading, q.shape[-2], k.shape[-2]), np.result_type(q, k))
    with np.errstate(all="ignore"):  # NaN and infinity give what they give
        for a in range(D):
            d += _differences(q, k, a) ** 2

    def backward(g):
        dq = np.empty((*leading, q.shape[-2], D), d.dtype)
        dk = np.empty((*leading, k.shape[-2], D), d.dtype)
        with np.errstate(all="ignore"):
            for a in range(D):
                slope = 2 * g * _differences(q, k, a)  # (..., L, S)
                dq[..., a] = slope.sum(-1)  # summed over j: the query met every key
                dk[..., a] = -slope.sum(-2)  # summed over i: the key met every query
        return dq, dk

    return d, backward


def checked_bandwidth(name, bandwidth, d):
    """A number, or a Tensor of the dtype of d, the distances; ``name`` asks for it."""
    values = bandwidth._data if isinstance(bandwidth, Tensor) else np.asarray(bandwidth)
    if values.dtype.kind not in "iuf":
        raise TypeError(
            f"{name}: bandwidth is {bandwidth!r}; expected a positive number, or an "
            "array of them."
        )
    sizes = zip(reversed(values.shape), reversed(d.shape))
    if values.ndim > d.ndim or any(m not in (1, n) for m, n in sizes):
        raise ValueError(
            f"{name}: bandwidth has shape {values.shape}; expected one that "
            f"broadcasts to the scores, {d.shape}."
        )
    wrong = values[~((values >= 1e-15) & (values <= 1e15))]  # NaN is wrong, too
    if wrong.size:  # within these, float32 holds the square and its inverse
        raise ValueError(
            f"{name}: bandwidth is {wrong[0]}; expected a positive number, from "
            "1e-15 to 1e15."
        )
    if values.ndim == 0 and not isinstance(bandwidth, Tensor):
        return float(values)
    bandwidth = bandwidth if isinstance(bandwidth, Tensor) else Tensor(values)
    same = values.dtype == d.dtype
    return bandwidth if same else bandwidth.astype(d.dtype)


def _differences(q, k, a):
    """q_ia - k_ja of all pairs: (..., L, S)"""
    return q[..., :, None, a] - k[..., None, :, a]


def _checked_points(q, k):
    """The leading axes of the distances."""
    found = f"squared_distance: queries have shape {q.shape} and keys {k.shape}"
    if min(q.ndim, k.ndim) < 2 or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"{found}; expected (…, L, D) and (…, S, D), points of one space. Numbers "
            "x on a line are x[:, None]."
        )
    return leading_axes(found, q.shape[:-2], k.shape[:-2])
