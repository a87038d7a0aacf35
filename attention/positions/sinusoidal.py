"""Sinusoidal positions: d / 2 rotations, each slower than the one before.

    w_i = base^(-2i / d)                               i = 0, 1, ..., ceil(d / 2) - 1
    PE[p, 2i] = sin(p w_i),   PE[p, 2i + 1] = cos(p w_i)

They are added to the embeddings once. They cost n d sines, and nothing is learned. A
step of k positions rotates a pair by an angle that does not depend on p:
PE[p + k] = R(k) PE[p],

    R(k) =  cos k w_i   sin k w_i        on the pair (2i, 2i + 1),
           -sin k w_i   cos k w_i

so a linear layer can compute PE[p + k] from PE[p]. RoPE (rope.py) uses the same
frequencies.

Vaswani et al. 2017, section 3.5.
"""

import numpy as np

from minigrad.arguments import number, whole

from .. import definitions
from .scheme import Position, Scheme


def sinusoidal(n, d, base=10000.0, dtype=np.float32):
    """Return the sinusoidal positional encoding: (n, d), or (..., d).

    n       a length, for the positions 0, 1, ..., n - 1; or the positions (...), which
            may be any finite numbers
    d       the width; with odd d, the last sine has no cosine
    dtype   of the result. If float32 is added to float32 embeddings, they stay float32

    Angles are float64 whatever the dtype: at p = 10^6, float32 rounds them by up to
    0.03.
    """
    positions = as_positions("sinusoidal", n)
    whole("sinusoidal", "d", d, least=1)
    number("sinusoidal", "base", base, positive=True)
    angle = positions[..., None] * frequencies(d, base)  # (..., ceil(d / 2))
    encoding = np.empty((*positions.shape, d), dtype)
    encoding[..., 0::2] = np.sin(angle)
    encoding[..., 1::2] = np.cos(angle[..., : d // 2])  # odd d: one cosine less
    return encoding


def frequencies(d, base=10000.0):
    """Return w_i = base^(-2i / d), the angle of pair i per position: (ceil(d / 2),)."""
    whole("frequencies", "d", d)
    return base ** (-np.arange(0, d, 2) / max(d, 1))


def as_positions(name, n):
    """Return the positions 0 to n - 1 of a length n, or the numbers n as an array."""
    if isinstance(n, (int, float, str, np.number)):
        return np.arange(whole(name, "the length", n))
    return np.asarray(n)


class Sinusoidal(Scheme):
    """Add sines and cosines of the position to the embeddings."""

    changes = "input"

    def __init__(self, config, causal, rng):
        self.base = config.base

    def embed(self, x, positions):
        """Return x + PE[positions]; the shapes are those of ``Scheme.embed``."""
        return x + sinusoidal(positions, x.shape[-1], self.base, x.dtype)


ROWS = [
    Position(
        "sinusoidal", Sinusoidal, definitions.sinusoidal,
        """source: sines and cosines of the place are added to the embeddings
        can give a vector to every place, without parameters
        cannot keep positions out of the values; score by the distance alone
        lesson 11: reading beyond the trained length; Vaswani et al. 2017""",
    ),
]  # fmt: skip
