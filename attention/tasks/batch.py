"""One batch of padded token ids, and the repeatable stream that batches come from.

    source          d o g          (B, S)       padded with PAD at the end
    target_in   SOS g o d          (B, T + 1)   the decoder's inputs
    target_out      g o d EOS      (B, T + 1)   the tokens it should predict

At every position the decoder predicts the next token, so the two targets are one row,
shifted by one. Positions where target_out is PAD do not count in the loss.
"""

from dataclasses import dataclass, fields

import numpy as np

from minigrad.checks import whole

PAD, SOS, EOS = 0, 1, 2


@dataclass
class Batch:
    """Token ids of one batch, all int64."""

    source: np.ndarray  # (B, S)
    lengths: np.ndarray  # (B,)      tokens in each source
    target_in: np.ndarray  # (B, T + 1)
    target_out: np.ndarray  # (B, T + 1)

    @property
    def target_lengths(self):
        """Return how many tokens each row predicts, EOS included: (B,)."""
        return (self.target_out != PAD).sum(1)


def assemble(source, lengths, target, target_lengths):
    """Return the ``Batch`` of rows that are already in two arrays.

    source (B, S), target (B, T)         ids; beyond a row's length they are ignored
    lengths (B,), target_lengths (B,)    at most S and T
    """
    B, T = target.shape
    s, t = np.arange(source.shape[1]), np.arange(T)
    source = np.where(s < lengths[:, None], source, PAD)  # (B, S)
    target = np.where(t < target_lengths[:, None], target, PAD)  # (B, T)
    target_in = np.concatenate([np.full((B, 1), SOS), target], axis=1)  # (B, T + 1)
    target_out = np.concatenate([target, np.full((B, 1), PAD)], axis=1)
    target_out[np.arange(B), target_lengths] = EOS
    return Batch(source, lengths, target_in, target_out)


def pad(rows):
    """Return rows of ids as one array (B, longest), padded, and their lengths (B,)."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    padded = np.full((len(rows), lengths.max(initial=0)), PAD, dtype=np.int64)
    for row, ids in zip(padded, rows):
        row[: len(ids)] = ids
    return padded, lengths


class Stream:
    """An endless, repeatable stream: batch i depends on the seed and on i alone.

    draw   (rng, n) -> a Batch of n rows

    A block of batches is drawn at once, which is faster. A run that is resumed at step
    i reads the same batches as an uninterrupted run.
    """

    block = 50  # batches

    def __init__(self, seed, size, draw):
        self.seed = whole("Stream", "seed", seed)
        self.size = whole("Stream", "size", size, 1)
        self.draw = draw
        self._number, self._rows = None, None  # the block in memory

    def __getitem__(self, i):
        number, k = divmod(whole("batches[i]", "the step i", i), self.block)
        if self._number != number:
            rng = np.random.default_rng([self.seed, number])
            rows = self.draw(rng, self.block * self.size)
            self._number, self._rows = number, _longest_first(rows, self.size)
        first = k * self.size
        return _cropped(self._rows, slice(first, first + self.size))


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
