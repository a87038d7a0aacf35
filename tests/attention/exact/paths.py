"""Exact attention with the whole matrix of scores, and in tiles."""

import functools

from attention import scaled_dot_product_attention

dense_attention, tiled_attention = (
    functools.partial(scaled_dot_product_attention, path=path)
    for path in ("dense", "tiled")
)
