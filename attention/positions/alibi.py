"""ALiBi: the farther away a key is, the more is subtracted from its score.

    s_ij = q_i . k_j / sqrt(D) - m_h |i - j|

Each head h has a slope m_h, from steep (it attends to its neighbours) to flat. Nothing
is learned. Under a causal mask only j <= i remains, where the bias is -m_h (i - j): one
formula serves decoders and, as it is symmetric, encoders. The terms -m_h i are constant
along a row and cancel in the softmax, so that +m_h j gives the same weights *under a
causal mask*; without the mask it would favour late keys. L + S - 1 numbers a head.

Press et al. 2022, section 3; symmetric as in their issue 5.
"""

import numpy as np

from minigrad.checks import whole

from .offsets import offsets, toeplitz


def alibi_slopes(num_heads, dtype=np.float32):
    """Return one slope for each head: (H,).

    H a power of two:   m_h = 2^(-8 (h + 1) / H),  h = 0, ..., H - 1
    otherwise:          those of the next smaller power c, and then every other slope of
                        2c heads, from the first on, until there are H
    """
    whole("alibi_slopes", "num_heads", num_heads, least=1)
    if np.dtype(dtype).kind != "f":
        raise TypeError(
            f"alibi_slopes: dtype is {np.dtype(dtype)}; expected a floating-point type."
        )
    c = 1 << (int(num_heads).bit_length() - 1)  # the largest power of two up to H
    between = _slopes_of_power(2 * c)[::2]
    return np.concatenate([_slopes_of_power(c), between])[:num_heads].astype(dtype)


def alibi_bias(num_heads, L, S, causal_align="upper_left", dtype=np.float32):
    """Return -m_h |i - j| as a matrix for each head: an array (H, L, S).

    causal_align   "lower_right": the last query has the position of the last key; the
                   distance is then |i + S - L - j|
    dtype          of the result; float32 keeps float32 scores float32
    """
    v = alibi_by_offset(num_heads, L, S, causal_align, dtype)
    return toeplitz.raw(v, L, S)[0]


def alibi_by_offset(num_heads, L, S, causal_align="upper_left", dtype=np.float32):
    """Return the bias with one value for each offset: (H, L + S - 1).

    b_ij = v[j - i + L - 1]. A tiled kernel reads this form: no L x S array is made.
    """
    distance = np.abs(offsets("alibi_bias", L, S, causal_align))  # (L + S - 1,)
    alibi_slopes(num_heads, dtype)  # raises for a dtype without fractions
    slopes = alibi_slopes(num_heads, np.float64)
    return (slopes[:, None] * -distance).astype(dtype)


def _slopes_of_power(n):
    return 2.0 ** (-8 * np.arange(1, n + 1) / n)
