"""FIRE: a bias that a small network computes from the distance, as a part of the text.

    x_ij = psi(|i - j|) / psi(max(T, i)),    psi(x) = ln(1 + c x)
    s_ij = q_i . k_j / sqrt(D) + w_2 . relu(w_1 x_ij + b_1)

with w_2 of each head. For earlier keys x is a number from 0 to 1, however long
the text is: the network reads distances between those of training. psi keeps near keys
apart. Up to place T, the same distance has the same x; without T, the second word of a
text would be as far from the first as the thousandth. c and T are positive:
softplus(y_c), and softplus(y_T) times a given length.

i is the place of the query in its own text, so the bias is no function of j - i. The
paper has causal attention; here keys after the query have the distance |i - j|.

Li et al. 2024.
"""

import numpy as np

from minigrad import log1p, maximum, nn, relu, softplus, swapaxes
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from .offsets import relative_positions
from .scheme import Position, Scheme

WIDTH = 32  # of the network's hidden layer


class FIRE(nn.Module):
    """A bias for each head, by a network of the distances.

    y_c, y_T   (1,), with c = 0.1 and T = ``length`` at the start
    W_1, W_2   Linear (1, 32), and (32, num_heads) without b: it would change no weight
    """

    def __init__(self, num_heads, length, rng=None):
        self.length = whole("FIRE", "length", length, least=1)
        whole("FIRE", "num_heads", num_heads, least=1)
        y = np.log(np.expm1([[0.1], [1.0]])).astype(np.float32)  # softplus gives 0.1, 1
        self.y_c, self.y_T = map(nn.Parameter, y)
        self.W_1 = nn.Linear(1, WIDTH, rng=rng)
        self.W_2 = nn.Linear(WIDTH, num_heads, bias=False, rng=rng)

    @shapes
    def forward(self, places, S, first=0):
        """Return the bias of queries at these places of their texts.

        places (L,) or (B, L) int  ->  bias (H, L, S) or (B, H, L, S)

        S       the number of keys
        first   the position of the first query, where key 0 has position 0
        """
        distance = relative_positions("FIRE", places.shape[-1], S, first)
        dtype = self.y_c.dtype
        small = float(np.finfo(dtype).eps)  # softplus may be 0, but x has a limit
        c = maximum(softplus(self.y_c), small**2)
        T = maximum(self.length * softplus(self.y_T), small)

        def psi(x):
            return log1p(c * x)

        near = psi(np.abs(distance).astype(dtype))  # (L, S)
        x = near / psi(maximum(T, places.astype(dtype)))[..., None]  # (..., L, S)
        bias = self.W_2(relu(self.W_1(x[..., None])))  # (..., L, S, H)
        return swapaxes(swapaxes(bias, -1, -2), -2, -3)


class Fire(Scheme):
    """Add a network of the distance, divided by the place of the query in its text."""

    changes = "scores"

    def __init__(self, config, causal, rng):
        self.bias = FIRE(config.heads, config.max_length, rng)

    def options(self, attention, positions=None):
        """Return the bias of queries at these positions."""

        def bias(L, S, first):
            places = np.arange(L) if positions is None else positions
            return self.bias(places, S, first)

        return {"bias": bias}


ROWS = [
    Position(
        "fire", Fire, definitions.fire,
        """score: + a network of ln(1 + c |i - j|) / ln(1 + c max(T, i))
        can learn any function of the distance in relation to the length of the text
        cannot be computed from j - i alone: it depends on i as well
        lesson 11: reading beyond the trained length; Li et al. 2024""",
        "L*E + L*S*E + L + L*S*(1 + 2*32)",
        "c (), T (), w_1 (32), b_1 (32), w_2 (32)",
    ),
]  # fmt: skip
