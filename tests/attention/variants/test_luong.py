"""Luong's scores, and keys projected once."""

import numpy as np
import pytest

import minigrad as mg
from attention.layers import AdditiveAttention, GeneralAttention, ProjectedKeys
from attention.variants.luong import LuongAttention
from minigrad.graph import reachable

from ...minigrad.array_cases import draw

B, T, S, E, H, M, A = 2, 3, 5, 2, 4, 7, 6  # no two equal: a lost transpose shows


def generator():
    return np.random.default_rng(0)


SIZES = {"dot": (H, H), "general": (H, M), "concat": (H, M)}


def luong(kind, **options):
    return LuongAttention(kind, *SIZES[kind], rng=generator(), **options)


# keys that are projected once


LAYERS = {
    "additive": lambda: AdditiveAttention(H, M, A, rng=generator()),
    "general": lambda: GeneralAttention(H, M, rng=generator()),
    "concat": lambda: luong("concat", num_hiddens=A),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_keys_are_projected_once(kind):
    """One product with all keys instead of one at each of the T steps."""
    module = LAYERS[kind]()
    queries, keys, values = draw((B, T, H), (B, S, M), (B, S, E), dtype=np.float32)
    projected = module.precompute(keys)
    assert isinstance(projected, ProjectedKeys)
    assert projected.shape == (B, S, H if kind == "general" else A)

    def products(prepared):
        steps = [module(queries[:, t : t + 1], prepared, values) for t in range(T)]
        nodes = reachable(mg.concat(steps, 1)._node)
        return sum(n.op == "linear" and n.shape == projected.shape for n in nodes)

    assert products(projected) == 1
    # without projected keys, "general" multiplies the queries by W_a
    assert products(keys) == (0 if kind == "general" else T)


# Luong's scores


def test_parameters_of_luongs_scores():
    shapes = {n: p.shape for n, p in luong("concat").named_parameters()}
    assert shapes == {"W_a": (H, H + M), "v_a": (H,)}
    assert [p.shape for p in luong("general").parameters()] == [(H, M)]
    assert luong("dot").parameters() == []
    assert len(LuongAttention("concat", 10, 20).v_a) == 10
    assert repr(luong("concat")) == "LuongAttention('concat', 4, 7, 4, dropout=0.0)"
    assert repr(luong("dot", dropout=0.1)) == "LuongAttention('dot', 4, 4, dropout=0.1)"
