"""One batch of padded token ids.

    source          d o g          (B, S)       padded with PAD at the end
    target_in   SOS g o d          (B, T + 1)   the decoder's inputs
    target_out      g o d EOS      (B, T + 1)   the tokens it should predict

At every position the decoder predicts the next token, so the two targets are one row,
shifted by one. Positions where target_out is PAD do not count in the loss.
"""

from dataclasses import dataclass

import numpy as np

PAD, SOS, EOS = 0, 1, 2


@dataclass
class Batch:
    """Token ids of one batch, and the lengths of its sources.

    They are int64 if ``pad`` made the rows. ``assemble`` keeps the dtype of sources and
    lengths.
    """

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
