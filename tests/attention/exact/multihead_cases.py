"""Multi-head attention as a loop over heads, and layers and arrays for its tests."""

import math

import numpy as np

from attention.exact.multihead import MultiHeadAttention

from ...minigrad.array_cases import draw
from ...ops.sdpa import average, scores

B, L, S, D, H, Dk, Dv = 2, 5, 7, 12, 4, 9, 10
close = dict(rtol=1e-11, atol=1e-12)  # sums of some dozens of numbers of order one


def layer(num_kv_heads=None, dtype=np.float64, seed=0, width=D, **options):
    """A layer of which no parameter is 0, its biases included."""
    rng = np.random.default_rng(seed)
    module = MultiHeadAttention(width, H, num_kv_heads, rng=rng, **options)
    for parameter in module.parameters():
        parameter.data = (rng.standard_normal(parameter.shape) / 2).astype(dtype)
    return module


def by_loops(module, query, key, value, allowed=True, added=0.0):
    """out (B, L, D), weights (B, H, L, S): one head after the other.

    allowed and added broadcast to (B, H, L, S)
    """
    state, E, G = module.state_dict(), D // H, H // module.num_kv_heads
    scale = 1 / math.sqrt(E) if module.scale is None else module.scale
    shape = len(query), H, query.shape[1], key.shape[1]
    allowed, added = (np.broadcast_to(x, shape) for x in (allowed, added))

    def project(name, x):
        return x @ state[f"{name}.weight"].T + state.get(f"{name}.bias", 0)

    contexts, weights = [], []
    for h in range(H):
        own, shared = slice(h * E, (h + 1) * E), slice(h // G * E, (h // G + 1) * E)
        q = project("W_q", query)[..., own]
        k, v = project("W_k", key)[..., shared], project("W_v", value)[..., shared]
        o, p, _ = average(scores(q, k, scale) + added[:, h], v, allowed[:, h])
        contexts.append(o)
        weights.append(p)
    return project("W_o", np.concatenate(contexts, -1)), np.stack(weights, 1)


j, i = np.arange(S), np.arange(L)[:, None]
DENSE = np.random.default_rng(3).random((B, H, L, S)) < 0.6


def example(options, seed=0):
    widths = D, options.get("kdim", D), options.get("vdim", D)
    return draw(*zip((B, B, B), (L, S, S), widths), seed=seed)
