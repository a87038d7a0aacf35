"""Caches of keys and values, so that a decoder computes each of them once.

    K_t = [K_{t-1}; k_t],    V_t = [V_{t-1}; v_t],    o_t = attention(q_t, K_t, V_t)

A causal query attends to no later token, so later tokens do not change its result: T
steps of one token give the rows of one causal pass over all T tokens. Without a cache,
step t projects t tokens and computes t^2 scores; with a cache, it projects one token
and computes t scores. The cache needs memory: 2 Hk E numbers for each token, layer and
example. Fewer key heads than query heads (Hk < H) reduce it: Shazeer 2019, Ainslie et
al. 2023.

    cache = KVCache()                                  of self-attention: it grows
    y = layer(x[:, t : t + 1], is_causal=True, cache=cache)

    memory = layer.precompute(encoded)                 of cross-attention: it is fixed
    y = layer(x[:, t : t + 1], memory)
"""

import numpy as np

from minigrad import Tensor, concat
from minigrad.arguments import between, plain, whole


class KVCache:
    """The keys and values of the earlier tokens of one layer of self-attention.

    capacity   the number of tokens in the first buffer, at least. A full buffer is
               replaced by one for twice the tokens (or more, if many come at once), so
               adding T tokens copies O(T) rows in all
    length     the number of tokens
    key, value (B, Hk, length, E) Tensors, or None without tokens. The keys are stored
               after their rotation by position

    A cache belongs to the first layer that uses it, and to one sequence: call
    ``reset()`` before the next sequence, or use a new cache. A call of the layer that
    raises an error does not change the cache.

    Keys without gradient, as under ``no_grad``, are written into the buffer. Keys with
    gradient are concatenated, which copies all of them at each step; then the gradients
    of all steps reach all tokens.
    """

    def __init__(self, capacity=64):
        self.capacity = whole("KVCache", "capacity", capacity, least=1)
        self.reset()

    def reset(self):
        """Remove all tokens, and the layer."""
        self.layer = None
        self._key, self._value = _Rows(self.capacity), _Rows(self.capacity)

    length = property(lambda self: self._key.n)
    key = property(lambda self: self._key.kept)
    value = property(lambda self: self._value.kept)

    def concatenate(self, layer, k, v):
        """Return the stored keys and values followed by k and v (B, Hk, L, E).

        The cache changes only in ``keep``, after the call has succeeded.
        """
        if self.layer is not None and self.layer is not layer:
            raise ValueError(
                "KVCache: holds the keys of another layer; expected one cache for each "
                "layer, and reset() before a cache is used with another."
            )
        if self.key is not None:
            _check_rows("KVCache", self.key, k)
        return self._key.concatenate(k), self._value.concatenate(v)

    def keep(self, layer, k, v):
        """Store k and v, which ``concatenate`` returned."""
        self.layer, self._key.kept, self._value.kept = layer, k, v

    def select(self, indices):
        """Replace example n by example indices[n], such as the prefixes of a beam.

        indices   (n,) whole numbers from 0 to B - 1; an index may occur several times,
                  or not at all
        """
        if self.key is not None:
            indices = _example_indices("KVCache", indices, len(self.key))
            self._key.select(indices)
            self._value.select(indices)

    def __repr__(self):
        return f"KVCache(length={self.length})"


class FixedKVCache:
    """Projected keys and values that do not change, such as those of an encoder.

    ``layer.precompute(key, value)`` returns it; pass it to calls of that layer instead
    of ``key``. The gradients of all calls go through one projection. It is valid only
    for the parameters at that time: in training, compute it again for every batch.

    key, value   (B, Hk, S, E) Tensors
    """

    def __init__(self, layer, key, value):
        self.layer, self.key, self.value = layer, key, value

    def rows(self, layer, q):
        """Return key and value, if they fit the layer and its queries (B, H, L, E)."""
        if self.layer is not layer:
            raise ValueError(
                "FixedKVCache: the keys were projected by another layer; expected the "
                "result of this layer's precompute(key, value)."
            )
        _check_rows("FixedKVCache", self.key, q)
        return self.key, self.value

    def select(self, indices):
        """Replace example n by example indices[n], as ``KVCache.select`` does."""
        indices = _example_indices("FixedKVCache", indices, len(self.key))
        self.key, self.value = self.key[indices], self.value[indices]

    def __repr__(self):
        return f"FixedKVCache(shape={self.key.shape})"


class _Rows:
    """Rows (B, Hk, n, E) whose number n grows, in a buffer with free rows."""

    def __init__(self, capacity):
        self.capacity, self.kept = capacity, None
        self._buffer = None  # (B, Hk, capacity or more, E); None if kept is elsewhere

    n = property(lambda self: 0 if self.kept is None else self.kept.shape[-2])

    def concatenate(self, x):
        """Return the kept rows followed by the rows of x, as one Tensor."""
        n, total = self.n, self.n + x.shape[-2]
        if x.requires_grad or (self.kept is not None and self.kept.requires_grad):
            self._buffer = None
            return x if self.kept is None else concat([self.kept, x], -2)
        if self._buffer is None or self._buffer.shape[-2] < total:
            size = max(self.capacity, total, 2 * n)
            buffer = np.empty((*x.shape[:-2], size, x.shape[-1]), x.dtype)
            if n:
                buffer[..., :n, :] = self.kept._data
            self._buffer = buffer
        # kept rows are never written again: a graph may still need them
        self._buffer[..., n:total, :] = x._data
        return Tensor._from_array(self._buffer[..., :total, :])

    def select(self, indices):
        self.kept, self._buffer = self.kept[indices], None


def _check_rows(name, kept, x):
    if len(kept) != len(x):
        raise ValueError(
            f"{name}: holds {len(kept)} examples; found {len(x)}; expected as many. "
            "select(indices) chooses examples."
        )
    if kept.dtype != x.dtype:
        raise TypeError(
            f"{name}: holds {kept.dtype}; found {x.dtype}. Expected one dtype from the "
            "first step to the last."
        )


def _example_indices(name, indices, B):
    indices = plain(indices)
    if indices.ndim != 1 or (indices.dtype.kind not in "iu" and indices.size):
        raise TypeError(
            f"{name}: indices are {indices.dtype} {indices.shape}; expected whole "
            "numbers (n,), the examples to keep."
        )
    indices = indices.astype(np.intp)
    return between(name, "indices", indices, 0, B - 1, "the numbers of the examples")
