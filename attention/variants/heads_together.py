"""Heads and layers that share: talking heads, and keys from the layer before.

**Talking heads.** Two H x H matrices mix the scores of the heads before the softmax, and
their weights after it:

    s'_h = sum_g P_hg s_g,    p_h = softmax(s'_h),    w_h = sum_g Q_hg p_g

With identity matrices this is multi-head attention. The matrices of all heads have to
exist at the same time, so no kernel computes them in tiles.

**Shared keys and values.** A layer may have queries and an output of its own, and read
the keys and values that an earlier layer has projected: layer 2 l + 1 those of layer
2 l. The cache is half as large, and the gradients of both layers add up in the keys.

Shazeer et al. 2020 (talking heads); Brandon et al. 2024 (shared layers).
"""

import numpy as np

from minigrad import linear, reshape
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..exact.multihead import heads, side_by_side
from ..exact.sdpa import scaled_dot_product_attention
from ..masks import causal
from ..masks.given import check_axes
from ..scores import scaled_dot
from ..softmax import masked_softmax
from ..template import clear_unused
from .row import Variant


@shapes
def talking_heads(q, k, v, P, Q, mask=None):
    """Attend with all heads, which mix their scores and their weights.

    q (..., H, L, E), k (..., H, S, E), v (..., H, S, Ev), P (H, H), Q (H, H),
    mask? (L, S) or (..., H | 1, L, S) bool
        ->  o (..., H, L, Ev), w (..., H, L, S)

    mask   True = may attend; for (B, L, S), pass mask[:, None]
    """
    check_axes("talking_heads", mask, max(q.ndim, k.ndim))
    if mask is not None:  # a key that one head may read enters the scores of all

        def used():
            return np.array(mask, ndmin=3).any((-3, -2))[..., None, :]

        k, v = clear_unused(k, v, used)
    s = _mixed(P, scaled_dot.unchecked(q, k))  # (..., H, L, S)
    w = _mixed(Q, masked_softmax(s, mask=mask))
    return w @ v, w


def _mixed(P, x):
    """Return sum_g P_hg x_g.    P (H, H), x (..., H, L, S)  ->  (..., H, L, S)"""
    *leading, H, L, S = x.shape
    return reshape(P @ reshape(x, (*leading, H, L * S)), x.shape)


@shapes
def shared_attention(x, key, value, W_q, W_o, num_heads=1, is_causal=False):
    """Attend to the keys and values of another layer; the last query is at the last.

    x (..., L, D), key (..., Hk, S, E), value (..., Hk, S, E), W_q (HE, D), W_o (D, HE)
        ->  out (..., L, D)

    key, value   of the other layer's KVCache, or of its ``precompute(x)``
    num_heads    H, the heads of the queries
    """
    H, rows = whole("shared_attention", "num_heads", num_heads, least=1), len(W_q)
    if rows % H:
        raise ValueError(
            f"shared_attention: W_q has {rows} rows and num_heads is {H}; expected a "
            "multiple of num_heads, E rows for each."
        )
    o = scaled_dot_product_attention(
        heads(lambda x: linear(x, W_q), x, H),
        key,
        value,
        causal(offset="lower_right") if is_causal else None,
        enable_gqa=True,
    )
    return linear(side_by_side(o), W_o)


def _shared(x, key, value, W_q, W_o):
    return shared_attention(x, key[None], value[None], W_q, W_o)  # one head


ROWS = [
    Variant(
        "talking", definitions.talking_heads, talking_heads,
        inputs="q (H, L, E), k (H, S, E), v (H, S, Ev)",
        parameters="P (H, H), Q (H, H)",
        multiplications="H*(L*E + L*S*E) + 2*H*H*L*S + H*L*S*Ev",
        numbers=dict(H=1),
        small=dict(H=2),
        about="""score: two H x H matrices mix scores and weights of the heads
        can let a head use the scores and the weights of the others
        cannot be computed in tiles: the weights of all heads must exist at once
        lesson 17: nothing trained, identity matrices give multi-head attention; Shazeer
        et al. 2020""",
    ),
    Variant(
        "shared", definitions.shared, _shared,
        inputs="x (L, E), k (S, E), v (S, E)",
        parameters="W_q (E, E), W_o (E, E)",
        multiplications="2*L*E*E + L*E + 2*L*S*E",
        about="""source: keys and values are those of the layer before
        can halve the cache of a stack of layers
        cannot compute other keys and values than that layer
        lesson 17: nothing trained, the numbers in a cache of two layers; Brandon et al.
        2024""",
    ),
]  # fmt: skip
