"""Attention over two sets of keys, from the attention over each of them.

    o = w_1 o_1 + w_2 o_2,    w_a = exp(lse_a) / (exp(lse_1) + exp(lse_2))

The average over all keys is the weighted average of two averages. The weight of each is
its part of the denominator of the softmax, and lse is the logarithm of the denominator.
So the two sets of keys may be on two machines, or in a cache and in a new chunk. Tiled
attention merges its tiles in this way.

Dao 2023, section 2.3; Milakov and Gimelshein 2018 (the online softmax).
"""

import numpy as np

from minigrad import differentiable
from minigrad.shapes import shapes


@shapes
@differentiable
def merge(o1, lse1, o2, lse2):
    """Merge the attention over two disjoint sets of keys.

    o1 and o2 (..., L, Ev), lse1 and lse2 (..., L)  ->  o (..., L, Ev), lse (..., L)

        e_a = exp(lse_a - m), where m is the larger lse,    w_a = e_a / (e_1 + e_2)
        o = w_1 o_1 + w_2 o_2,    lse = m + ln(e_1 + e_2)

    With g = dL/do, gl = dL/dlse, dlse/dlse_a = w_a and dw_1/dlse_1 = w_1 w_2,

        do_a = w_a g
        dlse_1 = w_1 w_2 g . (o_1 - o_2) + w_1 gl
        dlse_2 = w_1 w_2 g . (o_2 - o_1) + w_2 gl

    w_a is not computed as exp(lse_a - lse): if m is large, lse has lost the digits of
    ln(e_1 + e_2). If both sets are empty, o = 0 and lse = -inf, and the gradients are
    0.
    """
    largest = np.maximum(lse1, lse2)
    m = np.where(largest == -np.inf, 0, largest)  # (-inf) - (-inf) would be NaN
    e1, e2 = np.exp(lse1 - m), np.exp(lse2 - m)
    total = e1 + e2
    empty = total == 0
    w1, w2 = ((e / (total + empty))[..., None] for e in (e1, e2))  # (..., L, 1)
    o = w1 * o1 + w2 * o2
    lse = np.where(empty, -np.inf, m + np.log(total + empty))

    def backward(g):
        g, gl = g
        gl = gl[..., None]  # (..., L, 1)
        change = w1 * w2 * (g * (o1 - o2)).sum(-1, keepdims=True)
        dlse1, dlse2 = change + w1 * gl, -change + w2 * gl
        return w1 * g, dlse1[..., 0], w2 * g, dlse2[..., 0]

    return (o, lse), backward
