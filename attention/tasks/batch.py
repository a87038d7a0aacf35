"""What every task hands to a model: one batch of padded token ids.

    source          d o g          (B, S)       padded with PAD at the end
    target_in   SOS g o d          (B, T + 1)   what the decoder is fed
    target_out      g o d EOS      (B, T + 1)   what it is asked for

The decoder is asked for the next token at every place, so the two targets are the same
row, moved by one. Where target_out is PAD nothing is asked, and no loss should count.
"""

from dataclasses import dataclass, fields

import numpy as np

from ..checks import whole

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
        """How many tokens each row is asked for, EOS among them: (B,)."""
        return (self.target_out != PAD).sum(1)


def assemble(source, lengths, target, target_lengths):
    """A batch of rows that are already side by side.

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


class Stream:
    """An endless, repeatable stream: batch i depends on the seed and on i alone.

    draw   (rng, n) -> a Batch of n rows

    Batches are drawn a block at a time, so that their making costs little, and so that
    a run that is resumed at step i sees what it would have seen.
    """

    block = 50  # batches drawn at once

    def __init__(self, seed, size, draw):
        self.seed = whole("Stream", "seed", seed)
        self.size = whole("Stream", "size", size, 1)
        self._draw = draw
        self._drawn = None, None

    def __getitem__(self, i):
        number, place = divmod(whole("batches[i]", "the step i", i), self.block)
        if self._drawn[0] != number:
            rng = np.random.default_rng([self.seed, number])
            many = self._draw(rng, self.block * self.size)
            self._drawn = number, _longest_first(many, self.size)
        return _rows(self._drawn[1], slice(place * self.size, (place + 1) * self.size))


def _longest_first(many, size):
    """The rows of each batch of ``size`` by the length of their targets.

    The order means nothing to a loss, but much to a recurrent kernel: rows of about one
    length stand side by side, and what is padding for all of them is left out.
    """
    lengths = many.target_lengths
    order = np.lexsort((-lengths, np.arange(len(lengths)) // size))
    return Batch(*(getattr(many, field.name)[order] for field in fields(Batch)))


def _rows(many, rows):
    """Some rows of a batch, the longest first, as wide as that."""
    S = int(many.lengths[rows].max())
    T = int((many.target_out[rows.start] != PAD).sum())
    return Batch(
        many.source[rows, :S],
        many.lengths[rows],
        many.target_in[rows, :T],
        many.target_out[rows, :T],
    )
