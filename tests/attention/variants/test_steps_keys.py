"""Keys that are projected once give the same as keys projected at every step."""

import numpy as np
import pytest

import minigrad as mg
from attention.layers import (
    AdditiveAttention,
    DotProductAttention,
    GeneralAttention,
    ProjectedKeys,
)
from minigrad import Tensor
from minigrad.graph import reachable

from ...minigrad.array_cases import draw
from .steps_cases import A, B, E, H, M, S, T, close, generator, in_float64, luong

LAYERS = {
    "additive": lambda: AdditiveAttention(H, M, A, rng=generator()),
    "general": lambda: GeneralAttention(H, M, rng=generator()),
    "concat": lambda: luong("concat", num_hiddens=A),
    "luong-general": lambda: luong("general"),
    "dot": lambda: luong("dot"),
    "scaled": lambda: DotProductAttention(),
}
PROJECTING = ["additive", "general", "concat", "luong-general"]


def attended(module, prepare, filling=None, lengths=(2, 5)):
    """T calls, one query each: contexts, weights, all gradients, and the graph."""
    width = M if hasattr(module, "key_size") and module.key_size == M else H
    queries, keys, values = draw((B, T, H), (B, S, width), (B, S, E))
    if filling is not None:
        keys[0, 2:] = values[0, 2:] = filling
    leaves = [Tensor(a, requires_grad=True) for a in (queries, keys, values)]
    prepared, contexts, weights = prepare(leaves[1]), [], []
    for t in range(T):
        contexts.append(module(leaves[0][:, t : t + 1], prepared, leaves[2], lengths))
        weights.append(module.attention_weights.data)
    out = mg.concat(contexts, 1)
    nodes = reachable(out._node)
    out.backward(draw((B, T, E), seed=9)[0])
    grads = [x.grad for x in (*leaves, *module.parameters())]
    return [out.data, *weights, *grads], nodes


@pytest.mark.parametrize("kind", LAYERS)
def test_projected_keys_give_the_same_and_gradients_come_back_from_every_step(kind):
    module = in_float64(LAYERS[kind]())
    plain, _ = attended(module, lambda keys: keys)
    module.zero_grad()
    projected, _ = attended(module, module.precompute)
    for a, b in zip(plain, projected):
        np.testing.assert_allclose(a, b, **close)


@pytest.mark.parametrize("kind", PROJECTING)
def test_the_keys_are_projected_once(kind):
    """One product with all keys, where there was one at each of the T steps."""
    module = in_float64(LAYERS[kind]())
    projected = module.precompute(draw((B, S, M))[0])
    assert isinstance(projected, ProjectedKeys)
    assert projected.shape == (B, S, A if kind in ("additive", "concat") else H)

    def products(prepare):
        _, nodes = attended(module, prepare)
        return sum(n.op == "linear" and n.shape == projected.shape for n in nodes)

    assert products(module.precompute) == 1
    # "general" carries each query over to the keys, where they are not projected
    assert products(lambda keys: keys) == (0 if "general" in kind else T)


@pytest.mark.parametrize("kind", LAYERS)
def test_padding_of_projected_keys_has_no_influence(kind):
    module = in_float64(LAYERS[kind]())
    clean, _ = attended(module, module.precompute)
    assert all(np.isfinite(a).all() for a in clean)
    module.zero_grad()
    for a, b in zip(clean, attended(module, module.precompute, 7.0)[0]):
        np.testing.assert_array_equal(a, b)


def test_projected_keys_keep_float32():
    module = AdditiveAttention(H, M, A)
    queries, keys, values = draw((B, T, H), (B, S, M), (B, S, E), dtype=np.float32)
    keys[0, 4] = np.nan
    projected = module.precompute(keys)
    assert projected.projected.dtype == np.float32
    assert module(queries, projected, values, [2, 5]).dtype == np.float32
