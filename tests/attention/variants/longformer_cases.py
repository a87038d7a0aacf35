"""Longformer's attention as a loop over tokens, and the calls that are tried on it."""

import math

import numpy as np

from attention.variants.longformer import LongformerAttention

B, L, D, H, W = 2, 9, 12, 4, 4
close = dict(rtol=1e-11, atol=1e-12)  # sums of some dozens of numbers of order one


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def layer(window=W, dtype=np.float64, width=D, **options):
    """A layer of which no two projections are alike and no bias is 0."""
    rng = np.random.default_rng(0)
    module = LongformerAttention(width, H, window, rng=rng, **options)
    for parameter in module.parameters():
        parameter.data = (rng.standard_normal(parameter.shape) / 2).astype(dtype)
    return module


def in_loops(module, x, is_global, valid):
    """out (L, D), weights (H, L, L) of one example: one head, token, key at a time."""
    state, n = module.state_dict(), len(x)
    E, reach = x.shape[1] // H, module.window // 2

    def project(name, x):
        return state[f"{name}.weight"] @ x + state.get(f"{name}.bias", 0)

    weights, contexts = np.zeros((H, n, n)), np.zeros(x.shape)
    for h in range(H):
        own = slice(h * E, (h + 1) * E)
        for i in range(n):
            of = "_global" if i in is_global else ""
            q = project(f"W_q{of}", x[i])[own]
            keys = [
                j
                for j in range(valid)
                if of or abs(i - j) <= reach or j in is_global
            ]  # fmt: skip
            k = {j: project(f"W_k{of}", x[j])[own] for j in keys}
            total = sum(math.exp(q @ k[j] / math.sqrt(E)) for j in keys)
            for j in keys:
                p = weights[h, i, j] = math.exp(q @ k[j] / math.sqrt(E)) / total
                contexts[i, own] += p * project(f"W_v{of}", x[j])[own]
    out = np.stack([project("W_o", c) for c in contexts])
    return out, weights


def by_loops(module, x, chosen, lens):
    each = [in_loops(module, *one) for one in zip(x, chosen, lens)]
    return [np.stack(a) for a in zip(*each)]


def as_bool(chosen, n=L):
    return np.array([[i in each for i in range(n)] for each in chosen])


DIFFERENT = as_bool([{0, 5}, {8}])
CALLS = {  # arguments; the global tokens and the length of each example
    "none": ({}, [{}, {}], [L, L]),
    "an empty list": ({"global_tokens": []}, [{}, {}], [L, L]),
    "the first": ({"global_tokens": [0]}, [{0}, {0}], [L, L]),
    "some": ({"global_tokens": [7, 0, 3, 7]}, [{0, 3, 7}] * 2, [L, L]),
    "alike": ({"global_tokens": as_bool([{1, 2}])[0]}, [{1, 2}] * 2, [L, L]),
    "different": ({"global_tokens": DIFFERENT}, [{0, 5}, {8}], [L, L]),
    "one has none": ({"global_tokens": as_bool([{}, {4}])}, [{}, {4}], [L, L]),
    "all": ({"global_tokens": np.ones((B, L), bool)}, [set(range(L))] * 2, [L, L]),
    "lengths": ({"valid_lens": [4, 9]}, [{}, {}], [4, 9]),
    "some and lengths": (
        {"global_tokens": [0, 3, 7], "valid_lens": [5, 9]},
        [{0, 3, 7}] * 2,
        [5, 9],
    ),
    "different and lengths": (
        {"global_tokens": DIFFERENT, "valid_lens": [6, 0]},
        [{0, 5}, {8}],
        [6, 0],
    ),
}
