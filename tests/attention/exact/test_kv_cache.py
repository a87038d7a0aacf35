"""Steps with a cache are rows of one pass; beams are reordered; fixed keys."""

import contextlib
import functools

import numpy as np
import pytest

from attention import masks
from attention.exact.kv_cache import FixedKVCache, KVCache
from attention.positions import T5RelativeBias, alibi_by_offset, rope
from minigrad import Tensor, concat, no_grad

from ...memory import peak_bytes
from ...minigrad.array_cases import draw
from . import multihead_cases
from .multihead_cases import H

B, T, S, D, Dk = 3, 9, 7, 16, 5
close = dict(rtol=1e-12, atol=1e-13)  # the same sums of order one, in another order


def layer(num_kv_heads=None, dtype=np.float64, seed=0, **options):
    """The layer of the tests of multi-head attention, D wide."""
    return multihead_cases.layer(num_kv_heads, dtype, seed, D, **options)


def step_by_step(module, x, cache, cuts=range(1, T), **options):
    """The outputs for the tokens between the cuts, one call after the other."""
    ends = [0, *cuts, x.shape[1]]
    return [
        module(x[:, begin:end], is_causal=True, cache=cache, **options)
        for begin, end in zip(ends, ends[1:])
    ]


T5 = T5RelativeBias(H, num_buckets=8, max_distance=20, bidirectional=False)
T5.table.data = draw(T5.table.shape, seed=7)[0]
OPTIONS = {
    "plain": {},
    "lengths": {"lengths": [9, 4, 0]},
    "rope": {"rotate": rope},
    "t5": {"bias": T5},
    "alibi": {"bias": functools.partial(alibi_by_offset, H)},
    "window": {"mask": masks.sliding_window(2, 0, "lower_right")},
    "all": {"rotate": rope, "bias": T5, "lengths": np.array([2, 9, 5])},
}
CUTS = {"tokens": range(1, T), "a prompt, then tokens": [4, 5, 6, 7, 8]}


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("options", OPTIONS)
def test_steps_are_rows_of_one_causal_pass(options, cuts):
    """In value and every gradient, and without the graph as well."""
    module, (x, g) = layer(2), draw((B, T, D), (B, T, D))
    options, cache = OPTIONS[options], KVCache(capacity=2)  # must grow, and again
    results = []
    for function in (
        lambda x: module(x, is_causal=True, **options),
        lambda x: concat(step_by_step(module, x, cache, CUTS[cuts], **options), 1),
    ):
        module.zero_grad()
        leaf = Tensor(x, requires_grad=True)
        y = function(leaf)
        y.backward(g)
        results.append([y.data, leaf.grad, *(p.grad for p in module.parameters())])
    for one, other in zip(*results):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    assert cache.length == T
    assert cache.key.shape == cache.value.shape == (B, 2, T, D // H)
    cache = KVCache(capacity=2)
    with no_grad():
        steps = step_by_step(module, x, cache, CUTS[cuts], **options)
    found = np.concatenate([y.data for y in steps], 1)
    np.testing.assert_allclose(found, results[0][0], **close)
    assert not cache.key.requires_grad


@pytest.mark.parametrize("name, array", [
    ("lengths", np.random.default_rng(0).integers(0, T + 1, (B, T))),
    ("positions", np.array([[0], [3], [11]]) + 2 * np.arange(T)),
])  # fmt: skip
def test_each_step_gets_its_column_of_an_array(name, array):
    module, (x,) = layer(2), draw((B, T, D))
    whole = module(x, is_causal=True, rotate=rope, **{name: array}).data
    cache = KVCache()
    for t in range(T):
        now = {name: array[:, t : t + 1]}
        y = module(x[:, t : t + 1], cache=cache, rotate=rope, **now)
        np.testing.assert_allclose(y.data[:, 0], whole[:, t], **close)


# The kept rows


def test_what_a_cache_has_returned_never_changes():
    """Neither by later tokens, with or without a graph, nor by another order.

    A call that fails leaves the cache as it was; reset empties it for another layer.
    """
    module, other, (x,) = layer(2), layer(seed=1), draw((B, T, D))
    whole, cache, seen = module(x, is_causal=True).data, KVCache(capacity=4), []
    for t in range(T):
        with contextlib.nullcontext() if t in (3, 4, 7) else no_grad():
            y = module(x[:, t : t + 1], cache=cache)
        np.testing.assert_allclose(y.data[:, 0], whole[:, t], **close)
        seen.append((cache.key, cache.key.data.copy()))
        for bad in ({"mask": np.ones((7, 7), bool)}, {"bias": np.ones((3, 3))}):
            with pytest.raises(ValueError):
                module(x[:, :2], cache=cache, **bad)
        assert cache.length == t + 1
    cache.select([2, 1, 0])
    for kept, copy in seen:
        np.testing.assert_array_equal(kept.data, copy)
    cache.reset()
    assert cache.length == 0 and cache.key is None
    y = other(x[:2], is_causal=True, cache=cache).data
    np.testing.assert_allclose(y, other(x[:2], is_causal=True).data, **close)


def test_a_step_writes_one_token_and_not_all():
    """The capacity doubles; else a step takes no memory that grows with the length."""
    module, cache = layer(2, np.float32), KVCache(capacity=8)
    (x,) = draw((1, 200, D), dtype=np.float32)
    capacities = set()
    with no_grad():
        for t in range(200):
            module(x[:, t : t + 1], cache=cache)
            capacities.add(cache.key._data.base.shape[-2])
    assert capacities == {8, 16, 32, 64, 128, 256}
    k = cache.key[:, :, :1]
    many = KVCache(100_000)
    rows = Tensor(np.zeros((1, 2, 50_000, D // H), np.float32))
    many.keep(module, *many.concatenate(module, rows, rows))
    assert peak_bytes(lambda: many.concatenate(module, k, k)) < 10_000

    wide, many, n = layer(2, np.float32, head_dim=64), KVCache(10_000), 5_000
    rows = Tensor(np.zeros((1, 2, n, 64), np.float32))
    many.keep(wide, *many.concatenate(wide, rows, rows))

    def step():
        with no_grad():
            wide(x[:, :1], is_causal=True, rotate=rope, cache=many)

    # the keys that are read take n 2 64 numbers; new are scores and weights, n H each
    assert peak_bytes(step) < 4 * n * (3 * H) + 50_000 < rows._data.nbytes // 5


# Fixed keys and values


def test_precomputed_keys_are_those_that_each_call_would_compute():
    module = layer(2, kdim=Dk)
    x, key, value, g = draw((B, T, D), (B, S, Dk), (B, S, D), (B, T, D))
    results = []
    for steps in (False, True):
        module.zero_grad()
        leaves = [Tensor(a, requires_grad=True) for a in (x, key, value)]
        q, k, v = leaves
        if steps:
            memory = module.precompute(k, v)
            assert isinstance(memory, FixedKVCache)
            each = [
                module(q[:, t : t + 1], memory, lengths=[7, 5, 0]) for t in range(T)
            ]
            y = concat(each, 1)
        else:
            y = module(q, k, v, lengths=[7, 5, 0])
        y.backward(g)
        grads = [p.grad for p in (*leaves, *module.parameters())]
        results.append([y.data, *grads])
    for one, other in zip(*results):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
