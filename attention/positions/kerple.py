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

from .. import definitions
from .offsets import OffsetBias, offsets
from .scheme import Position, Scheme


class KERPLE(nn.Module):
    """A bias -r ln(1 + a |i - j|) for each head.

    x_r, x_a   (num_heads,): r = softplus(x_r) and a = softplus(x_a) are 1 at the start
    """

    def __init__(self, num_heads):
        whole("KERPLE", "num_heads", num_heads, least=1)
        one = np.full(num_heads, np.log(np.expm1(1)), np.float32)  # softplus gives 1
        self.x_r, self.x_a = nn.Parameter(one.copy()), nn.Parameter(one.copy())

    def forward(self, L, S, first=0):
        """Return the ``OffsetBias`` of values (H, L + S - 1)."""
        distance = np.abs(offsets("KERPLE", L, S, first))
        r, a = softplus(self.x_r)[:, None], softplus(self.x_a)[:, None]
        return OffsetBias(-r * log1p(a * distance.astype(a.dtype)))


class Kerple(Scheme):
    """Subtract r_h ln(1 + a_h |j - i|); all layers share r and a."""

    changes = "scores"

    def __init__(self, config, causal, rng):
        self.bias = KERPLE(config.heads)


ROWS = [
    Position(
        "kerple", Kerple, definitions.kerple,
        """score: - r ln(1 + a |i - j|), r and a learned for each head
        can learn how fast near keys are preferred; read texts of any length
        cannot prefer a distance to a nearer one
        lesson 11: reading beyond the trained length; Chi et al. 2022""",
        "L*E + L*S*E + 2*L*S",
        "r (), a ()",
    ),
]  # fmt: skip
