"""Kernel regression as loops over pairs, and the calls that are tried on it."""

import math

import numpy as np

B, L, S, D, Ev = 2, 3, 5, 4, 6
h = 2.7  # so that some keys are in reach of a query, and some are not
close = dict(rtol=1e-11, atol=1e-12)  # the same sums of order one, in another order
COMPACT = ["boxcar", "triangular", "epanechnikov"]
SMOOTH = ["gaussian", "triangular", "epanechnikov"]  # but for kinks


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def example(seed=0, dtype=float):
    return draw((B, L, D), (B, S, D), (B, S, Ev), seed=seed, dtype=dtype)


FORMULA = {
    "gaussian": lambda u: math.exp(-(u**2) / 2),
    "boxcar": lambda u: 1 if abs(u) <= 1 else 0,
    "triangular": lambda u: max(0, 1 - abs(u)),
    "epanechnikov": lambda u: 3 / 4 * max(0, 1 - u**2),
}


def by_loops(kernel, q, k, v, h, allowed=True):
    """estimate, weights: one query after the other, one key after the other."""
    shape = (*q.shape[:-1], k.shape[-2])
    h, allowed = np.broadcast_to(h, shape), np.broadcast_to(allowed, shape)
    w, f = np.zeros(shape), np.zeros((*q.shape[:-1], v.shape[-1]))
    for *b, i in np.ndindex(shape[:-1]):
        b = tuple(b)
        for j in range(shape[-1]):
            if allowed[(*b, i, j)]:
                u = np.linalg.norm(q[(*b, i)] - k[(*b, j)]) / h[(*b, i, j)]
                w[(*b, i, j)] = FORMULA[kernel](u)
        total = w[(*b, i)].sum()
        if total:
            w[(*b, i)] /= total
            for j in range(shape[-1]):
                f[(*b, i)] += w[(*b, i, j)] * v[(*b, j)]
    return f, w


SOME = np.random.default_rng(3).random((B, L, S)) < 0.6
LENS, EACH = [2, 5], [[1, 3, 5], [4, 0, 2]]
CALLS = {  # options of the call, and which pairs they allow
    "all": ({}, True),
    "mask": ({"mask": SOME}, SOME),
    "lengths": ({"valid_lens": LENS}, np.arange(S) < np.reshape(LENS, (B, 1, 1))),
    "lengths of queries": (
        {"valid_lens": EACH},
        np.arange(S) < np.array(EACH)[..., None],
    ),
    "both": (
        {"mask": SOME[0], "valid_lens": LENS},
        SOME[0] & (np.arange(S) < np.reshape(LENS, (B, 1, 1))),
    ),
}
