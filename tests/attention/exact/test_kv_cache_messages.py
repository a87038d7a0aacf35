"""Caches: what they say of calls that do not fit what they hold."""

import numpy as np
import pytest

from attention.exact.kv_cache import KVCache

from ...minigrad.array_cases import draw
from .kv_cache_cases import B, D, S, layer


def used(x=None, **options):
    module, cache = layer(), KVCache()
    module(draw((B, 4, D))[0], cache=cache)
    return module, cache


def with_cache(query=(B, 1, D), key=None, dtype=float, other=False, cache=None):
    def call():
        module, kept = used()
        module = layer() if other else module
        keys = [] if key is None else draw(key, dtype=dtype)
        return module(
            *draw(query, dtype=dtype), *keys, cache=kept if cache is None else cache
        )

    return call


def with_memory(query=(B, 1, D), dtype=np.float64, other=False, value=None):
    def call():
        module = layer(dtype=dtype)
        memory = module.precompute(draw((B, S, D), dtype=dtype)[0])
        return (layer() if other else module)(draw(query)[0], memory, value)

    return call


def selected(make, indices):
    return lambda: make().select(indices)


def memory():
    return layer().precompute(*draw((B, S, D)))


MESSAGES = {
    "capacity": (
        lambda: KVCache(0),
        ValueError,
        "KVCache: capacity is 0; expected a whole number, 1 or more.",
    ),
    "another layer's": (
        with_cache(other=True),
        ValueError,
        "KVCache: holds the keys of another layer; expected one cache for each layer, "
        "and reset() before a cache is used with another.",
    ),
    "more examples": (
        with_cache(query=(B + 1, 1, D)),
        ValueError,
        "KVCache: holds 3 examples; found 4. select(indices) says which of them go on.",
    ),
    "one example": (
        with_cache(query=(1, D)),
        ValueError,
        "KVCache: holds 3 examples; found 1. select(indices) says which of them go on.",
    ),
    "a key": (
        with_cache(key=(B, S, D)),
        ValueError,
        "MultiHeadAttention: a cache that grows is for self-attention; found a key as "
        "well. Keys that stay the same are precompute(key, value), in place of the "
        "key.",
    ),
    "no cache": (
        with_cache(cache=[]),
        TypeError,
        "MultiHeadAttention: cache is a list; expected a KVCache.",
    ),
    "a memory for a cache": (
        lambda: with_cache(cache=memory())(),
        TypeError,
        "MultiHeadAttention: cache is a FixedKVCache; expected a KVCache. A "
        "FixedKVCache stands in place of the key.",
    ),
    "a row that is not": (
        selected(lambda: used()[1], [0, 3]),
        ValueError,
        "KVCache: indices holds 3; expected numbers from 0 to 2, numbers of examples.",
    ),
    "a row before the first": (
        selected(memory, [-1]),
        ValueError,
        "FixedKVCache: indices holds -1; expected numbers from 0 to 2, numbers of "
        "examples.",
    ),
    "no list of rows": (
        selected(memory, 0),
        ValueError,
        "FixedKVCache: indices has shape (); expected (n,), rows to go on with.",
    ),
    "rows by halves": (
        selected(memory, [0.5]),
        TypeError,
        "FixedKVCache: indices holds float64; expected whole numbers.",
    ),
    "a memory of another layer": (
        with_memory(other=True),
        ValueError,
        "FixedKVCache: these keys were projected by another layer; expected what this "
        "layer's precompute(key, value) returned.",
    ),
    "a memory for others": (
        with_memory(query=(2, 1, D)),
        ValueError,
        "FixedKVCache: holds 3 examples; found 2. select(indices) says which of them "
        "go on.",
    ),
    "a memory of another dtype": (
        with_memory(dtype=np.float32),
        TypeError,
        "FixedKVCache: holds float32; found float64. Expected one dtype from the first "
        "step to the last.",
    ),
    "a memory and a value": (
        with_memory(value=np.ones((B, S, D))),
        ValueError,
        "MultiHeadAttention: value is given, but no key of its own; expected both, a "
        "key that is its own value, or neither for self-attention.",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_what_is_refused(name):
    call, kind, message = MESSAGES[name]
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message


def test_another_dtype_than_the_cache_has():
    module, cache = layer(dtype=np.float32), KVCache()
    module(draw((B, 1, D), dtype=np.float32)[0], cache=cache)
    with pytest.raises(TypeError) as error:
        module(draw((B, 1, D))[0], cache=cache)
    assert str(error.value) == (
        "KVCache: holds float32; found float64. Expected one dtype from the first step "
        "to the last."
    )
    assert repr(cache) == "KVCache(length=1)"
