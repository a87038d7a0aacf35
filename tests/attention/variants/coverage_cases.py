"""Coverage attention, in loops, and its arrays, for the tests."""

import math

import numpy as np

from attention.variants.coverage import CoverageAttention

from ...minigrad.array_cases import draw

B, L, S, Dq, Dk, A, Ev = 2, 4, 5, 3, 7, 6, 8  # no two alike: a lost transpose shows
close = dict(rtol=1e-11, atol=1e-12)  # sums of order one; errors add up over steps


def example(seed=0, dtype=float):
    return draw((B, L, Dq), (B, S, Dk), (B, S, Ev), seed=seed, dtype=dtype)


def layer(dtype=np.float64, covering=True, **options):
    """With parameters drawn, also those that start from 0."""
    module = CoverageAttention(Dq, Dk, A, rng=np.random.default_rng(0), **options)
    rng = np.random.default_rng(1)
    for name, parameter in module.named_parameters():
        values = parameter.data.astype(dtype)
        if name in ("w_c", "b") and covering:
            values = (2 * rng.standard_normal(A)).astype(dtype)
        parameter.data = values
    return module


def by_loops(module, queries, keys, values, lengths):
    """One step, one example, one key at a time; lengths (B,) or (B, L)."""
    W_q, W_k, w_v, w_c = (getattr(module, n).data for n in ("W_q", "W_k", "w_v", "w_c"))
    b_attn = 0 if module.b is None else module.b.data
    lengths = np.broadcast_to(np.reshape(lengths, (B, -1)), (B, L))
    contexts, weights, coverages = (np.zeros((B, L, n)) for n in (Ev, S, S))
    for b in range(B):
        for t in range(L):
            for j in range(S):
                coverages[b, t, j] = sum(weights[b, u, j] for u in range(t))
            e = {}
            for j in range(lengths[b, t]):
                z = W_q @ queries[b, t] + W_k @ keys[b, j] + w_c * coverages[b, t, j]
                e[j] = w_v @ np.tanh(z + b_attn)
            total = sum(math.exp(x) for x in e.values())
            for j in e:
                weights[b, t, j] = math.exp(e[j]) / total
                contexts[b, t] += weights[b, t, j] * values[b, j]
    return contexts, weights, coverages
