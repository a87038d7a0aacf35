"""Shaw's and Transformer-XL's scores by loops, and inputs for them."""

import math

import numpy as np
import pytest

from attention.positions import (
    transformer_xl_distances,
)

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ["upper_left", "lower_right"])
every_span = pytest.mark.parametrize("k", [0, 1, 2, 9])
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of sums of order one


def draw(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def position(row, L, S, align):
    return row + S - L if align == "lower_right" else row


def shaw(L, S, k=2, D=3, leading=(), tables=()):
    return draw((*leading, L, D), (*leading, S, D), (*tables, 2 * k + 1, D))


def shaw_by_loops(q, k, a_K, align="upper_left", scale=None):
    (L, D), S, span = q.shape, len(k), len(a_K) // 2
    s = np.zeros((L, S))
    for row in range(L):
        for j in range(S):
            d = j - position(row, L, S, align)
            s[row, j] = q[row] @ (k[j] + a_K[min(max(d, -span), span) + span])
    return s * (1 / math.sqrt(D) if scale is None else scale)


def values_by_loops(p, v, a_V, align="upper_left"):
    """sum_j p_ij (v_j + a^V_d)"""
    (L, S), span = p.shape, len(a_V) // 2
    o = np.zeros((L, a_V.shape[1]))
    for row in range(L):
        for j in range(S):
            d = j - position(row, L, S, align)
            o[row] += p[row, j] * (v[j] + a_V[min(max(d, -span), span) + span])
    return o


def xl(L, S, D=3, leading=(), heads=()):
    return draw(
        (*leading, L, D), (*leading, S, D), (*heads, max(L + S - 1, 0), D),
        (*heads, D), (*heads, D),
    )  # fmt: skip


def xl_by_loops(q, k, R, u, w, align="upper_left", scale=None):
    """R is {i - j: its row}, so that nothing depends on their order."""
    (L, D), S = q.shape, len(k)
    s = np.zeros((L, S))
    for row in range(L):
        for j in range(S):
            i = position(row, L, S, align)
            s[row, j] = (q[row] + u) @ k[j] + (q[row] + w) @ R[i - j]
    return s * (1 / math.sqrt(D) if scale is None else scale)


def by_distance(R, L, S, align="upper_left"):
    """{i - j: its row}, for all distances that there are."""
    at = transformer_xl_distances(L, S, align).tolist()
    everywhere = {position(row, L, S, align) - j for row in range(L) for j in range(S)}
    assert sorted(everywhere, reverse=True) == at and len(R) == len(at)
    return dict(zip(at, R))
