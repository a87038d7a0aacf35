"""KERPLE: a bias that falls like a logarithm of the distance, with learned numbers.

    s_ij = q_i . k_j / sqrt(D) - r_h ln(1 + a_h |i - j|)

ALiBi's bias falls like a line, with a fixed slope. Here each head learns how fast, and
far keys lose less: the bias is defined for every distance. r and a are softplus(x) of a
parameter x, so they stay above 0. This is the logarithmic form of the paper.

Chi et al. 2022.
"""

import numpy as np

from minigrad import log1p, nn, softplus
from minigrad.arguments import whole

from .offsets import OffsetBias, offsets


class KERPLE(nn.Module):
    """A bias -r ln(1 + a |i - j|) for each head.

    x_r, x_a   (num_heads,), with r and a of 1 at the start
    """

    def __init__(self, num_heads):
        whole("KERPLE", "num_heads", num_heads, least=1)
        one = np.full(num_heads, np.log(np.expm1(1)), np.float32)  # softplus gives 1
        self.x_r, self.x_a = nn.Parameter(one.copy()), nn.Parameter(one.copy())

    def by_offset(self, L, S, causal_align="upper_left"):
        """Return the bias as an ``OffsetBias`` of values (H, L + S - 1)."""
        distance = np.abs(offsets("KERPLE", L, S, causal_align))
        r, a = softplus(self.x_r)[:, None], softplus(self.x_a)[:, None]
        return OffsetBias(-r * log1p(a * distance.astype(a.dtype)))
