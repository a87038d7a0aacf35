"""RoPE rotates each query and key by an angle that grows with its position.

    theta_m = base^(-2m / R),                                m = 0, 1, ..., R / 2 - 1
    [a'_m]   [cos p theta_m   -sin p theta_m] [a_m]
    [b'_m] = [sin p theta_m    cos p theta_m] [b_m]          for position p

The first R of the E entries of a row are divided into pairs (a_m, b_m), in one of two
ways:

    half-split    (m, m + R/2)      GPT-NeoX, Llama as Hugging Face stores it
    interleaved   (2m, 2m + 1)      RoFormer, GPT-J, Llama as Meta stores it

Let rot_p be the rotation for position p. A score depends only on the distance j - i:
(rot_i q) . (rot_j k) = q . rot_{j-i} k. A model trained with one pairing is wrong with
the other. The cost is 2 R multiplications for each row. There are no parameters.

Su et al. 2021, section 3.2.2.
"""

import functools

import numpy as np

from minigrad import differentiable
from minigrad.arguments import flag, number, whole
from minigrad.shapes import shapes

from .. import definitions
from .scheme import Position, Scheme
from .sinusoidal import frequencies


@shapes
@differentiable
def rope(x, positions, base=10000.0, interleaved=False, scaling=None, rot_dim=None):
    """Rotate each row of x by its position.

    x (..., L, E), positions  ->  (..., L, E)

    positions     (L,); or the axes of x without the last, such as (B, 1, L) for
                  x (B, H, L, E), if the positions differ
    interleaved   which entries are a pair: (2m, 2m + 1), or (m, m + R/2)
    scaling       an object of scaling.py, for sequences longer than in training. It
                  reduces the frequencies. Its attention_factor multiplies the rotated
                  entries, so their part of a score is multiplied by its square
    rot_dim       R, even: rotate the first R entries and keep the others; None is E

    A rotation is orthogonal: its transpose rotates back, and a factor is its own
    transpose. So dL/dx is g, rotated by the opposite angles and multiplied by the same
    factor. Angles are float64 whatever the dtype of x, as in ``sinusoidal``.
    """
    positions = np.asarray(positions, float)
    _check(x, positions, base, interleaved, scaling)
    R = _rotated_width(x.shape[-1], rot_dim)
    theta, factor = frequencies(R, base), 1.0
    if scaling is not None:
        theta, factor = scaling.slow(theta, base), scaling.attention_factor
    at = positions.tobytes(), positions.shape
    cos, sin = _cos_and_sin(*at, theta.tobytes(), factor, x.dtype)  # (L, R/2)
    a, b = _pairs(R, interleaved)

    def rotate(x, sin):
        y = np.array(x)  # entries from R on are copied
        y[..., a] = x[..., a] * cos - x[..., b] * sin
        y[..., b] = x[..., a] * sin + x[..., b] * cos
        return y

    def backward(g):
        return rotate(g, -sin)  # the opposite angle

    return rotate(x, sin), backward


@functools.lru_cache(maxsize=4)  # one call serves the queries and keys of all layers
def _cos_and_sin(positions, shape, theta, factor, dtype):
    """Return cos and sin of p theta_m, times the factor.

    positions, theta   the bytes of float64 numbers, because arrays are no keys
    """
    angle = np.frombuffer(positions).reshape(*shape, 1) * np.frombuffer(theta)
    return [(factor * f(angle)).astype(dtype) for f in (np.cos, np.sin)]


def _pairs(R, interleaved):
    """Return the first and the second entries of the pairs, as slices."""
    if interleaved:
        return slice(0, R, 2), slice(1, R, 2)
    return slice(0, R // 2), slice(R // 2, R)


def _check(x, positions, base, interleaved, scaling):
    sizes = zip(positions.shape, x.shape[:-1]) if positions.ndim > 1 else ()
    if (
        positions.ndim not in (1, x.ndim - 1)
        or positions.shape[-1] != x.shape[-2]
        or any(m not in (1, n) for m, n in sizes)
    ):
        raise ValueError(
            f"rope: positions have shape {positions.shape}; expected (L,) = "
            f"{x.shape[-2:-1]} or {x.shape[:-1]}, where leading axes may be 1, for x "
            f"(..., L, E) = {x.shape}. If each example has its own positions (B, L), "
            "pass positions[:, None, :]."
        )
    number("rope", "base", base, positive=True)
    flag("rope", "interleaved", interleaved)
    if scaling is not None and not callable(getattr(scaling, "slow", None)):
        raise TypeError(
            f"rope: scaling is {scaling!r}; expected None, or a LinearScaling, "
            "NTKScaling or YaRNScaling."
        )


def _rotated_width(E, rot_dim):
    """Return R, the number of entries that are rotated: rot_dim, or E."""
    R = E
    if rot_dim is not None:
        R = whole("rope", "rot_dim", rot_dim)
    if R % 2 or R > E:
        what = "the width E" if rot_dim is None else "rot_dim"
        raise ValueError(
            f"rope: {what} is {R}; expected an even number up to {E}, as entries "
            f"rotate in pairs. rot_dim={E // 2 * 2} rotates as many as possible."
        )
    return R


class RoPE(Scheme):
    """Rotate queries and keys by angles that grow with the position."""

    changes = "queries and keys"

    def __init__(self, config, causal, rng):
        self.base, self.interleaved = config.base, config.interleaved

    def options(self, attention, positions=None):
        """Return the rotation."""
        rotate = functools.partial(
            rope, base=self.base, interleaved=self.interleaved
        )
        return {"rotate": rotate}


# a product for each cosine and sine of a pair, of queries and of keys, and the angles
ROTATED = "L*E + L*S*E + 3*(L + S)*E"
ROWS = [
    Position(
        "rope", RoPE, definitions.rope,
        """score: queries and keys are rotated by angles that grow with the place
        can score by the distance alone, without parameters; cache rotated keys
        cannot be relied on at distances that training never had
        lesson 11: reading beyond the trained length; Su et al. 2021""",
        ROTATED,
    ),
]  # fmt: skip
