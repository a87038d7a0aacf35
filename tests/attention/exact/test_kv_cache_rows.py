"""A cache keeps its rows: reordered, unharmed, reset, one token written a step."""

import tracemalloc

import numpy as np
import pytest

from attention.exact.kv_cache import KVCache
from minigrad import Tensor, no_grad

from ...minigrad.array_cases import draw
from .kv_cache_cases import B, D, T, close, layer
from .multihead_cases import H


@pytest.mark.parametrize("grad", [False, True])
def test_beams_are_reordered(grad):
    """After every step each row goes on from another one, or from the same."""
    module, (x,) = layer(2), draw((B, T, D))
    orders = np.random.default_rng(0).integers(0, B, (T, B))
    orders[3] = [1, 1, 0]
    history, cache = np.zeros((B, 0, D)), KVCache(capacity=3)

    def run():
        nonlocal history
        for t in range(T):
            history = np.concatenate([history, x[:, t : t + 1]], 1)
            y = module(x[:, t : t + 1], cache=cache)
            expected = module(history, is_causal=True).data[:, -1]
            np.testing.assert_allclose(y.data[:, 0], expected, **close)
            history = history[orders[t]]
            cache.select(orders[t])

    if grad:
        run()
    else:
        with no_grad():
            run()
    cache.select([2])  # fewer
    y = module(x[2:, :1], cache=cache).data
    history = np.concatenate([history[2:], x[2:, :1]], 1)
    np.testing.assert_allclose(y, module(history, is_causal=True).data[:, -1:], **close)
    cache.select([0, 0, 0, 0])  # more
    assert cache.key.shape[0] == 4


def test_rows_that_are_handed_out_never_change():
    """Neither by later tokens, nor by another order, nor by a call that failed."""
    module, (x,) = layer(2), draw((B, T, D))
    cache, seen = KVCache(capacity=4), []
    with no_grad():
        for t in range(T):
            module(x[:, t : t + 1], cache=cache)
            seen.append((cache.key, cache.key.data.copy()))
            with pytest.raises(ValueError):
                module(x[:, ::-1][:, :2], cache=cache, mask=np.ones((7, 7), bool))
            if t == 4:
                cache.select([2, 1, 0])
    for kept, copy in seen:
        np.testing.assert_array_equal(kept.data, copy)


def test_a_call_that_is_refused_leaves_the_cache_as_it_was():
    module, (x,) = layer(), draw((B, T, D))
    cache = KVCache()
    first = module(x[:, :4], is_causal=True, cache=cache).data
    for bad in ({"mask": np.ones((3, 3), bool)}, {"bias": np.ones((3, 3))}):
        with pytest.raises(ValueError):
            module(x[:, 4:5], cache=cache, **bad)
    assert cache.length == 4
    rest = module(x[:, 4:], is_causal=True, cache=cache).data
    whole = module(x, is_causal=True).data
    np.testing.assert_allclose(np.concatenate([first, rest], 1), whole, **close)


def test_reset_begins_anew():
    module, other, (x,) = layer(), layer(seed=1), draw((B, T, D))
    cache = KVCache()
    module(x, is_causal=True, cache=cache)
    cache.reset()
    assert cache.length == 0 and cache.key is None
    cache.select([5])  # there is nothing to select from, and nothing is
    y = other(x[:2], is_causal=True, cache=cache).data
    np.testing.assert_array_equal(y, other(x[:2], is_causal=True).data)


def test_a_step_writes_one_token_and_not_all():
    """The room doubles; between, a step takes no memory that grows with the length."""
    module, cache = layer(2, np.float32), KVCache(capacity=8)
    (x,) = draw((1, 200, D), dtype=np.float32)
    rooms = set()
    with no_grad():
        for t in range(200):
            module(x[:, t : t + 1], cache=cache)
            rooms.add(cache.key._data.base.shape[-2])
    assert rooms == {8, 16, 32, 64, 128, 256}
    k = cache.key[:, :, :1]

    def peak(cache):
        tracemalloc.start()
        cache.extended(module, k, k)
        measured = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return measured

    many = KVCache(100_000)
    rows = Tensor(np.zeros((1, 2, 50_000, D // H), np.float32))
    many.keep(module, *many.extended(module, rows, rows))
    assert peak(many) < 10_000 < rows._data.nbytes // 100


def test_fewer_key_heads_are_a_smaller_cache():
    (x,) = draw((B, T, D))
    sizes = []
    for heads in (4, 2, 1):
        cache = KVCache()
        layer(heads)(x, cache=cache)
        sizes.append(cache.key._data.nbytes)
    assert sizes == [4 * sizes[2], 2 * sizes[2], B * T * D // H * 8]
