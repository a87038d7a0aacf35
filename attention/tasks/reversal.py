"""String reversal: the smallest task that needs attention.

The source is a string of the letters a to z; the target is the same letters in reverse
order. Output t equals input S - 1 - t, so the correct alignment is known, and a heatmap
of the weights shows whether the model found it.

The vocabulary has 29 ids: PAD 0, SOS 1, EOS 2, then a to z as 3 to 28.
"""

import numpy as np

from .algorithmic import LETTERS
from .batch import PAD, Stream, assemble
from .vocabulary import FIRST, Symbols

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
    # output t is input length - 1 - t; ``assemble`` ignores the rest of a row
    mirror = np.where(s < lengths[:, None], lengths[:, None] - 1 - s, 0)
    target = np.take_along_axis(source, mirror, axis=1)
    return assemble(source, lengths, target, lengths)
