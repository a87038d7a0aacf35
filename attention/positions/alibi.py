"""ALiBi: the farther away a key is, the more is subtracted from its score.

    s_ij = q_i . k_j / sqrt(D) - m_h |i - j|

Each head h has a slope m_h. A head with a steep slope attends to near keys. Nothing is
learned. The formula is symmetric, so encoders can use it. Under a causal mask, j <= i
and the bias is -m_h (i - j). There -m_h i is the same for all keys of a query and
cancels in the softmax, so +m_h j gives the same weights. Without the mask, +m_h j would
prefer late keys. The bias takes L + S - 1 numbers for each head.

Press et al. 2022, section 3; symmetric as in issue 5 of the authors'
repository.
"""

from functools import partial

import numpy as np

from minigrad.arguments import whole

from .. import definitions
from .offsets import OffsetBias, offsets
from .scheme import Position, Scheme


def alibi_slopes(num_heads, dtype=np.float32):
    """Return one slope for each head: (H,).

    H a power of two:   m_h = 2^(-8 (h + 1) / H),  h = 0, ..., H - 1
    otherwise:          the slopes of c heads, where c is the next smaller power of two,
                        followed by the slopes 0, 2, 4, ... of 2c heads, H in all
    """
    whole("alibi_slopes", "num_heads", num_heads, least=1)
    c = 1 << (int(num_heads).bit_length() - 1)  # the largest power of two up to H
    between = _slopes_of_power(2 * c)[::2]
    return np.concatenate([_slopes_of_power(c), between])[:num_heads].astype(dtype)


def alibi_by_offset(num_heads, L, S, first=0, dtype=np.float32):
    """Return -m_h |i - j| as an ``OffsetBias`` of values (H, L + S - 1).

    first   the position of the first query. S - L: the last query has the position of
            the last key
    dtype   of the result; float32 keeps float32 scores float32
    """
    distance = np.abs(offsets("alibi_by_offset", L, S, first))  # (L + S - 1,)
    slopes = alibi_slopes(num_heads, np.float64)
    return OffsetBias((slopes[:, None] * -distance).astype(dtype))


def _slopes_of_power(n):
    return 2.0 ** (-8 * np.arange(1, n + 1) / n)


class ALiBi(Scheme):
    """Subtract m_h |j - i| from the scores of head h."""

    changes = "scores"

    def options(self, attention, positions=None):
        """Return the bias, in the dtype of the layer."""
        dtype = attention.W_q.weight.dtype
        return {"bias": partial(alibi_by_offset, attention.num_heads, dtype=dtype)}


ROWS = [
    Position(
        "alibi", ALiBi, definitions.alibi,
        """score: - m |i - j|, a fixed slope for each head
        can read texts of any length, with a preference for near words
        cannot treat near and far alike: beyond training its scores fall further
        lesson 11: reading beyond the trained length; Press et al. 2022""",
        "L*E + L*S*E + L*S",
        "slope ()",
    ),
]  # fmt: skip
