"""Which score can look a key up? The comparison that lesson 14 does with the reader.

    python -m lessons experiment 14

A model sees ten pairs of a key and a value, and the key of one of them. It has to find
the value: by additive scores, by dot products, or, as a baseline, from the mean of all
ten values. A minute.
"""

import numpy as np

import minigrad as mg
from attention import AdditiveAttention, DotProductAttention
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import shuffled
from minigrad import nn

PAIRS, KEYS, VALUES, WIDTH = 10, 12, 8, 4


class Lookup(nn.Module):
    """Attend from the key that is asked for to the pairs; name the value.

    arm         "additive", "dot" or "mean"
    normalize   a function that replaces the softmax, see ``attend``
    """

    def __init__(self, arm, rng, normalize=None):
        size = (KEYS, WIDTH)
        self.queries, self.keys = (nn.Parameter(rng.normal(size=size)) for _ in "qk")
        self.values = nn.Parameter(rng.normal(size=(VALUES, WIDTH)))
        self.output = nn.Linear(WIDTH, VALUES, rng=rng)
        self.normalize = normalize
        self.attention = None
        if arm == "dot":
            self.attention = DotProductAttention()
        if arm == "additive":
            self.attention = AdditiveAttention(WIDTH, WIDTH, WIDTH, rng=rng)

    def forward(self, asked, keys, values):
        """asked (B, 1), keys and values (B, 10)  ->  scores of all values (B, 8)"""
        V = mg.embedding(values, self.values)  # (B, 10, 4)
        if self.attention is None:
            context = V.mean(1, keepdims=True)
        else:
            q, K = mg.embedding(asked, self.queries), mg.embedding(keys, self.keys)
            context = self.attention(q, K, V, normalize=self.normalize)  # (B, 1, 4)
        return self.output(context)[:, 0]


def draw(n, *key):
    """Return n examples: the key that is asked for, keys, values, and the answers."""
    rng, rows = np.random.default_rng(key), np.arange(n)
    keys = shuffled(rng, n, KEYS)[:, :PAIRS]
    values = rng.integers(VALUES, size=(n, PAIRS))
    place = rng.integers(PAIRS, size=n)
    return keys[rows, place][:, None], keys, values, values[rows, place]


class Scores(fair.Study):
    """Additive scores against dot products."""

    name, measure = "lookup", "share of right values"
    question = "Does a dot product look a key up as well as the additive score?"
    arms, rates = ("additive", "dot", "mean"), (0.004, 0.016, 0.064)
    chance, budget, every, warmup = 1 / VALUES, 4000, 20, 20
    batch, held_out, held_keys = 16, (500, 500), (1000, 2000)
    model, draw = staticmethod(Lookup), staticmethod(draw)


if __name__ == "__main__":
    study("lookup", [Scores()])
