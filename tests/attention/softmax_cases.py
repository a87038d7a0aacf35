"""Masked softmax by its definition, and its scores and masks, for the tests."""

import math

import numpy as np

B, H, L, S = 2, 3, 4, 5


def draw(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def weights(scores, allowed, temperature=1.0):
    """The definition: row by row, over the allowed keys."""
    p = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        keys = [j for j in range(scores.shape[-1]) if allowed[row][j]]
        e = {j: math.exp(scores[row][j] / temperature) for j in keys}
        for j in keys:
            p[row][j] = e[j] / sum(e.values())
    return p


def allowed_by(lens, shape):
    """allowed[b, ..., i, j] = j < lens[b], or j < lens[b, i]"""
    allowed = np.zeros(shape, bool)
    for b, *heads, i, j in np.ndindex(shape):
        n = lens[b] if np.ndim(lens) == 1 else lens[b][i]
        allowed[(b, *heads, i, j)] = j < n
    return allowed


def masks():
    some = np.random.default_rng(1).random((B, H, L, S)) < 0.5
    some[1, 2, 3] = False  # a query with nothing to attend to
    return {
        "full": some,
        "keys": some[:, :1, :1],
        "pairs": some[0, 0],
        "queries": some[..., :1],
        "one": np.array(True),
        "none": np.array(False),
    }
