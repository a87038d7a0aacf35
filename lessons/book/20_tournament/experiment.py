"""Three tasks, and seven kinds of attention: the record of lesson 20.

    python -m lessons experiment 20

One small model, whose attention alone differs between the arms, learns three tasks. Some
ten minutes on two cores.
"""

import functools
from functools import partial

import numpy as np

import minigrad as mg
from attention import linear_attention
from attention.transformer import Block, TransformerConfig
from attention.variants.table import POSITIONS
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import pick
from lessons.instrument.layers import Heads
from minigrad import nn

WIDTH, HEADS = 16, 2
NEAR = 8  # tokens that a baseline sees

# -- The arms ------------------------------------------------------------------------

ROPE, NONE = {"positions": "rope"}, {"positions": "none"}
SINES = {"positions": "sinusoidal"}
ARMS = {  # arm: options of a TransformerConfig
    "softmax": ROPE,
    "softmax, sines": SINES,
    "no positions": NONE,
    "stick-breaking": NONE | {"attention": "stick-breaking"},
    "forgetting": NONE | {"attention": "forgetting"},
    "linear": SINES,
    "gated delta": NONE | {"attention": "delta"},
}


class Reader(nn.Module):
    """Read tokens of two symbols, and name an answer at some of them.

    x_i = E[a_i] + F[b_i], then a block, a norm, and a linear map to the answers
    """

    def __init__(self, arm, sizes, rng):
        config = TransformerConfig(
            1, WIDTH, HEADS, layers=1, hidden=2 * WIDTH, **ARMS[arm]
        )
        first, second, answers = sizes
        self.E, self.F = (
            nn.Parameter(rng.standard_normal((n, WIDTH), np.float32))
            for n in (first, second)
        )
        self.scheme = POSITIONS[config.positions].scheme(config, True, rng)
        self.block = Block(config, self.scheme, causal=True, rng=rng)
        if arm == "linear":
            context = partial(linear_attention, is_causal=True)
            self.block.self_attn = Heads(WIDTH, HEADS, context, rng=rng)
        self.norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, answers, rng=rng)

    def forward(self, a, b, marks):
        """a (B, n), b (B, n)  ->  scores of the answers (B, m, answers)"""
        x = mg.embedding(a, self.E) + mg.embedding(b, self.F)
        x = self.scheme.embed(x, np.arange(a.shape[1]))
        x, _ = self.block(x, scheme=self.scheme)
        return self.output(self.norm(x[:, marks]))


# -- The tasks -----------------------------------------------------------------------

NAMES, VALUES, READS = 24, 8, 8  # READS: names that are read at the end of a text
READ = 8  # the symbol after the values: this name is read


def distinct(rng, B, n, of):
    """Draw n distinct numbers below ``of`` in each of B rows."""
    return rng.random((B, of), np.float32).argsort(1)[:, :n]


def lookup(rng, B, n=12):
    """Names with values, then names: what is the value of each?"""
    names, values = distinct(rng, B, n, NAMES), rng.integers(VALUES, size=(B, n))
    places = rng.integers(n, size=(B, READS))
    a = np.concatenate([names, pick(names, places)], 1)
    b = np.concatenate([values, np.full_like(places, READ)], 1)
    return a, b, pick(values, places)


def stream(rng, B, n=20, of=6):
    """A name gets a value, and a name is read, in turn."""
    half = n // 2
    names = rng.integers(of, size=(B, half))
    values = rng.integers(VALUES, size=(B, half))
    asked = pick(names, rng.integers(np.arange(1, half + 1), size=(B, half)))
    same = (asked[:, :, None] == names[:, None]) & np.tri(half, dtype=bool)
    y = pick(values, half - 1 - same[..., ::-1].argmax(-1))
    a = np.stack([names, asked], 2)  # a name with its value, then a name that is read
    b = np.stack([values, np.full_like(values, READ)], 2)
    return a.reshape(B, n), b.reshape(B, n), y


def reset(rng, B, n=10):
    """How many symbols 1 stand after the last reset, which is symbol 2?"""
    a = rng.choice(3, (B, n), p=(0.35, 0.5, 0.15))
    ones = (a == 1).cumsum(1)
    before = np.maximum.accumulate(np.where(a == 2, ones, 0), 1)
    return a, np.zeros_like(a), (ones - before)[:, n // 2 :]


class Task(fair.Study):
    """One task: ``texts(rng, B) -> a, b, y``, tokens and the answers at some of them.

    sizes    of the first symbols, of the second symbols, and of the answers
    marks    which tokens have answers
    longer   draws the texts of a second test, beyond the trained length
    """

    arms, rates, warmup = tuple(ARMS), (0.003, 0.01), 24
    held_out = 200, 500

    def __init__(self, name, question, texts, sizes, marks, budget, longer=None):
        self.name, self.question, self.texts = name, question, texts
        self.sizes, self.marks, self.longer = sizes, marks, longer
        self.budget, self.every = budget, budget // 20
        _, _, _, y = self.held[1]  # the share of the most frequent answer:
        self.chance = self.trivial = float(np.bincount(y.ravel()).max() / y.size)

    def model(self, arm, rng):
        return Reader(arm, self.sizes, rng)

    def draw(self, B, *key):
        a, b, y = self.texts(np.random.default_rng(key), B)
        return a, b, self.marks, y

    def test(self, arm, model):
        found = super().test(arm, model)
        if self.longer:
            far = self.beyond
            found["longer"] = float(self.right(model, *far)[:, -READS:].mean())
        return found

    @functools.cached_property
    def beyond(self):
        a, b, y = self.longer(np.random.default_rng(3 * 10**6), 300)
        return a, b, self.marks, y

    def right(self, model, a, b, marks, y):
        return model(a, b, marks).numpy().argmax(-1) == y


def near(a, b, marks, y):
    """Return the share of right answers of one who sees the last ``NEAR`` tokens.

    If the name does not stand there with a value, the most frequent answer is given.
    """
    places = np.arange(a.shape[1])
    reads, y = places[marks][-READS:], y[:, -READS:]  # (m,)
    age = reads[:, None] - places  # (m, n)
    same = (a[:, reads, None] == a[:, None]) & (b < VALUES)[:, None]  # (B, m, n)
    seen = (same & (age >= 0) & (age < NEAR)).any(-1)
    return float(np.mean(seen | (y == np.bincount(y.ravel()).argmax())))


def tasks():
    """Return the three tasks."""
    pair, half = (NAMES, READ + 1, VALUES), slice(5, None)  # half: which have answers
    reads, odd, long = slice(-READS, None), slice(1, None, 2), partial(stream, n=80)
    return [
        Task("lookup", "the value of one of 12 names", lookup, pair, reads, 800),
        Task("reset", "how many since the reset", reset, (3, 1, 11), half, 1200),
        Task("streams", "the last value of a name", stream, pair, odd, 600, long),
    ]


if __name__ == "__main__":
    study("tournament", tasks())
