"""The state of a decoder between two tokens: the keys and values so far.

    state = model.start(source, lengths)
    logits, state, weights = model.step(state, tokens)        tokens (B,), logits (B, V)
    state.select(indices)                                     continue with these rows

Each block keeps the keys and values of the tokens so far. With a source it also keeps
those of the source, which do not change.

Prompts of different lengths are right-aligned: their padding comes first, and a mask
excludes it. So the next token of every row has the same column, and distances between
tokens are correct. Positions that are added to the input count from the first token of
each row.
"""

import numpy as np

from minigrad.arguments import between

from ..exact.kv_cache import KVCache


class Decoding:
    """The state of B sequences, which ``step`` and ``select`` change in place.

    length    the number of columns so far, including padding
    padding   (B,), the number of padding columns of each row
    lengths   (B,), the numbers of tokens of the sources; None if all are tokens
    cache     the class of the caches, one for each block
    logits    (B, V) of the token after the prompt; None without a prompt
    """

    def __init__(self, blocks, padding, memories=None, lengths=None, cache=KVCache):
        self.caches = [cache() for _ in range(blocks)]
        self.memories = [None] * blocks if memories is None else memories
        self.padding, self.lengths = padding, lengths
        self.length, self.logits = 0, None

    def __len__(self):
        return len(self.padding)

    def column(self, tokens):
        """Return tokens (B,) as a column (B, 1); ValueError for another B."""
        if len(tokens) != len(self):
            raise ValueError(
                f"step: tokens have shape {tokens.shape}; expected ({len(self)},), one "
                "id for each row of the state. state.select(indices) chooses rows."
            )
        return tokens[:, None]

    def positions(self, n):
        """Return the positions of the next n tokens (B, n); padding has position 0."""
        columns = np.arange(self.length, self.length + n)
        return np.maximum(columns - self.padding[:, None], 0)

    def mask(self, n):
        """Return which columns are tokens, including n new ones: bool.

        The shape is (B, 1, 1, length + n). The result is None without padding.
        """
        if not self.padding.any():
            return None
        columns = np.arange(self.length + n)
        return (columns >= self.padding[:, None])[:, None, None]

    def select(self, indices):
        """Replace row n by row indices[n], and return this state."""
        indices, last = np.asarray(indices, np.intp), len(self.padding) - 1
        between("Decoding", "indices", indices, 0, last, "the rows of the state")
        for cache in (*self.caches, *self.memories):
            if cache is not None:
                cache.select(indices)
        self.padding = self.padding[indices]
        if self.lengths is not None:
            self.lengths = self.lengths[indices]
        if self.logits is not None:
            self.logits = self.logits[indices]
        return self


def padding_mask(name, ids, lengths):
    """Return which of ids (B, n) are tokens: (B, 1, 1, n) bool; None without lengths.

    name   the model, for the message about lengths that are not from 0 to n
    """
    if lengths is None:
        return None
    n = ids.shape[1]
    between(name, "lengths", lengths, 0, n, "tokens of a row")
    return (np.arange(n) < lengths[:, None])[:, None, None]


def right_aligned(ids, lengths):
    """Return ids (B, n) with the padding of each row first, and its length (B,)."""
    n = ids.shape[1]
    if lengths is None:
        return ids, np.zeros(len(ids), np.intp)
    padding = n - lengths
    columns = (np.arange(n) - padding[:, None]) % max(n, 1)  # the end wraps around
    return np.take_along_axis(ids, columns, 1), padding
