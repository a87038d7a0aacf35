"""RoPE: queries and keys are turned by their position, so that products see distances.

    theta_m = base^(-2m / R),                                m = 0, 1, ..., R / 2 - 1
    [a'_m]   [cos p theta_m   -sin p theta_m] [a_m]
    [b'_m] = [sin p theta_m    cos p theta_m] [b_m]          for position p

of the pairs (a_m, b_m) into which the first R of E entries are sorted:

    half-split    (m, m + R/2)      GPT-NeoX, Llama as Hugging Face stores it
    interleaved   (2m, 2m + 1)      RoFormer, GPT-J, Llama as Meta stores it

With R_p for the rotation by p, a score sees j - i alone: (R_i q) . (R_j k) =
q . R_{j-i} k. A model trained with one pairing reads nonsense with the other;
``rope_permutation`` leads over. 2 R multiplications a row, nothing learned.

Su et al. 2021, section 3.2.2.
"""

import numpy as np

from minigrad import differentiable

from .scaling import Scaling
from .sinusoidal import check_base, check_numbers, frequencies


@differentiable
def rope(x, positions, base=10000.0, interleaved=False, scaling=None, rot_dim=None):
    """Turn each row of x by its position.

    x (..., L, E)  ->  (..., L, E), of the same dtype

    positions     (L,), for all leading axes; or with as many axes as x has before its
                  last, each alike or 1: (B, 1, L) for x (B, H, L, E)
    interleaved   which entries are a pair: (2m, 2m + 1), or (m, m + R/2)
    scaling       an object of scaling.py, for sequences longer than in training; its
                  attention_factor multiplies the result, whether q or k
    rot_dim       R, even: turn the first R entries and leave the others; None is E

    A rotation is orthogonal, so its transpose turns back: dL/dx = rope(g, -positions),
    with the angles and the factor of the forward. Angles are float64 whatever x is, as
    in ``sinusoidal``.
    Raises TypeError for x or positions that are no floats or numbers, or for a scaling
    that is none; ValueError for shapes, a base or a rot_dim that do not fit.
    """
    x, positions = np.asarray(x), np.asarray(positions)
    _check(x, positions, base, interleaved, scaling)
    R = _checked_width("rope", x.shape[-1], rot_dim)
    theta, factor = frequencies(R, base), 1.0
    if scaling is not None:
        length = positions.max(initial=0) + 1
        theta, factor = scaling.slow(theta, base, length), scaling.attention_factor
    angle = positions[..., None] * theta  # (L, R/2)
    cos = (factor * np.cos(angle)).astype(x.dtype)
    sin = (factor * np.sin(angle)).astype(x.dtype)
    a, b = _pairs(R, interleaved)

    def turn(x, sin):
        y = np.array(x)  # entries from R on stay what they are
        y[..., a] = x[..., a] * cos - x[..., b] * sin
        y[..., b] = x[..., a] * sin + x[..., b] * cos
        return y

    return turn(x, sin), lambda g: turn(g, -sin)


def rope_permutation(E, rot_dim=None):
    """The order of entries that leads from interleaved to half-split: (E,) integers.

        p = 0, 2, 4, ..., 1, 3, 5, ...   then R, R + 1, ..., E - 1 as they are
        rope(x[..., p], t) = rope(x, t, interleaved=True)[..., p]

    Rows of W_q and W_k reordered by p, head by head, give a model the other pairing,
    with the same scores. np.argsort(p) leads back.
    Raises ValueError when rot_dim (None is E) is odd, or more than E.
    """
    R = _checked_width("rope_permutation", E, rot_dim)
    a, b = _pairs(R, interleaved=True)
    entries = np.arange(E)
    return np.concatenate([entries[a], entries[b], entries[R:]])


def _pairs(R, interleaved):
    """The first and the second entries of the pairs, as slices."""
    if interleaved:
        return slice(0, R, 2), slice(1, R, 2)
    return slice(0, R // 2), slice(R // 2, R)


def _check(x, positions, base, interleaved, scaling):
    if x.dtype.kind != "f":
        raise TypeError(
            f"rope: x is {x.dtype}; expected floating-point numbers. Write 1.0 for 1, "
            "or use .astype(np.float32)."
        )
    if x.ndim < 2:
        raise ValueError(
            f"rope: x has shape {x.shape}; expected (..., L, E). A single vector x is "
            "x[None, :], one row."
        )
    check_numbers("rope", positions)
    *leading, L, _ = x.shape
    sizes = zip(positions.shape, leading) if positions.ndim > 1 else ()
    if (
        positions.ndim not in (1, x.ndim - 1)
        or positions.shape[-1] != L
        or any(m not in (1, n) for m, n in sizes)
    ):
        raise ValueError(
            f"rope: positions have shape {positions.shape} and x {x.shape}; expected "
            f"{(L,)}, the same for all leading axes, or {(*leading, L)}, where leading "
            "axes may be 1: positions[:, None, :] are alike for all heads of an "
            "example."
        )
    check_base("rope", base)
    if not isinstance(interleaved, (bool, np.bool_)):
        raise TypeError(
            f"rope: interleaved is {interleaved!r}; expected True, pairs (2m, 2m + 1), "
            "or False, pairs (m, m + R/2)."
        )
    if scaling is not None and not isinstance(scaling, Scaling):
        raise TypeError(
            f"rope: scaling is {scaling!r}; expected None, or a LinearScaling, "
            "NTKScaling, DynamicNTKScaling or YaRNScaling."
        )


def _checked_width(name, E, rot_dim):
    if rot_dim is None and isinstance(E, (int, np.integer)) and E % 2:
        raise ValueError(
            f"{name}: the width E is {E}; expected an even number, as entries are "
            f"turned in pairs. rot_dim={E - 1} leaves the last one as it is."
        )
    R = E if rot_dim is None else rot_dim
    if not isinstance(R, (int, np.integer)) or R % 2 or not 0 <= R <= E:
        raise ValueError(
            f"{name}: rot_dim is {R!r}; expected an even number from 0 to {E}, the "
            "width, as entries are turned in pairs."
        )
    return R
