"""A task that tests positions: recall the value that was last bound to a key.

    b 3   a 7   b 3   c 1   b 5   a 7   b 5   …
    ?     ?     3     ?     ?     7     5          the value last bound to this key

The model reads a key and predicts its value: the most recent value of this key. There
is no question where the key is new, or is bound to a new value at this position. To
answer, the model must find the value next to a key (a distance of one) and the latest
pair of a key (an order). Both are relative positions and do not depend on the length of
the sequence. But a longer sequence holds more old values of the same key.
"""

from dataclasses import dataclass

import numpy as np

from minigrad.arguments import whole

NOTHING = -100  # the target where there is no question: cross_entropy's ignore_index


@dataclass
class Bindings:
    """Draw rows of pairs; keys are the ids 0 to keys - 1, values the ids after them.

    rebound   the probability that a key seen before gets a random new value
    """

    keys: int = 6
    values: int = 8
    rebound: float = 0.3

    @property
    def vocabulary(self):
        """The number of ids, of keys and values."""
        return self.keys + self.values

    def draw(self, rng, rows, length):
        """Return ids (rows, length) and targets (rows, length).

        length   even: pairs of a key and a value

        The target of a key that keeps its value is this value; all other targets are
        NOTHING.
        """
        if whole("Bindings", "length", length, 2) % 2:
            raise ValueError(
                f"Bindings: length is {length}; expected an even number, as a key and "
                "a value are a pair."
            )
        P = length // 2
        keys = rng.integers(0, self.keys, (rows, P))
        values = rng.integers(0, self.values, (rows, P))
        rebound = rng.random((rows, P)) < self.rebound
        last, b = np.full((rows, self.keys), -1), np.arange(rows)
        targets = np.full((rows, length), NOTHING)
        for p in range(P):
            old = last[b, keys[:, p]]
            kept = (old >= 0) & ~rebound[:, p]
            values[:, p] = np.where(kept, old, values[:, p])
            targets[:, 2 * p] = np.where(kept, self.keys + old, NOTHING)
            last[b, keys[:, p]] = values[:, p]
        ids = np.stack([keys, self.keys + values], -1)  # (rows, P, 2)
        return ids.reshape(rows, length), targets
