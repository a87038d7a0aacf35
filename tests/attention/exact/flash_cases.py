"""The raw tiled operation, and patterns of pairs, for the tests."""

import numpy as np

from attention import masks
from attention.exact.flash import flash_attention

from ...minigrad.array_cases import draw

PATTERNS = {
    "everything": None,
    "causal": masks.causal,
    "window": masks.sliding_window(4, 2),
    "lengths": masks.padding([9, 0]),
    "random": masks.from_array(np.random.default_rng(0).random((2, 3, 13, 17)) < 0.2),
    "of a head": masks.mask_mod(lambda b, h, q, kv: (kv % 2 == h % 2) & (q > 5)),
    "Longformer": masks.sliding_window(2, 2) | masks.global_tokens([3]),
    "BigBird": masks.bigbird(2, 3, 1, 1, seed=0),
    "nothing": masks.nothing,
}


def run(q, k, v, tiles, g=None, **options):
    """o, lse, dq, dk, dv of the raw operation."""
    (o, lse), backward = flash_attention.raw(q, k, v, plan=tiles, scale=0.4, **options)
    g = draw(o.shape, seed=5, dtype=o.dtype)[0] if g is None else g
    return [o, lse, *backward([g, np.ones_like(lse)], (True,) * 3)[:3]]
