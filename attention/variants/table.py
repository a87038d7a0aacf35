"""Tables of what the package offers: the scores of a decoder, and sparse patterns.

    SCORES["general"].layer(Dq, Dk, rng)     the layer GeneralAttention(Dq, Dk, rng=rng)

    PATTERNS["window"].mask((255, 0))        the mask of a window, for its costs

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


class Pattern(NamedTuple):
    """A row of the table of sparse patterns. ``costs`` counts and measures each row.

    mask      (**options) -> the Mask
    pairs     (L, S, **options) -> the number of pairs that the mask keeps
    options   of the calls whose time and memory are measured
    small     options of the calls whose operations are counted, for a few tokens
    listed    whether the call needs a list of tiles (keys that are not one range)
    """

    mask: Callable
    pairs: Callable
    options: dict
    small: dict
    listed: bool = True


def _pair_counts():
    return attention.costs.pair_counts


PATTERNS = {
    "window": Pattern(
        lambda window: attention.masks.sliding_window(*window),
        lambda L, S, window: _pair_counts().window_pairs(L, S, *window),
        options=dict(window=(255, 0)),
        small=dict(window=(2, 1)),
        listed=False,
    ),
    "dilated": Pattern(
        lambda window, dilation: attention.masks.dilated(window[0], dilation),
        lambda L, S, window, dilation: _pair_counts().dilated_pairs(
            L, S, *window, dilation
        ),
        options=dict(window=(256, 256), dilation=2),
        small=dict(window=(4, 4), dilation=2),
    ),
    "longformer": Pattern(
        lambda window, global_tokens: attention.masks.sliding_window(*window)
        | attention.masks.global_tokens(global_tokens),
        lambda L, S, window, global_tokens: _pair_counts().longformer_pairs(
            L, S, *window, global_tokens
        ),
        options=dict(window=(128, 128), global_tokens=(0,)),
        small=dict(window=(1, 1), global_tokens=(0,)),
    ),
    "bigbird": Pattern(
        lambda blocks: attention.masks.bigbird(*blocks, seed=0),
        lambda L, S, blocks: _pair_counts().bigbird_blocks(L, S, *blocks)
        * blocks[0] ** 2,
        options=dict(blocks=(64, 3, 3, 2)),
        small=dict(blocks=(2, 1, 1, 1)),
    ),
}
