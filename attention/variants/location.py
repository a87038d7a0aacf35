"""Location-sensitive attention: the score depends on where attention was before.

    a^t          the weights of step t          c^t    the sum of a^u over u < t
    f^t_j = sum_m F_1m a^(t-1)_(j+m) + F_2m c^t_(j+m),    m from -w to w
    e^t_j = w_v . tanh(W_q q_t + W_k k_j + U f^t_j)
    a^t = softmax over the allowed j of e^t_j

Content alone cannot tell two equal keys apart. "One to the right of the last step" can:
the filters F, (n, 2, 2 w + 1), see the last weights and the coverage around key j. Both
are 0 outside the sequence and at the first step. With one filter of width 1 on c, this
is ``CoverageAttention``; with F = 0 it is ``AdditiveAttention``.

Attention can be shifted past the last key, so a source should end with a sign of its
own. As with coverage, each step depends on all earlier steps, and gradients flow
through all of them. With x (C, S) the C rows a and c, and g = dL/df (S, n), the
gradients of the filters are

    dF_ncm = sum_j g_jn x_c(j+m)        dx_cj = sum_m sum_n F_ncm g_(j-m)n

so dx is the convolution of g with the reversed filters. The operations of ``convolve``
have these gradients: each m is a product of shifted rows with one matrix F_m.

Chorowski et al. 2015 (filters of the last weights alone); Shen et al. 2018 (Tacotron 2,
filters of their sum as well).
"""

import numpy as np

from minigrad import linear, nn, pad, stack, swapaxes
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..layers import xavier_matrix
from .coverage import CoverageAttention
from .row import Variant


@shapes
def convolve(x, F):
    """f_jn = sum_c sum_m F_ncm x_c(j+m), with zeros outside of x.

    x (..., C, S), F (n, C, M)  ->  f (..., S, n)

    The width M of a filter is odd; m runs from -(M - 1) / 2 to (M - 1) / 2.
    """
    M, S = F.shape[2], x.shape[-1]
    padded = pad(x, [(0, 0)] * (x.ndim - 1) + [(M // 2, M // 2)])  # (..., C, S + M - 1)
    columns = swapaxes(padded, -1, -2)
    return sum(linear(columns[..., m : m + S, :], F[:, :, m]) for m in range(M))


class LocationAttention(CoverageAttention):
    """Additive attention in steps, whose score includes features of the weights so far.

    W_q, W_k, w_v, b   as in AdditiveAttention
    F                  (filters, 2, width), uniform
    U                  (num_hiddens, filters), from ``xavier_matrix``

    ``forward`` is that of ``CoverageAttention``: it returns contexts, weights and
    coverages of all steps. In a decoder, call ``step`` with coverage and weights.
    """

    def __init__(
        self, query_size, key_size, num_hiddens, filters=8, width=5, bias=False,
        dropout=0.0, rng=None,
    ):  # fmt: skip
        super().__init__(query_size, key_size, num_hiddens, bias, dropout, rng)
        filters = whole("LocationAttention", "filters", filters, least=1)
        width = whole("LocationAttention", "width", width, least=1)
        if width % 2 == 0:
            raise ValueError(
                f"LocationAttention: width is {width}; expected an odd number, as many "
                "keys on the left as on the right."
            )
        del self.w_c  # the filters read the coverage
        bound = (2 * width) ** -0.5
        F = nn.Parameter(np.empty((filters, 2, width), np.float32))
        self.F = nn.init.uniform_(F, -bound, bound, rng)
        self.U = xavier_matrix(num_hiddens, filters, rng)

    def past(self, coverage, weights):
        """Return U f_j (..., S, A)."""
        return linear(convolve(stack([weights, coverage], -2), self.F), self.U)


ROWS = [
    # N filters of width M over the last weights and their sum, from the second query on
    Variant(
        "location", definitions.location, LocationAttention, "E, Dk, A, N, M",
        parameters="W_q (A, E), W_k (A, Dk), w_v (A), F (N, 2, M), U (A, N)",
        multiplications="A*(L*E + S*Dk) + L*S*A + (L - 1)*S*N*(2*M + A) + L*S*Ev",
        numbers=dict(N=8, M=5),
        small=dict(N=2, M=3),
        about="""score: U f_j is added in the tanh of additive, f_j filters of past
        weights
        can move on by one key from the last step, even among equal keys
        cannot compute all queries at once: each needs the weights of those before
        lesson 16: copying three letters; Chorowski et al. 2015""",
    ),
]  # fmt: skip
