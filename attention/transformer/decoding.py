"""A decoder in the middle of its sequences: what it keeps from one token to the next.

    state = model.start(source, lengths)
    logits, state, weights = model.step(state, tokens)        tokens (B,), logits (B, V)
    state.select(indices)                                     the rows that go on

Each block keeps the keys and values of the tokens so far, and, if it looks at a source,
those of the source, which never change.

Prompts of several lengths end side by side, and their padding is in front, where a mask
hides it: a new token then has one column for all rows, and distances, which are all
that the relative schemes look at, are what they were. Positions that are added to the
input count from a row's first token on.
"""

import numpy as np

from ..exact.kv_cache import KVCache


class Decoding:
    """The state of B sequences; ``step`` and ``select`` change it in place.

    length    columns so far, padding included
    padding   (B,), how many of a row's columns are padding
    logits    (B, V), of what follows the prompt; None if there was none
    """

    def __init__(self, blocks, padding, memories=None, memory_lens=None):
        self.caches = [KVCache() for _ in range(blocks)]
        self.memories = [None] * blocks if memories is None else memories
        self.padding, self.memory_lens = padding, memory_lens
        self.length, self.logits = 0, None

    def __len__(self):
        return len(self.padding)

    def positions(self, n):
        """Where the next n tokens of each row stand, and padding at 0: (B, n)."""
        columns = np.arange(self.length, self.length + n)
        return np.maximum(columns - self.padding[:, None], 0)

    def mask(self, n):
        """Which columns may be looked at once there are n more: (B, 1, 1, S) bool."""
        if not self.padding.any():
            return None
        columns = np.arange(self.length + n)
        return (columns >= self.padding[:, None])[:, None, None]

    def select(self, indices):
        """Row n goes on from what row indices[n] has seen; returns this state."""
        for kept in (*self.caches, *self.memories):
            if kept is not None:
                kept.select(indices)  # refuses what is no row
        indices = np.asarray(indices, np.intp)
        self.padding = self.padding[indices]
        if self.memory_lens is not None:
            self.memory_lens = self.memory_lens[indices]
        if self.logits is not None:
            self.logits = self.logits[indices]
        return self


def to_the_right(ids, lengths):
    """Rows that end side by side, and how much padding stands before each: (B,)."""
    n = ids.shape[1]
    if lengths is None:
        return ids, np.zeros(len(ids), np.intp)
    padding = n - lengths
    columns = (np.arange(n) - padding[:, None]) % max(n, 1)  # padding comes round
    return np.take_along_axis(ids, columns, 1), padding
