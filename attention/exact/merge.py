"""Attention over two sets of keys, from that over each of them.

    o = w_1 o_1 + w_2 o_2,    w_a = exp(lse_a) / (exp(lse_1) + exp(lse_2))

An average over all keys is an average of two averages, each weighted by its share of
the sum that the softmax divides by; lse is the logarithm of that sum. L Ev
multiplications: the keys may be spread over machines, or come from a cache and from a
new chunk, and nobody needs to see all of them. Tiled attention does this tile by tile.

Dao 2023, section 2.3; Milakov and Gimelshein 2018 (the online softmax).
"""

import numpy as np

from minigrad import differentiable


@differentiable
def merge(o1, lse1, o2, lse2):
    """Attention over two sets of keys that have none in common, from that over each.

    o1, o2 (..., L, Ev), lse1, lse2 (..., L)  ->  o (..., L, Ev), lse (..., L)

        e_a = exp(lse_a - m), where m is the larger lse,    w_a = e_a / (e_1 + e_2)
        o = w1 o1 + w2 o2,    lse = m + ln(e_1 + e_2)

    So keys may be spread over machines, or come from a cache and from a new chunk.
    With g = dL/do, gl = dL/dlse, dlse/dlse_a = w_a and dw_1/dlse_1 = w_1 w_2,

        do_a = w_a g,    dlse_1 = w_1 w_2 g . (o1 - o2) + w_1 gl,    dlse_2 likewise

    The sum e_1 + e_2 and not lse is what weights are divided by: a large m would leave
    no digits to the logarithm of the sum.
    Where both sets are empty, o = 0 and lse = -inf, without gradient.
    Raises TypeError for what are no floating-point numbers, ValueError when the shapes
    do not fit.
    """
    found = dict(o1=o1, lse1=lse1, o2=o2, lse2=lse2)
    for name, x in found.items():
        if np.asarray(x).dtype.kind != "f":
            raise TypeError(
                f"merge: {name} is {x if x is None else np.asarray(x).dtype}; expected "
                "floating-point numbers."
            )
    o1, lse1, o2, lse2 = map(np.asarray, found.values())
    if not o1.shape[:-1] == o2.shape[:-1] == lse1.shape == lse2.shape or (
        o1.shape != o2.shape
    ):
        raise ValueError(
            f"merge: o1 has shape {o1.shape}, lse1 {lse1.shape}, o2 {o2.shape}, lse2 "
            f"{lse2.shape}; expected (..., L, Ev), (..., L), (..., L, Ev), (..., L)."
        )
    # a set without keys has no part, whatever stands in its rows
    o1, o2 = (
        np.where((lse == -np.inf)[..., None], o.dtype.type(0), o)
        for o, lse in ((o1, lse1), (o2, lse2))
    )
    with np.errstate(all="ignore"):  # NaN and infinity give what they give
        top = np.maximum(lse1, lse2)
        m = np.where(top == -np.inf, 0, top)  # (-inf) - (-inf) would be NaN
        e1, e2 = np.exp(lse1 - m), np.exp(lse2 - m)
        total = e1 + e2
        share = np.where(total == 0, 0, 1 / total)
        w1, w2 = (e1 * share)[..., None], (e2 * share)[..., None]
        o = w1 * o1 + w2 * o2
        lse = m + np.log(total)

    def backward(g):
        g, gl = g
        gl = gl[..., None]
        # where no gradient comes from, NaN counts for nothing
        asked = (g != 0).any(-1, keepdims=True) | (gl != 0)
        with np.errstate(all="ignore"):
            apart = w1 * w2 * (g * (o1 - o2)).sum(-1, keepdims=True)
            dlse1, dlse2 = w1 * gl + apart, w2 * gl - apart
            found = w1 * g, dlse1, w2 * g, dlse2
            do1, dlse1, do2, dlse2 = (np.where(asked, x, 0) for x in found)
        return do1, dlse1[..., 0], do2, dlse2[..., 0]

    return (o, lse), backward
