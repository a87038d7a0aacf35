"""Keys and values in a row, bound and bound again: what was the key's last value?

    b 3   a 7   b 3   c 1   b 5   a 7   b 5   …
    ?     ?     3     ?     ?     7     5          the value last bound to this key

At a key that has been seen, the answer is its most recent value, which is right unless
it is bound anew at this very place. So a model has to know which value stands beside a
key, a matter of one step, and which of a key's pairs is the latest, a matter of order:
both are relative positions, and neither asks how long the sequence is. The longer it
is, the more old values of the same key there are to be taken in by.
"""

from dataclasses import dataclass

import numpy as np

from ..checks import whole

NOTHING = -100  # the target where nothing is asked: cross_entropy's ignore_index


@dataclass
class Bindings:
    """Rows of pairs; keys are the ids 0 to keys - 1, values those from there on.

    rebound   the probability that a key that was seen is bound anew, to any value
    """

    keys: int = 6
    values: int = 8
    rebound: float = 0.3

    def __post_init__(self):
        for name in ("keys", "values"):
            whole("Bindings", name, getattr(self, name), 1)
        if not 0 <= self.rebound <= 1:
            raise ValueError(
                f"Bindings: rebound is {self.rebound}; expected a probability, 0 to 1."
            )

    @property
    def vocabulary(self):
        return self.keys + self.values

    def draw(self, rng, rows, length):
        """ids (rows, length) and targets: at a key that keeps its value, this value.

        length   even: pairs of a key and a value
        """
        if whole("Bindings", "length", length, 2) % 2:
            raise ValueError(
                f"Bindings: length is {length}; expected an even number, as a key and "
                "a value are a pair."
            )
        P = length // 2
        keys = rng.integers(0, self.keys, (rows, P))
        values = rng.integers(0, self.values, (rows, P))
        anew = rng.random((rows, P)) < self.rebound
        last, b = np.full((rows, self.keys), -1), np.arange(rows)
        targets = np.full((rows, length), NOTHING)
        for p in range(P):
            known = last[b, keys[:, p]]
            kept = (known >= 0) & ~anew[:, p]
            values[:, p] = np.where(kept, known, values[:, p])
            targets[:, 2 * p] = np.where(kept, self.keys + known, NOTHING)
            last[b, keys[:, p]] = values[:, p]
        ids = np.stack([keys, self.keys + values], -1)  # (rows, P, 2)
        return ids.reshape(rows, length), targets
