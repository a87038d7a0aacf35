"""Ten tasks, and the attention of a decade: the record of lesson 20.

    python -m lessons experiment 20

One small model, whose attention alone differs between the arms, learns ten tasks. Each
arm has three learning rates and five seeds in each task. Some half an hour on two
cores.
"""

import functools
from functools import partial

import numpy as np

import attention
import minigrad as mg
from attention import (
    block_attention,
    linear_attention,
    masks,
    scaled_dot_product_attention,
)
from attention.transformer import Block, TransformerConfig
from attention.variants.recurrent_heads import RecurrentHeads
from attention.variants.table import POSITIONS
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import pick
from lessons.instrument.layers import Heads
from minigrad import nn

WIDTH, HEADS, LAYERS = 32, 2, 1
WINDOW = 8  # keys of the window, and of the chosen blocks

# -- The arms ------------------------------------------------------------------------


def attending(context, **options):
    """Return heads that attend by a function of q, k, v and these options."""
    return partial(Heads, context=partial(context, **options))


class Latent(attention.LatentAttention):
    """Attend to keys and values that are made from a vector of 8 numbers."""

    def __init__(self, width, num_heads, rng):
        super().__init__(width, num_heads, latent=8, rotated=4, rng=rng)

    def forward(self, x, **options):
        return super().forward(x, is_causal=True)


class Induced(attention.ISAB):
    """Read a set by way of 8 learned vectors, in both directions."""

    def __init__(self, width, num_heads, rng):
        super().__init__(width, num_heads, 8, rng)

    def forward(self, x, **options):
        return super().forward(x)


class Fixed(nn.Module):
    """A gate that does not depend on the token: sigmoid(c)."""

    def __init__(self, c):
        self.c = c

    def forward(self, x):
        """x (B, n, D)  ->  (B, n, H)"""
        return mg.Tensor(np.broadcast_to(self.c, (*x.shape[:2], HEADS)))


def with_decay(kind, a):
    """Return heads with a state whose decay a is a number for each head."""

    def build(width, num_heads, rng):
        layer = RecurrentHeads(width, num_heads, kind, rng=rng)
        layer.W_a = Fixed((np.log(a) - np.log1p(-a)).astype(np.float32))
        return layer

    return build


RETNET = np.exp(attention.retnet_log_decay(HEADS))[:, 0]
ROPE, NONE = {"positions": "rope"}, {"positions": "none"}
SINES = {"positions": "sinusoidal"}
NEAR = masks.sliding_window(WINDOW - 1, 0)
ARMS = {  # arm: (options of a TransformerConfig, a layer in place of its attention)
    "softmax": (ROPE, None),
    "no positions": (NONE, None),
    "ALiBi": ({"positions": "alibi"}, None),
    "CoPE": ({"positions": "cope", "max_distance": 40}, None),
    "sink": (ROPE | {"attention": "sink"}, None),
    "sparsemax": (ROPE | {"attention": "sparsemax"}, None),
    "sigmoid": (ROPE | {"attention": "sigmoid"}, None),
    "stick-breaking": (NONE | {"attention": "stick-breaking"}, None),
    "QK-norm": (ROPE | {"attention": "qk-norm"}, None),
    "forgetting": (NONE | {"attention": "forgetting"}, None),
    "one key head": (ROPE | {"key_heads": 1}, None),
    "latent (MLA)": (NONE, Latent),
    "window": (ROPE, attending(scaled_dot_product_attention, attn_mask=NEAR)),
    "chosen blocks": (ROPE, attending(block_attention, block=WINDOW // 2, best=2)),
    "linear": (SINES, attending(linear_attention, is_causal=True)),
    "fixed decay": (NONE, with_decay("decay", RETNET)),
    "decay": (NONE | {"attention": "decay"}, None),
    "delta": (NONE, with_decay("delta", 1 - 1e-6)),
    "gated delta": (NONE | {"attention": "delta"}, None),
    "ISAB": (SINES, Induced),
}


class Reader(nn.Module):
    """Read tokens of two symbols, and name an answer at each of the last tokens.

    x_i = E[a_i] + F[b_i], then blocks, a norm, and a linear map to the answers
    """

    def __init__(self, arm, sizes, rng):
        options, layer = ARMS[arm]
        config = TransformerConfig(
            1, WIDTH, HEADS, layers=LAYERS, hidden=2 * WIDTH, **options
        )
        first, second, answers = sizes
        self.E, self.F = (
            nn.Parameter(rng.standard_normal((n, WIDTH), np.float32))
            for n in (first, second)
        )
        self.scheme = POSITIONS[config.positions].scheme(config, True, rng)
        self.blocks = [
            Block(config, self.scheme, causal=True, rng=rng) for _ in range(LAYERS)
        ]
        if layer is not None:
            for block in self.blocks:
                block.self_attn = layer(WIDTH, HEADS, rng=rng)
                block.has_state = isinstance(block.self_attn, RecurrentHeads)
        self.norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, answers, rng=rng)

    def forward(self, a, b, marks):
        """a (B, n), b (B, n)  ->  scores of the answers (B, m, answers)"""
        x = mg.embedding(a, self.E) + mg.embedding(b, self.F)
        x = self.scheme.embed(x, np.arange(a.shape[1]))
        for block in self.blocks:
            x, _ = block(x, scheme=self.scheme)
        return self.output(self.norm(x[:, marks]))


# -- The tasks -----------------------------------------------------------------------

NAMES, VALUES, READS = 64, 8, 8  # READS: names that are read at the end of a text
READ, FILLER, NOTHING = 8, 9, 8  # symbols after the values; the answer "none"
ANSWERS_INSIDE = "counting", "sorting", "copying", "reset"


def fits(arm, task):
    """Return whether an arm may learn a task.

    A model that reads in both directions would see the answers where later tokens
    contain them, or the symbols that are not to be counted yet.
    """
    return arm != "ISAB" or task not in ANSWERS_INSIDE


def distinct(rng, B, n, of):
    """Draw n distinct numbers below ``of`` in each of B rows."""
    return rng.random((B, of), np.float32).argsort(1)[:, :n]


def read_after(names, values, asked):
    """Return the two symbols of the tokens: pairs, then names to be read."""
    marks = np.full(asked.shape, READ)
    return np.concatenate([names, asked], 1), np.concatenate([values, marks], 1)


def last_value(names, values, asked):
    """Return the last value of each asked name.    (B, n), (B, n), (B, m) -> (B, m)"""
    same = asked[:, :, None] == names[:, None]  # (B, m, n)
    return pick(values, names.shape[1] - 1 - same[..., ::-1].argmax(-1))


def lookup(rng, B, n=28, of=56, missing=0, filler=0):
    """Names with values, then names: what is the value of each?"""
    names, values = distinct(rng, B, n + missing, of), rng.integers(VALUES, size=(B, n))
    places = rng.integers(n + missing, size=(B, READS))
    nothing = np.full((B, missing), NOTHING)
    y = pick(np.concatenate([values, nothing], 1), places)
    asked, names = pick(names, places), names[:, :n]
    names = np.concatenate([names, rng.integers(of, of + 8, size=(B, filler))], 1)
    values = np.concatenate([values, np.full((B, filler), FILLER)], 1)
    return *read_after(names, values, asked), y


def overwritten(rng, B, n=16, of=6):
    """Names get values again and again; what is the last value of each?"""
    names, values = rng.integers(of, size=(B, n)), rng.integers(VALUES, size=(B, n))
    asked = pick(names, rng.integers(n, size=(B, READS)))
    return *read_after(names, values, asked), last_value(names, values, asked)


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


def counting(rng, B, n=20, of=4):
    """How often has this symbol occurred so far?"""
    a = rng.integers(of, size=(B, n))
    so_far = ((a[:, :, None] == a[:, None]) & np.tri(n, dtype=bool)).sum(-1)
    return a, np.zeros_like(a), so_far[:, n // 2 :]


def reset(rng, B, n=20):
    """How many symbols 1 stand after the last reset, which is symbol 2?"""
    a = rng.choice(3, (B, n), p=(0.45, 0.45, 0.1))
    ones = (a == 1).cumsum(1)
    before = np.maximum.accumulate(np.where(a == 2, ones, 0), 1)
    return a, np.zeros_like(a), (ones - before)[:, n // 2 :]


def written_after(source, target):
    """Return the tokens of a source, a start, and of all of the target but the last."""
    a = np.concatenate([source, 0 * source[:, :1], target[:, :-1]], 1)
    kinds = [0] * source.shape[1] + [1] + [2] * (target.shape[1] - 1)
    return a, np.broadcast_to(kinds, a.shape), target


def sorting(rng, B, n=10, of=32):
    """Write the numbers in their order."""
    source = distinct(rng, B, n, of)
    return written_after(source, np.sort(source, 1))


def copying(rng, B, n=10, of=3):
    """Write the symbols again."""
    source = rng.integers(of, size=(B, n))
    return written_after(source, source)


def largest(rng, B, n=15, kinds=3, of=16):
    """A set of numbers of several kinds: what is the largest of each kind?"""
    a, b = rng.integers(kinds, size=(B, n)), rng.integers(of, size=(B, n))
    asked = distinct(rng, B, kinds, kinds)
    same = asked[:, :, None] == a[:, None]
    y = np.where(same, b[:, None], -1).max(-1)
    b = np.concatenate([b, np.full_like(asked, of)], 1)
    return np.concatenate([a, asked], 1), b, np.where(y < 0, of, y)


@functools.cache
def held_out(draw, rows, key):
    """Draw data that training has not seen; the answers are the last of each text."""
    a, b, y = draw(np.random.default_rng((10**6, key)), rows)
    return a, b, y[:, -READS:]


class Task(fair.Study):
    """One task: ``texts(rng, B) -> a, b, y``, tokens and the answers at some of them.

    sizes    of the first symbols, of the second symbols, and of the answers
    marks    which tokens have answers
    longer   draws the texts of validation and test; None: ``texts``
    """

    rates, warmup = (0.003, 0.01, 0.03), 24

    def __init__(self, name, question, texts, sizes, marks, budget=500, longer=None):
        self.name, self.question, self.texts = name, question, texts
        self.sizes, self.marks, self.longer = sizes, marks, longer or texts
        self.budget, self.every = budget, budget // 41  # 24 validations in 60 % of it
        self.arms = tuple(arm for arm in ARMS if fits(arm, name))
        self.chance = self.trivial = self.most_frequent()

    def most_frequent(self):
        """Return the share of the most frequent answer."""
        _, _, y = held_out(self.longer, 1000, 3)
        return float(np.bincount(y.ravel()).max() / y.size)

    def model(self, arm, rng):
        return Reader(arm, self.sizes, rng)

    def draw(self, B, *key):
        a, b, y = self.texts(np.random.default_rng(key), B)
        return a, b, self.marks, y

    @functools.cached_property
    def held(self):
        drawn = [held_out(self.longer, *each) for each in ((100, 1), (500, 2))]
        return [(a, b, self.marks, y) for a, b, y in drawn]

    def right(self, model, a, b, marks, y):
        return model(a, b, marks).numpy().argmax(-1)[:, -READS:] == y


def near(task, w=WINDOW):
    """Return the share of right answers of one who sees the last w tokens.

    If the name does not stand there with a value, the most frequent answer is given.
    For tasks in which names are read.
    """
    a, b, y = held_out(task.longer, 1000, 3)
    places = np.arange(a.shape[1])
    reads = places[task.marks][-READS:]  # (m,)
    age = reads[:, None] - places  # (m, n)
    same = (a[:, reads, None] == a[:, None]) & (b < VALUES)[:, None]  # (B, m, n)
    seen = (same & (age >= 0) & (age < w)).any(-1)
    return float(np.mean(seen | (y == np.bincount(y.ravel()).argmax())))


def tasks():
    """Return the ten tasks."""
    reads, later = slice(-READS, None), slice(10, None)  # which tokens have answers
    pair = NAMES, FILLER + 1, VALUES + 1
    short = partial(lookup, n=10, of=32, missing=10)
    some, long = partial(lookup, n=6, of=12, filler=18), partial(stream, n=80)
    return [
        Task("lookup", "the value of one of 28 names", lookup, pair, reads),
        Task("nothing", "the value of one of 10 names, or none", short, pair, reads),
        Task("overwritten", "the last of several values", overwritten, pair, reads),
        Task("far", "a value that is 19 to 31 tokens away", some, pair, reads),
        Task("counting", "how often so far", counting, (4, 1, 21), later, 1000),
        Task("sorting", "the next number in order", sorting, (32, 3, 32), later),
        Task("copying", "the same again", copying, (3, 3, 3), later),
        Task("reset", "how many since the reset", reset, (3, 1, 21), later, 1000),
        Task("sets", "the largest of a kind", largest, (3, 17, 17), slice(-3, None)),
        Task("streams", "the last value, in a text four times as long", stream, pair,
             slice(1, None, 2), longer=long),
    ]  # fmt: skip


if __name__ == "__main__":
    study("tournament", tasks())
