"""String reversal: the smallest task that needs to look back.

A string over a..z goes in, the same string comes out from its end. Nothing has to be
understood, and everything has to be remembered, in an order that is not the input's:
the right alignment of output t is input S - 1 - t, which can be read off a heatmap.

Vocabulary of 29: PAD 0, SOS 1, EOS 2, then a to z as 3 to 28.

    source          d o g          (B, S)       padded with PAD at the end
    target_in   SOS g o d          (B, S + 1)   what the decoder is fed
    target_out      g o d EOS      (B, S + 1)   what it is asked for
"""

from dataclasses import dataclass

import numpy as np

PAD, SOS, EOS = 0, 1, 2
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIRST = 3  # the id of "a"
VOCABULARY = FIRST + len(LETTERS)


@dataclass
class Batch:
    """Token ids of one batch, all int64."""

    source: np.ndarray  # (B, S)
    lengths: np.ndarray  # (B,)      letters in each source
    target_in: np.ndarray  # (B, S + 1)
    target_out: np.ndarray  # (B, S + 1)


def encode(text):
    """The ids of the letters of ``text``.

    Raises ValueError for a character outside a..z, by name and place.
    """
    for i, c in enumerate(text):
        if c not in LETTERS:
            raise ValueError(f"{c!r} at place {i} of {text!r} is not one of a to z.")
    return np.array([FIRST + ord(c) - ord("a") for c in text], dtype=np.int64)


def decode(ids):
    """The letters of ``ids`` up to the first EOS; PAD and SOS are left out."""
    letters = []
    for i in ids:
        if i == EOS:
            break
        if i >= FIRST:
            letters.append(LETTERS[int(i) - FIRST])
    return "".join(letters)


def make_batch(letters, lengths, pad_to=None):
    """Turn rows of letters into a batch.

    letters (B, n >= max length) ids; what stands beyond a row's length is ignored
    lengths (B,)
    pad_to  the least width S of the source; the longest row decides without it
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    S = max(int(lengths.max(initial=0)), pad_to or 0)
    B = len(lengths)
    s = np.arange(S)
    filled = s < lengths[:, None]  # (B, S)
    wide = np.full((B, S), PAD, dtype=np.int64)
    n = min(S, letters.shape[1])
    wide[:, :n] = letters[:, :n]
    source = np.where(filled, wide, PAD)
    # output t is input length-1-t; where t is beyond the length any index will do
    mirror = np.where(filled, lengths[:, None] - 1 - s, 0)
    reversed_ = np.where(filled, np.take_along_axis(source, mirror, axis=1), PAD)
    target_in = np.concatenate([np.full((B, 1), SOS), reversed_], axis=1)
    target_out = np.concatenate([reversed_, np.full((B, 1), PAD)], axis=1)
    target_out[np.arange(B), lengths] = EOS
    return Batch(source, lengths, target_in, target_out)


def random_batch(rng, size, min_length, max_length, pad_to=None):
    """``size`` strings of random letters, their lengths uniform in [min, max]."""
    lengths = rng.integers(min_length, max_length + 1, size)
    letters = rng.integers(FIRST, VOCABULARY, (size, max_length))
    return make_batch(letters, lengths, pad_to)


class Batches:
    """An endless, repeatable stream: batch i depends on the seed and on i alone.

    Batches are drawn a block at a time, so that their making costs little, and so that
    a run that is resumed at step i sees what it would have seen.
    """

    block = 50  # batches drawn at once

    def __init__(self, seed, size, min_length, max_length):
        self.seed, self.size = seed, size
        self.min_length, self.max_length = min_length, max_length
        self._drawn = None, None

    def __getitem__(self, i):
        number, place = divmod(i, self.block)
        if self._drawn[0] != number:
            rng = np.random.default_rng([self.seed, number])
            n = self.block * self.size
            many = random_batch(rng, n, self.min_length, self.max_length)
            self._drawn = number, many
        many = self._drawn[1]
        rows = slice(place * self.size, (place + 1) * self.size)
        S = int(many.lengths[rows].max())  # this batch's longest string
        return Batch(
            many.source[rows, :S],
            many.lengths[rows],
            many.target_in[rows, : S + 1],
            many.target_out[rows, : S + 1],
        )
