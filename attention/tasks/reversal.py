"""String reversal: the smallest task that needs to look back.

A string over a..z goes in, the same string comes out from its end. Nothing has to be
understood, and everything has to be remembered, in an order that is not the input's:
the right alignment of output t is input S - 1 - t, which can be read off a heatmap.

Vocabulary of 29: PAD 0, SOS 1, EOS 2, then a to z as 3 to 28. What a batch holds stands
in ``batch.py``; here the target is as long as the source.
"""

import numpy as np

from .batch import EOS, PAD, SOS, Batch, Stream, assemble
from .symbols import FIRST, Symbols

__all__ = [
    "EOS", "FIRST", "LETTERS", "PAD", "SOS", "VOCABULARY", "Batch", "Batches",
    "decode", "encode", "make_batch", "random_batch",
]  # fmt: skip

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SYMBOLS = Symbols(LETTERS, "a to z")
VOCABULARY = len(SYMBOLS)

encode, decode = SYMBOLS.encode, SYMBOLS.decode


def make_batch(letters, lengths, pad_to=None):
    """Turn rows of letters into a batch.

    letters (B, n >= max length) ids; what stands beyond a row's length is ignored
    lengths (B,)
    pad_to  the least width S of the source; the longest row decides without it
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    S = max(int(lengths.max(initial=0)), pad_to or 0)
    source = np.full((len(lengths), S), PAD, dtype=np.int64)
    n = min(S, letters.shape[1])
    source[:, :n] = letters[:, :n]
    s = np.arange(S)
    # output t is input length-1-t; where t is beyond the length any index will do
    mirror = np.where(s < lengths[:, None], lengths[:, None] - 1 - s, 0)
    reversed_ = np.take_along_axis(source, mirror, axis=1)
    return assemble(source, lengths, reversed_, lengths)


def random_batch(rng, size, min_length, max_length, pad_to=None):
    """``size`` strings of random letters, their lengths uniform in [min, max]."""
    lengths = rng.integers(min_length, max_length + 1, size)
    letters = rng.integers(FIRST, VOCABULARY, (size, max_length))
    return make_batch(letters, lengths, pad_to)


class Batches(Stream):
    """An endless, repeatable stream of random strings: see ``Stream``."""

    def __init__(self, seed, size, min_length, max_length):
        self.min_length, self.max_length = min_length, max_length
        super().__init__(
            seed, size, lambda rng, n: random_batch(rng, n, min_length, max_length)
        )
