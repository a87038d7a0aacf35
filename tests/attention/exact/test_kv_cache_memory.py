"""Keys precomputed for cross-attention are those that each call would compute."""

import numpy as np
import pytest

from attention.exact.kv_cache import FixedKVCache
from minigrad import Tensor, concat

from ...minigrad.array_cases import draw
from .kv_cache_cases import B, D, Dk, S, T, close, layer


@pytest.mark.parametrize("num_kv_heads", [4, 2, 1])
def test_what_is_precomputed_is_what_each_call_would_compute(num_kv_heads):
    module = layer(num_kv_heads, kdim=Dk)
    x, key, value, g = draw((B, T, D), (B, S, Dk), (B, S, D), (B, T, D))
    key[1, 5:] = value[1, 5:] = np.nan
    results = []
    for steps in (False, True):
        module.zero_grad()
        leaves = [Tensor(a, requires_grad=True) for a in (x, key, value)]
        q, k, v = leaves
        if steps:
            memory = module.precompute(k, v)
            assert isinstance(memory, FixedKVCache)
            each = [
                module(q[:, t : t + 1], memory, valid_lens=[7, 5, 0]) for t in range(T)
            ]
            y = concat(each, 1)
        else:
            y = module(q, k, v, valid_lens=[7, 5, 0])
        y.backward(g)
        grads = [p.grad for p in (*leaves, *module.parameters())]
        results.append([y.data, *grads])
    for one, other in zip(*results):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_a_memory_that_is_its_own_value_and_one_example_alone():
    module, (x, memory) = layer(2), draw((T, D), (S, D))
    y = module(x, memory).data
    np.testing.assert_array_equal(module(x, module.precompute(memory)).data, y)


def test_a_memory_is_reordered():
    module, (x, memory) = layer(2), draw((B, T, D), (B, S, D))
    kept = module.precompute(memory)
    kept.select([2, 0, 2, 1])
    order = [2, 0, 2, 1]
    expected = module(x[order], memory[order]).data
    np.testing.assert_allclose(module(x[order], kept).data, expected, **close)
