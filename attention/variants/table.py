"""The table of scores: one row for each score that a decoder can use.

    SCORES["general"].layer(Dq, Dk, rng)     the layer GeneralAttention(Dq, Dk, rng=rng)

The choices of configs, options of commands, help texts and tests are the names of this
table, so a new score is a new row. Its layer states whether ``attention_gru`` computes
it (``Attention.fused_score``).

``attention`` imports a layer when it is first used, so a command can list the names
without importing NumPy.
"""

from typing import Callable, NamedTuple

import attention


class Score(NamedTuple):
    """A row of the table.

    layer         (Dq, Dk, rng) -> a layer for queries and keys of these widths
    equal_widths  whether Dq must equal Dk
    """

    layer: Callable
    equal_widths: bool = False


SCORES = {
    "additive": Score(
        lambda Dq, Dk, rng: attention.AdditiveAttention(Dq, Dk, Dq, rng=rng)
    ),
    "dot": Score(
        lambda Dq, Dk, rng: attention.LuongAttention("dot", Dq, Dk, rng=rng),
        equal_widths=True,
    ),
    "general": Score(lambda Dq, Dk, rng: attention.GeneralAttention(Dq, Dk, rng=rng)),
    "scaled": Score(
        lambda Dq, Dk, rng: attention.DotProductAttention(rng=rng), equal_widths=True
    ),
    "concat": Score(
        lambda Dq, Dk, rng: attention.LuongAttention("concat", Dq, Dk, rng=rng)
    ),
    "gaussian": Score(  # the square of the bandwidth is the divisor of "scaled"
        lambda Dq, Dk, rng: attention.GaussianAttention(Dq**0.25, rng=rng),
        equal_widths=True,
    ),
}
REVERSAL_SCORES = ("additive", "dot", "general", "scaled")  # of ``seq2seq/reverser.py``
