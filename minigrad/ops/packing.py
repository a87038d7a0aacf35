"""Pack sequences of unequal length without their padding, for recurrent layers.

A batch (B, T, F) is laid out as rows (N, F), N the number of real tokens: step by step,
and within a step example by example, the longest first. The examples that have a token at
a step are then the first few of those that had one at the step before:

    lengths 2, 4, 3          step 0        step 1        step 2     step 3
    example b, token t       1,0 2,0 0,0 | 1,1 2,1 0,1 | 1,2 2,2 |  1,3

so that a step is a slice, nothing is masked, and padding is never read. This is the
order of PyTorch's packed sequences.
"""

import numpy as np

from ..checks import between


class Packing:
    """The order of the rows of B sequences of at most T tokens.

    lengths   (B,) integers from 1 to T, or None: all have T tokens
    reverse   run from each example's own last token to its first

    ``steps`` lists three slices for each step: of the states before it, of the rows of
    the step, and of the states after it. There are B more states than
    tokens, (B + N, H): the initial ones come first.

    Raises ValueError in the name of the operation ``name`` for other lengths.
    """

    def __init__(self, name, B, T, lengths, reverse):
        if T == 0:
            raise ValueError(f"{name}: x has no time steps; expected T >= 1.")
        self.B, self.T, self.reverse = B, T, reverse
        self.order = slice(None)  # of the examples: longest first
        self.lengths = None  # None: all sequences are whole, and views suffice
        live = [B] * T  # how many examples have a token at each step
        if lengths is not None:
            what = "the tokens of a sequence"
            lengths = between(name, "lengths", np.asarray(lengths), 1, T, what)
            if (lengths < T).any():
                self.lengths, self.order = lengths, np.argsort(-lengths, kind="stable")
                live = [int((lengths > t).sum()) for t in range(lengths.max())]
        stops = np.cumsum(live).tolist()
        self.N = stops[-1]
        self.steps, before = [], 0
        for stop, n in zip(stops, live):
            rows, after = slice(stop - n, stop), slice(B + stop - n, B + stop)
            self.steps.append((slice(before, before + n), rows, after))
            before = after.start
        if self.lengths is not None:
            self.example = np.concatenate([self.order[:n] for n in live])
            step = np.repeat(np.arange(len(live)), live)
            self.time = self.lengths[self.example] - 1 - step if reverse else step
            starts = np.array([after.start for _, _, after in self.steps])
            rank = np.argsort(self.order)  # of an example among the sorted ones
            self.final = starts[self.lengths - 1] + rank

    def pack(self, x):
        """Return the rows of all tokens: (B, T, F) -> (N, F)."""
        if self.lengths is not None:
            return x[self.example, self.time]
        x = x[:, ::-1] if self.reverse else x
        return x.swapaxes(0, 1).reshape(self.N, x.shape[2])

    def unpack(self, rows):
        """Return the sequences of the rows: (N, F) -> (B, T, F), zero in the padding."""
        if self.lengths is not None:
            x = np.zeros((self.B, self.T, rows.shape[1]), rows.dtype)
            x[self.example, self.time] = rows
            return x
        x = rows.reshape(self.T, self.B, rows.shape[1]).swapaxes(0, 1)
        return x[:, ::-1] if self.reverse else x

    def before(self, states):
        """Return the state that each row started from: (B + N, H) -> (N, H)."""
        if self.lengths is not None:
            return np.concatenate([states[before] for before, _, _ in self.steps])
        return states[: self.N]

    def last(self, states):
        """Return each example's state after its last step: (B + N, H) -> (B, H)."""
        if self.lengths is not None:
            return states[self.final]
        return states[self.N :].copy()
