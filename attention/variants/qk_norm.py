"""Normalised queries and keys: scores with a bound, whatever training does.

    QK-norm   s_ij = q^_i . k^_j / sqrt(D),    x^ = gain * x / r
              r = sqrt(mean_a x_a^2 + eps)     with learned gains for q and for k
    cosine    s_ij = tau cos(q_i, k_j) = tau q_i . k_j / (|q_i| |k_j|)

A product of matrices can make scores of any size, and a softmax of large scores hardly
learns. Here the length of a query has no effect. In the cosine form |s_ij| <= tau, so
the largest of n weights is at most

    1 / (1 + (n - 1) exp(-2 tau))

With tau = 1 no weight can be sharp; it starts at 10, and must grow like ln n.

x^ is ``minigrad.rms_norm``, where its gradient is derived. With d = gain * dL/dx^,

    dL/dx . x = (d . x) eps / r^3

which is almost 0: a longer query has a smaller gradient, orthogonal to it, and the
matrix that makes it cannot run away. The cosine has |x| = r sqrt(D) in the place of r,
and no eps: see ``unit``.

With heads, each head is normalised alone, after the split and before a rotation.

Henry et al. 2020 (cosine); Dehghani et al. 2023 (layer norms; without means here).
"""

import numpy as np

from minigrad import differentiable, nn, rms_norm
from minigrad.arguments import number, whole
from minigrad.ops.real import real
from minigrad.shapes import shapes

from .. import definitions
from ..layers import Attention
from ..scores import dot, scaled_dot
from .row import Score


@shapes
@differentiable
def unit(x):
    """n = x / |x|, along the last axis; 0, with gradient 0, for a vector of zeros.

    x (..., D)  ->  n (..., D)

    dx = (g - n (n . g)) / |x|. The squares are those of x divided by its largest entry,
    so they can neither overflow nor become 0.
    """
    x = real(x)
    largest = np.abs(x).max(-1, keepdims=True, initial=0)
    is_zero = largest == 0
    n = x / np.where(is_zero, 1, largest)
    length = np.where(is_zero, 1, np.sqrt((n * n).sum(-1, keepdims=True)))
    n = n / length

    def backward(g):
        dx = (g - n * (n * g).sum(-1, keepdims=True)) / length
        return np.where(is_zero, 0, dx / np.where(is_zero, 1, largest))

    return n, backward


class QKNormAttention(Attention):
    """Attention with s_ij = q^_i . k^_j / sqrt(D), where x^ is ``rms_norm``.

    g_q and g_k   (size,), the gains, start at 1
    """

    def __init__(self, size, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        self.size = whole("QKNormAttention", "size", size, least=1)
        self.g_q = nn.Parameter(np.ones(size, np.float32))
        self.g_k = nn.Parameter(np.ones(size, np.float32))

    @shapes
    def project(self, keys):
        """Normalise the keys.

        keys (..., S, self.size)  ->  projected (..., S, self.size)
        """
        return rms_norm(keys, self.g_k)

    @shapes
    def score_projected(self, queries, projected):
        """Normalise the queries, and compute the scores.

        queries (..., L, self.size), projected (..., S, self.size)
            ->  scores (..., L, S)
        """
        return scaled_dot.unchecked(rms_norm(queries, self.g_q), projected)

    def extra_repr(self):
        return f"{self.size}, {super().extra_repr()}"


class CosineAttention(Attention):
    """Attention with s_ij = tau cos(q_i, k_j) and a learned tau.

    tau   (), the largest score, starts at 10
    """

    def __init__(self, tau=10.0, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        number("CosineAttention", "tau", tau, positive=True)
        self.tau = nn.Parameter(np.array(tau, np.float32))

    def project(self, keys):
        """Normalise the keys."""
        return unit(keys)

    @shapes
    def score_projected(self, queries, projected):
        """Normalise the queries, and compute the scores.

        queries (..., L, D), projected (..., S, D)  ->  scores (..., L, S)
        """
        return dot.unchecked(unit(queries) * self.tau, projected)

    def extra_repr(self):
        return f"tau={float(self.tau.data):.3g}, {super().extra_repr()}"


ROWS = [
    # the squares of q and k, and tau q
    Score(
        "cosine", definitions.cosine, CosineAttention, "",
        parameters="tau ()",
        multiplications="2*L*E + S*E + L*S*E + L*S*Ev",
        about="""score: s = tau cos(q, k), with a learned tau
        can keep its scores between -tau and tau, whatever training does
        cannot give a long key a larger weight than a short one
        lesson 15: training without the factor 1 / sqrt(E); Henry et al. 2020""",
    ),
    # the squares, the gains, and the scale of q
    Score(
        "qk-norm", definitions.qk_norm, QKNormAttention, "E",
        parameters="g_q (E), g_k (E)",
        multiplications="3*L*E + 2*S*E + L*S*E + L*S*Ev",
        about="""score: s = q^ . k^ / sqrt(E), with x^ = gain x / root of the mean
        square of x
        can keep its scores bounded by the gains
        cannot give a long key a larger weight than a short one
        lesson 15: training without the factor 1 / sqrt(E); Dehghani et al. 2023""",
    ),
]  # fmt: skip
