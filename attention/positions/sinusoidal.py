"""Sinusoidal positions: a clock with d / 2 hands, each slower than the one before.

    w_i = base^(-2i / d)                               i = 0, 1, ..., ceil(d / 2) - 1
    PE[p, 2i] = sin(p w_i),   PE[p, 2i + 1] = cos(p w_i)

Added once to the embeddings; n d sines, nothing learned, nothing to derive. A step of k
turns every hand by the same angle wherever it stands, PE[p + k] = R(k) PE[p], with

    R(k) =  cos k w_i   sin k w_i        on the pair (2i, 2i + 1),
           -sin k w_i   cos k w_i

so that a linear layer can look k places back. RoPE (rope.py) has the same hands.

Vaswani et al. 2017, section 3.5.
"""

import numpy as np


def sinusoidal(n, d, base=10000.0, dtype=np.float32):
    """The sinusoidal positional encoding, a plain array to be added to embeddings.

    n       a length, for the positions 0, 1, ..., n - 1; or the positions (...), which
            may be any numbers
    d       the width; with odd d, the last sine goes without its cosine
    dtype   of the result. float32 leaves float32 embeddings what they are: to a
            float64 array the sum would be float64

    ->  (n, d), or (..., d)

    Angles are float64 whatever the dtype: at p = 10^6, float32 rounds them by up to
    0.03.
    Raises TypeError or ValueError for what is no length, position, width or base.
    """
    positions = as_positions("sinusoidal", n)
    _check_width(d)
    if np.dtype(dtype).kind != "f":
        raise TypeError(
            f"sinusoidal: dtype is {np.dtype(dtype)}; expected a floating-point type, "
            "as sines are no integers."
        )
    check_base("sinusoidal", base)
    angle = positions[..., None] * frequencies(d, base)  # (..., ceil(d / 2))
    encoding = np.empty((*positions.shape, d), dtype)
    encoding[..., 0::2] = np.sin(angle)
    encoding[..., 1::2] = np.cos(angle[..., : d // 2])  # odd d: one cosine less
    return encoding


def frequencies(d, base=10000.0):
    """w_i = base^(-2i / d), the angle of each hand a step: (ceil(d / 2),), falling."""
    return base ** (-np.arange(0, d, 2) / d)


def as_positions(name, n):
    """The positions 0 to n - 1 for a length n, or the finite numbers n, as an array."""
    if isinstance(n, (int, np.integer)) and not isinstance(n, bool):
        if n < 0:
            raise ValueError(f"{name}: a length of {n}; expected 0 or more.")
        return np.arange(n)
    positions = np.asarray(n)
    check_numbers(name, positions)
    if isinstance(n, (float, np.floating)):
        raise TypeError(
            f"{name}: a length of {n!r}; expected a whole number, or positions, such "
            f"as [{n!r}]."
        )
    return positions


def check_numbers(name, positions):
    if positions.dtype.kind not in "iuf":
        raise TypeError(
            f"{name}: positions are {positions.dtype}; expected numbers, such as "
            "np.arange(L)."
        )
    if not np.isfinite(positions).all():
        wrong = positions[~np.isfinite(positions)][0]
        raise ValueError(f"{name}: there is no position {wrong}.")


def check_base(name, base):
    if isinstance(base, bool) or not isinstance(base, (int, float, np.number)):
        raise TypeError(f"{name}: base is {base!r}; expected a number above 1.")
    if not base > 1:
        raise ValueError(
            f"{name}: base is {base}; expected a number above 1, as the frequencies "
            "fall from 1 towards 1 / base."
        )


def _check_width(d):
    if not isinstance(d, (int, np.integer)) or d < 1:
        raise ValueError(
            f"sinusoidal: d is {d!r}; expected a width, an integer of 1 or more."
        )
