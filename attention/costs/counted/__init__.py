"""Every multiplication of attention, counted one by one.

Each variant as the plain loop that defines it, over numbers that count. What is counted
here is what ledger predicts, and what is computed here is what the package computes.
For a few tokens: it takes a microsecond a multiplication.

numbers.py   numbers whose products are counted, and sums and products of rows of them
loops.py     each variant, a query and a key at a time
windows.py   those in which a query has keys of its own: masks, tiles, local attention
"""

import numpy as np

from . import loops, windows
from .numbers import Number, Tally, apply, average, inner, softmax

__all__ = ["count", "Tally", "Number", "inner", "apply", "softmax", "average"]

LOOPS = loops.LOOPS | windows.LOOPS


def count(variant, q, k, v, parameters=(), **options):
    """Attention of one head, as its definition has it: (o, multiplications).

    q (L, E), k (S, Dk), v (S, Ev)  ->  o (L, Ev)

    parameters   W_a of "general"; W_q, W_k, w_v of "additive", and w_c of "coverage";
                 W_a, v_a of "concat"; W_p, v_p of "local-p"; W_q, W_k, W_v, W_o of
                 "multi-head", all heads of which are counted
    options      projected, as in ``ledger``; heads, of "multi-head"; D, of "local-m"
                 and "local-p"; allowed, bool (L, S), of "masked", which is scaled dot
                 products of those pairs alone, and of "tiled"; tiles, of "tiled":
                 [(queries, [keys, ...]), ...], both as ranges
    """
    if variant not in LOOPS:
        raise ValueError(
            f"count: there is no loop {variant!r}; expected one of {', '.join(LOOPS)}. "
            'Patterns such as a window are "masked", with allowed=.'
        )
    tally = Tally()
    q, k, v = map(tally.numbers, (q, k, v))
    parameters = list(map(tally.numbers, parameters))
    o = LOOPS[variant](q, k, v, *parameters, **options)
    return np.array([[x.value for x in row] for row in o]), tally.multiplications
