"""Local attention, its kinds and its arrays, for the tests."""

import numpy as np

from attention.variants.local import LocalAttention

from ...minigrad.array_cases import draw

B, L, S, Dq, Dk, Ev = 2, 4, 9, 5, 3, 6  # no two alike: a lost transpose shows
close = dict(rtol=1e-12, atol=1e-13)  # the same sums of order one, in another order


def example(seed=0, dtype=float):
    return draw((B, L, Dq), (B, S, Dk), (B, S, Ev), seed=seed, dtype=dtype)


def layer(D=2, kind="m", dtype=np.float64, seed=0, **options):
    module = LocalAttention(Dq, Dk, D, kind, rng=np.random.default_rng(seed), **options)
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(dtype)
    return module


def reversal(t, length):
    return length - 1 - t


KINDS = {
    "m": dict(kind="m"),
    "m-wide": dict(kind="m", D=20),
    "m-narrow": dict(kind="m", D=0),
    "m-reversal": dict(kind="m", centre=reversal),
    "m-between": dict(kind="m", centre=lambda t, length: 0.5 + t / 2),
    "p": dict(kind="p"),
    "p-narrow": dict(kind="p", D=1),
    "p-wide": dict(kind="p", D=20),
    "p-renormalized": dict(kind="p", renormalize=True),
}
