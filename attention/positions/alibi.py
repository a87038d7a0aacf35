"""ALiBi: the farther away a key is, the more is taken off its score.

    s_ij = q_i . k_j / sqrt(D) - m_h |i - j|

Each head h has a slope m_h, from steep (it sees its neighbours) to flat. Nothing is
learned. Under a causal mask only j <= i is left, where this is -m_h (i - j): one bias
serves decoders and, symmetric as it is, encoders. The terms -m_h i are the same for a
whole row and cancel in the softmax, so that +m_h j does as well *there*; without the
mask it would reward keys for being late. L + S - 1 numbers a head.

Press et al. 2022, section 3; symmetric as in their issue 5.
"""

import numpy as np

from .offsets import offsets, toeplitz


def alibi_slopes(num_heads, dtype=np.float32):
    """One slope a head: (H,).

    H a power of two:   m_h = 2^(-8 (h + 1) / H),  h = 0, ..., H - 1
    otherwise:          those of the next smaller power c, and then every other one of
                        those of 2c, from the first on, until there are H

    Raises ValueError unless there is at least one head, TypeError for a dtype that has
    no fractions.
    """
    whole = isinstance(num_heads, (int, np.integer)) and not isinstance(num_heads, bool)
    if not whole or num_heads < 1:
        raise ValueError(
            f"alibi_slopes: num_heads is {num_heads!r}; expected an integer of 1 or "
            "more."
        )
    if np.dtype(dtype).kind != "f":
        raise TypeError(
            f"alibi_slopes: dtype is {np.dtype(dtype)}; expected a floating-point "
            "type, as slopes are fractions."
        )
    c = 1 << (int(num_heads).bit_length() - 1)  # the largest power of two up to H
    between = _of_a_power(2 * c)[::2]
    return np.concatenate([_of_a_power(c), between])[:num_heads].astype(dtype)


def alibi_bias(num_heads, L, S, causal_align="upper_left", dtype=np.float32):
    """-m_h |i - j| as a matrix for each head, (H, L, S): a plain array.

    causal_align   "lower_right": the last query stands beside the last key; the
                   distance is then |i + S - L - j|
    dtype          of the result; float32 leaves float32 scores what they are
    """
    v = alibi_by_offset(num_heads, L, S, causal_align, dtype)
    return toeplitz.raw(v, L, S)[0]


def alibi_by_offset(num_heads, L, S, causal_align="upper_left", dtype=np.float32):
    """The same, one value for each offset: (H, L + S - 1), b_ij = v[j - i + L - 1].

    What a tiled kernel wants, which never has an L x S array.
    """
    distance = np.abs(offsets("alibi_bias", L, S, causal_align))  # (L + S - 1,)
    alibi_slopes(num_heads, dtype)  # refuses other dtypes
    slopes = alibi_slopes(num_heads, np.float64)
    return (slopes[:, None] * -distance).astype(dtype)


def _of_a_power(n):
    return 2.0 ** (-8 * np.arange(1, n + 1) / n)
