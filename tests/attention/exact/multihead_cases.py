"""Multi-head attention as a loop over heads, and layers and arrays for its tests."""

import math

import numpy as np

from attention.exact.multihead import MultiHeadAttention

from ...minigrad.array_cases import draw

B, L, S, D, H, Dk, Dv = 2, 5, 7, 12, 4, 9, 10
close = dict(rtol=1e-11, atol=1e-12)  # sums of some dozens of numbers of order one


def layer(num_kv_heads=None, dtype=np.float64, seed=0, width=D, **options):
    """A layer of which no parameter is 0, its biases included."""
    rng = np.random.default_rng(seed)
    module = MultiHeadAttention(width, H, num_kv_heads, rng=rng, **options)
    for parameter in module.parameters():
        parameter.data = (rng.standard_normal(parameter.shape) / 2).astype(dtype)
    return module


def in_loops(state, query, key, value, G, allowed, added, scale):
    """out (L, D), weights (H, L, S) of one example: heads, queries, keys in turn."""

    def project(name, x):
        return x @ state[f"{name}.weight"].T + state.get(f"{name}.bias", 0)

    E = D // H
    weights = np.zeros((H, len(query), len(key)))
    contexts = np.zeros((len(query), D))
    for h in range(H):
        own, shared = slice(h * E, (h + 1) * E), slice(h // G * E, (h // G + 1) * E)
        q = project("W_q", query)[:, own]
        k, v = project("W_k", key)[:, shared], project("W_v", value)[:, shared]
        for i in range(len(query)):
            keys = [j for j in range(len(key)) if allowed[h, i, j]]
            s = {j: scale * (q[i] @ k[j]) + added[h, i, j] for j in keys}
            total = sum(math.exp(s[j]) for j in keys)
            for j in keys:
                weights[h, i, j] = math.exp(s[j]) / total
                contexts[i, own] += weights[h, i, j] * v[j]
    return project("W_o", contexts), weights


def by_loops(module, query, key, value, allowed=True, added=0.0):
    """All examples; allowed and added broadcast to (B, H, L, S)."""
    shape = len(query), H, query.shape[1], key.shape[1]
    allowed, added = (np.broadcast_to(x, shape) for x in (allowed, added))
    scale = 1 / math.sqrt(D // H) if module.scale is None else module.scale
    each = [
        in_loops(
            module.state_dict(),
            query[b],
            key[b],
            value[b],
            H // module.num_kv_heads,
            allowed[b],
            added[b],
            scale,
        )
        for b in range(len(query))
    ]
    return [np.stack(x) for x in zip(*each)]


j, i = np.arange(S), np.arange(L)[:, None]
DENSE = np.random.default_rng(3).random((B, H, L, S)) < 0.6


def example(options, seed=0):
    widths = D, options.get("kdim", D), options.get("vdim", D)
    return draw(*zip((B, B, B), (L, S, S), widths), seed=seed)
