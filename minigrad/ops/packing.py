"""Pack sequences of unequal length without their padding, for recurrent layers.

A batch (B, T, F), with F numbers for each token, becomes rows (N, F), where N is the
number of tokens without padding. The rows are ordered by step, and within a step by the
length of the example, longest first. Examples 0, 1, 2 of lengths 2, 4, 3 have the order
1, 2, 0:

    step               0             1             2         3
    example, token     1,0 2,0 0,0 | 1,1 2,1 0,1 | 1,2 2,2 | 1,3

The examples that have a token at step t are the first examples of step t - 1, so their
states at step t - 1 are one slice, and no mask is needed. ``pack`` and ``unpack``
convert between the two forms. PyTorch's packed sequences have the same order.
"""

import numpy as np

from ..arguments import between, flag


class Packing:
    """The order of the rows of B sequences of at most T tokens.

    lengths   (B,) integers from 1 to T, or None: all have T tokens
    reverse   run from the last token of each example to its first

    A recurrent layer stores B + N states (B + N, H): first the B initial states, then
    the state after each row. ``steps`` lists three slices for each step: the states
    before the step, the rows of the step, and the states after it.

    Raises ValueError for lengths outside 1 to T; the message begins with ``name``.
    """

    def __init__(self, name, B, T, lengths, reverse):
        lengths = check_lengths(name, B, T, lengths)
        self.B, self.T, self.reverse = B, T, flag(name, "reverse", reverse)
        self.order = slice(None)  # the order of the examples, longest first
        self.lengths = None  # None: all have T tokens, and pack() needs no index
        counts = [B] * T  # the number of rows of each step
        if (lengths < T).any():
            self.lengths, self.order = lengths, np.argsort(-lengths, kind="stable")
            counts = [int((lengths > t).sum()) for t in range(lengths.max())]
        stops = np.cumsum(counts).tolist()
        self.N = stops[-1]
        self.steps, before = [], 0
        for stop, n in zip(stops, counts):
            rows, after = slice(stop - n, stop), slice(B + stop - n, B + stop)
            self.steps.append((slice(before, before + n), rows, after))
            before = after.start
        if self.lengths is not None:
            self.example = np.concatenate([self.order[:n] for n in counts])
            step = np.repeat(np.arange(len(counts)), counts)
            self.time = self.lengths[self.example] - 1 - step if reverse else step
            starts = np.array([after.start for _, _, after in self.steps])
            rank = np.argsort(self.order)  # of an example among the sorted ones
            self.final = starts[self.lengths - 1] + rank

    def pack(self, x):
        """Return the rows of a batch: (B, T, F) -> (N, F)."""
        if self.lengths is not None:
            return x[self.example, self.time]
        x = x[:, ::-1] if self.reverse else x
        return x.swapaxes(0, 1).reshape(self.N, x.shape[2])

    def unpack(self, rows):
        """Return the rows as a batch: (N, F) -> (B, T, F), with 0 in the padding."""
        if self.lengths is not None:
            x = np.zeros((self.B, self.T, rows.shape[1]), rows.dtype)
            x[self.example, self.time] = rows
            return x
        x = rows.reshape(self.T, self.B, rows.shape[1]).swapaxes(0, 1)
        return x[:, ::-1] if self.reverse else x

    def before(self, states):
        """Return the state before each row: (B + N, H) -> (N, H)."""
        if self.lengths is not None:
            return np.concatenate([states[before] for before, _, _ in self.steps])
        return states[: self.N]

    def last(self, states):
        """Return the last state of each example: (B + N, H) -> (B, H)."""
        if self.lengths is not None:
            return states[self.final]
        return states[self.N :].copy()


def check_lengths(name, B, T, lengths):
    """Return the lengths (B,) of B sequences; raise ValueError for impossible ones."""
    if T == 0:
        raise ValueError(f"{name}: x has no time steps; expected T >= 1.")
    if lengths is None:
        return np.full(B, T)
    what = "the tokens of a sequence"
    return between(name, "lengths", np.asarray(lengths), 1, T, what)
