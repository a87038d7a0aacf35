"""A small Transformer that shows its weights, and a task for it.

``experiment.py`` and ``scaling.py`` train it on a table of two entries,
``ablation.py`` on sentences.
"""

import math
from functools import partial

import numpy as np

import minigrad as mg
from attention import MultiHeadAttention, sinusoidal
from attention.metrics.alignment import attention_entropy
from attention.transformer import FeedForward, TransformerConfig
from lessons.instrument.fair import Study
from minigrad import nn

V, T = 8, 8  # symbols, and places
TABLE = np.random.default_rng(42).integers(V, size=(V, V))  # F


def best_without_order():
    """Return the best share of right answers of a model that does not know the order.

    It knows its token, and which other seven there are. It gives the most frequent of
    their seven answers.
    """
    found = []
    for x in np.random.default_rng(0).integers(V, size=(500, T)):
        for t in range(T):
            answers = TABLE[x[t], np.delete(x, t)]  # (7,)
            found.append(np.bincount(answers).max() / len(answers))
    return float(np.mean(found))


class Transformer(nn.Module):
    """Pre-norm blocks: ids (B, T)  ->  logits (B, T, V).

    config    a ``TransformerConfig``
    causal    whether a token attends to itself and earlier tokens only
    scale     the factor of the scores; None is 1 / sqrt(width / heads)
    without   what is left out: "positions", "feed-forward", "residual", "norm"
    weights   of each attention in the last call, (B, H, T, T), in evaluation mode
    inputs    what each attention read in the last call, (B, T, D) each
    """

    def __init__(self, config, causal=False, scale=None, without="", rng=None):
        D, V = config.width, config.vocabulary
        self.causal, self.without = causal, without
        self.embedding = nn.Embedding(V, D, rng=rng)
        blocks = range(config.layers)
        self.attentions = [
            MultiHeadAttention(D, config.heads, scale=scale, rng=rng) for _ in blocks
        ]
        self.networks = [
            FeedForward(config, rng) for _ in blocks if without != "feed-forward"
        ]
        self.norms = [
            nn.LayerNorm(D) for _ in range(2 * config.layers + 1) if without != "norm"
        ]
        self.output = nn.Linear(D, V, rng=rng)
        self.weights, self.inputs = [], []

    def forward(self, ids):
        x, norms = self.embedding(ids), iter(self.norms)
        if self.without != "positions":
            x = x + math.sqrt(2) * sinusoidal(*x.shape[1:])
        self.weights, self.inputs = [], []
        for k, attention in enumerate(self.attentions):
            x = self.add(x, partial(self.attend, attention), norms)
            if self.networks:
                x = self.add(x, self.networks[k], norms)
        return self.output(next(norms)(x) if self.norms else x)

    def add(self, x, f, norms):
        """Return x + f(LN(x)), or without one of these two parts."""
        y = f(next(norms)(x) if self.norms else x)
        return y if self.without == "residual" else x + y

    def attend(self, attention, x):
        """Return the output of an attention; keep what it read, and its weights."""
        if self.training:
            return attention(x, is_causal=self.causal)
        y, weights = attention(x, is_causal=self.causal, need_weights=True)
        self.weights.append(weights.data)
        self.inputs.append(x.data)
        return y


def draw(n, *key):
    """Draw tokens x and answers y, both (n, T): y_t = F[x_t, x_(t-1)], in a ring."""
    x = np.random.default_rng(key).integers(V, size=(n, T))
    return x, TABLE[x, np.roll(x, 1, 1)]


class Table(Study):
    """Transformers that learn the table F.

    arms   {name: options of ``Transformer``}
    size   of all arms, for ``TransformerConfig``
    """

    rates, every, budget = (5e-4, 1e-3, 2e-3, 4e-3), 50, 2400
    chance, trivial = 1 / V, best_without_order()
    draw, batch = staticmethod(draw), 16
    held_out, held_keys = (200, 500), (1, 2)
    size = {}

    def model(self, arm, rng):
        config = TransformerConfig(V, **self.size)
        return Transformer(config, **self.arms[arm], rng=rng)

    def test(self, arm, model):
        """Return the share of right answers, and the mean entropy of the weights."""
        return super().test(arm, model) | {"entropy": entropy(model)}


def entropy(model):
    """Return the mean entropy of the weights; log(T) if all are equal."""
    x, _ = draw(100, 3)
    with mg.no_grad():
        model(x)
    return float(np.mean([attention_entropy(p).mean() for p in model.weights]))
