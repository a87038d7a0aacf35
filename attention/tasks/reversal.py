"""String reversal: the smallest task that needs attention.

A string over a..z is the source; the target is the same string from its end. Nothing
has to be understood and everything has to be remembered, in another order: the right
alignment of output t is input S - 1 - t, which a heatmap shows.

The vocabulary has 29 ids: PAD 0, SOS 1, EOS 2, then a to z as 3 to 28.
"""

import numpy as np

from .batch import EOS, PAD, SOS, Batch, Stream, assemble
from .vocabulary import FIRST, Symbols

__all__ = [
    "EOS", "FIRST", "LETTERS", "PAD", "SOS", "VOCABULARY", "Batch", "Batches",
    "decode", "encode", "make_batch", "random_batch",
]  # fmt: skip

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SYMBOLS = Symbols(LETTERS, "a to z")
VOCABULARY = len(SYMBOLS)

encode, decode = SYMBOLS.encode, SYMBOLS.decode


class Batches(Stream):
    """An endless, repeatable stream of batches of random strings."""

    def __init__(self, seed, size, min_length, max_length):
        super().__init__(
            seed, size, lambda rng, n: random_batch(rng, n, min_length, max_length)
        )


def random_batch(rng, size, min_length, max_length, pad_to=None):
    """Draw ``size`` strings of random letters, lengths uniform in [min, max]."""
    lengths = rng.integers(min_length, max_length + 1, size)
    letters = rng.integers(FIRST, VOCABULARY, (size, max_length))
    return make_batch(letters, lengths, pad_to)


def make_batch(letters, lengths, pad_to=None):
    """Return the batch of some strings and their reversals.

    letters   (B, n) ids; beyond a row's length they are ignored
    lengths   (B,), at most n
    pad_to    the smallest width S of the source; None: the longest row decides
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    S = max(int(lengths.max(initial=0)), pad_to or 0)
    source = np.full((len(lengths), S), PAD, dtype=np.int64)
    n = min(S, letters.shape[1])
    source[:, :n] = letters[:, :n]
    s = np.arange(S)
    # output t is input length - 1 - t; beyond the length any index will do
    mirror = np.where(s < lengths[:, None], lengths[:, None] - 1 - s, 0)
    target = np.take_along_axis(source, mirror, axis=1)
    return assemble(source, lengths, target, lengths)
