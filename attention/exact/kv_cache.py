"""Keys and values that are kept, so that a decoder computes each of them once.

    K_t = [K_{t-1}; k_t],    V_t = [V_{t-1}; v_t],    o_t = attention(q_t, K_t, V_t)

A causal query sees nothing that comes later, so what it has found stays right however
the sequence goes on: T steps of one token give the rows of one causal pass over all T.
Without a cache, step t projects t tokens and computes t^2 scores; with it, one token
and t scores. The price is memory, 2 Hk E numbers for each token, layer and example,
which is what fewer key heads than query heads (Hk < H) are for: Shazeer 2019, Ainslie
et al. 2023.

    cache = KVCache()                                  of self-attention: it grows
    y = layer(x[:, t : t + 1], is_causal=True, cache=cache)

    memory = layer.precompute(encoded)                 of cross-attention: it does not
    y = layer(x[:, t : t + 1], memory)
"""

import numpy as np

from minigrad import Tensor, concat

from ..checks import between, whole, wholes


class KVCache:
    """The keys and values of the earlier tokens of one layer of self-attention.

    capacity   for how many tokens there is room at first; the room doubles when it is
               full, so that T tokens are copied O(T) times in all
    length     how many tokens there are
    key, value (B, Hk, length, E) Tensors, None while there are none; keys that are
               turned by their position are kept as they were turned

    It belongs to the layer that it was first used with, and to one run: begin the next
    with ``reset()`` or a new one. A call that is refused leaves it as it was.

    Where keys need no gradient, under ``no_grad`` above all, they are written into the
    room. Where they do, they are joined instead, each step a copy, and the gradients of
    all steps go back to all tokens.
    """

    def __init__(self, capacity=64):
        self.capacity = whole("KVCache", "capacity", capacity, least=1)
        self.reset()

    def reset(self):
        """Forget all tokens, and the layer."""
        self.layer = None
        self._key, self._value = _Rows(self.capacity), _Rows(self.capacity)

    length = property(lambda self: self._key.n)
    key = property(lambda self: self._key.kept)
    value = property(lambda self: self._value.kept)

    def extended(self, layer, k, v):
        """The kept keys and values followed by k and v (B, Hk, L, E): two Tensors.

        They are not kept until ``keep`` says so: the call may yet fail.
        Raises ValueError for another layer's, or another number of examples; TypeError
        for another dtype.
        """
        if self.layer is not None and self.layer is not layer:
            raise ValueError(
                "KVCache: holds the keys of another layer; expected one cache for each "
                "layer, and reset() before a cache is used with another."
            )
        if self.key is not None:
            _check_rows("KVCache", self.key, len(k), k.dtype)
        return self._key.extended(k), self._value.extended(v)

    def keep(self, layer, k, v):
        """Make k and v, what ``extended`` returned, all that is kept."""
        self.layer, self._key.kept, self._value.kept = layer, k, v

    def select(self, indices):
        """Row n becomes what row indices[n] was: the beams that go on, in their order.

        indices   (n,) whole numbers from 0 to B - 1; one may come several times, or not
                  at all
        """
        if self.key is not None:
            indices = _checked_indices("KVCache", indices, len(self.key))
            self._key.select(indices)
            self._value.select(indices)

    def __repr__(self):
        return f"KVCache(length={self.length})"


class FixedKVCache:
    """What a layer makes of keys and values that stay: of the encoder's, say.

    ``layer.precompute(key, value)`` makes it, and calls of that layer take it in place
    of ``key``. The gradients of all those calls go back through the one projection. It
    belongs to the parameters that it was made with: after they have changed, and so for
    every batch in training, make it anew.

    key, value   (B, Hk, S, E) Tensors
    """

    def __init__(self, layer, key, value):
        self.layer, self.key, self.value = layer, key, value

    def rows(self, layer, B, dtype):
        """key and value, if they are that layer's, of B examples, and of that dtype."""
        if self.layer is not layer:
            raise ValueError(
                "FixedKVCache: these keys were projected by another layer; expected "
                "what this layer's precompute(key, value) returned."
            )
        _check_rows("FixedKVCache", self.key, B, dtype)
        return self.key, self.value

    def select(self, indices):
        """As of ``KVCache``: row n becomes what row indices[n] was."""
        indices = _checked_indices("FixedKVCache", indices, len(self.key))
        self.key, self.value = self.key[indices], self.value[indices]

    def __repr__(self):
        return f"FixedKVCache(shape={self.key.shape})"


class _Rows:
    """Rows (B, Hk, n, E) whose number n grows, in room for more than there are."""

    def __init__(self, capacity):
        self.capacity, self.kept = capacity, None
        self._room = None  # (B, Hk, capacity or more, E); None if kept stands elsewhere

    n = property(lambda self: 0 if self.kept is None else self.kept.shape[-2])

    def extended(self, x):
        """What is kept, and then the rows of x, as one Tensor."""
        n, total = self.n, self.n + x.shape[-2]
        if x.requires_grad or (self.kept is not None and self.kept.requires_grad):
            self._room = None
            return x if self.kept is None else concat([self.kept, x], -2)
        if self._room is None or self._room.shape[-2] < total:
            room = max(self.capacity, total, 2 * n)
            room = np.empty((*x.shape[:-2], room, x.shape[-1]), x.dtype)
            if n:
                room[..., :n, :] = self.kept._data
            self._room = room
        # rows that were kept are never written again: a graph may still need them
        self._room[..., n:total, :] = x._data
        return Tensor._of(self._room[..., :total, :])

    def select(self, indices):
        self.kept, self._room = self.kept[indices], None


def _check_rows(name, kept, B, dtype):
    if len(kept) != B:
        raise ValueError(
            f"{name}: holds {len(kept)} examples; found {B}. select(indices) says "
            "which of them go on."
        )
    if kept.dtype != dtype:
        raise TypeError(
            f"{name}: holds {kept.dtype}; found {dtype}. Expected one dtype from the "
            "first step to the last."
        )


def _checked_indices(name, indices, B):
    indices = wholes(name, "indices", indices, {1: "(n,), rows to go on with"})
    between(name, "indices", indices, 0, B - 1, "numbers of examples")
    return indices
