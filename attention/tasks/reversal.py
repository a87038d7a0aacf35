"""String reversal: the smallest task that needs attention.

The source is a string of the letters a to z; the target is the same letters in reverse
order. Output t equals input S - 1 - t, so the correct alignment is known, and a heatmap
of the weights shows whether the model found it.

The vocabulary has 29 ids: PAD 0, SOS 1, EOS 2, then a to z as 3 to 28.
"""

from dataclasses import fields

import numpy as np

from minigrad.arguments import whole

from .algorithmic import LETTERS
from .batch import PAD, Batch, assemble
from .vocabulary import FIRST, Symbols

SYMBOLS = Symbols(LETTERS, "a to z")
VOCABULARY = len(SYMBOLS)

encode, decode = SYMBOLS.encode, SYMBOLS.decode


class Batches:
    """An endless, repeatable stream of batches of random strings.

    batches[i] depends only on the seed and i, so a run that is resumed at step i reads
    the same batches as an uninterrupted run. A block of batches is drawn at once, which
    is faster.
    """

    block = 50  # batches

    def __init__(self, seed, size, min_length, max_length):
        self.seed = whole("Batches", "seed", seed)
        self.size = whole("Batches", "size", size, 1)
        self.lengths = min_length, max_length
        self._number, self._rows = None, None  # the block in memory

    def __getitem__(self, i):
        number, k = divmod(whole("batches[i]", "the step i", i), self.block)
        if self._number != number:
            rng = np.random.default_rng([self.seed, number])
            rows = random_batch(rng, self.block * self.size, *self.lengths)
            self._number, self._rows = number, _longest_first(rows, self.size)
        first = k * self.size
        return _cropped(self._rows, slice(first, first + self.size))


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


def _longest_first(rows, size):
    """Sort the rows of each batch of ``size`` by target length, the longest first.

    The loss does not depend on the order, but recurrent kernels are faster when rows
    of similar length are neighbours: they skip common padding.
    """
    lengths = rows.target_lengths
    order = np.lexsort((-lengths, np.arange(len(lengths)) // size))
    return Batch(*(getattr(rows, field.name)[order] for field in fields(Batch)))


def _cropped(rows, batch):
    """Return the rows of one batch, as wide as its longest."""
    S = int(rows.lengths[batch].max())
    T = int((rows.target_out[batch.start] != PAD).sum())
    return Batch(
        rows.source[batch, :S],
        rows.lengths[batch],
        rows.target_in[batch, :T],
        rows.target_out[batch, :T],
    )
