"""What does a small cache lose? The record of lesson 17.

    python -m lessons experiment 17

    lookup   names are told, with eight values each, and asked for; by bytes of a cache
    stream   texts of 1024 tokens, after a training with 64

Smaller caches of the trained models are tests of them, without further training: a
window, a window and the first token, the tokens that were read most, and all tokens in
8 bits.

Each arm has three learning rates and five seeds. Some ten minutes on two cores.
"""

import numpy as np

import attention
import minigrad as mg
from attention import masks, scaled_dot_product_attention
from attention.exact.multihead import heads, side_by_side
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import pick, shuffled
from minigrad import nn, reshape

# -- A lookup among many pairs ---------------------------------------------------------

NAMES, TOLD, PARTS, VALUES = 16, 12, 8, 8
D, H = 32, 4
# 4 names are told, then each second token asks, then all ask
TELLS = np.array([True] * 4 + [True, False] * 8 + [False] * 8)
N = len(TELLS)  # tokens of a text
ASKS = np.flatnonzero(~TELLS)
FAVOURITE = 4  # every fourth name is one; half of the questions ask for these


def texts(B, *key):
    """Draw tokens x (B, N, NAMES + PARTS VALUES), and the answers (B, asks, PARTS).

    A token has the one-hot name and, if it tells, a one-hot value for each part.
    """
    rng, rows = np.random.default_rng(key), np.arange(B)[:, None]
    names = shuffled(rng, B, NAMES)[:, :TOLD]
    values = rng.integers(VALUES, size=(B, TOLD, PARTS))
    so_far = np.cumsum(TELLS)[ASKS]  # names told before each question
    u, favourite = rng.random((2, B, len(ASKS)))
    some = FAVOURITE * np.floor(u * np.ceil(so_far / FAVOURITE))
    asked = np.where(favourite < 0.5, some, np.floor(u * so_far)).astype(int)
    x = np.zeros((B, N, NAMES + PARTS * VALUES), np.float32)
    tells = np.flatnonzero(TELLS)
    x[rows, tells, names] = 1
    for part in range(PARTS):
        x[rows, tells, NAMES + VALUES * part + values[..., part]] = 1
    x[rows, ASKS, pick(names, asked)] = 1
    return x, values[rows, asked]


def causal(q, k, v):
    """q (B, H, n, E), k, v (B, Hk, n, E)  ->  o (B, H, n, E)"""
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


class Heads(nn.Module):
    """H heads of width E that read Hk key heads, with projections of any width."""

    def __init__(self, key_heads, E, rng):
        self.W_q = nn.Linear(D, H * E, bias=False, rng=rng)
        self.W_k = nn.Linear(D, key_heads * E, bias=False, rng=rng)
        self.W_v = nn.Linear(D, key_heads * E, bias=False, rng=rng)
        self.W_o = nn.Linear(H * E, D, bias=False, rng=rng)
        self.key_heads = key_heads

    def forward(self, x, attend):
        """x (B, n, D), a function such as ``causal``  ->  (B, n, D)"""
        k, v = (heads(W, x, self.key_heads) for W in (self.W_k, self.W_v))
        return self.W_o(side_by_side(attend(heads(self.W_q, x, H), k, v)))


class Latent(attention.LatentAttention):
    """``LatentAttention`` with the arguments of ``Heads``."""

    def forward(self, x, attend):
        return super().forward(x, is_causal=True)


class Reader(nn.Module):
    """A layer of attention and a network: x (B, N, …) -> (B, asks, PARTS, VALUES)"""

    def __init__(self, layer, rng):
        self.embedding = nn.Linear(NAMES + PARTS * VALUES, D, rng=rng)
        self.attention = layer
        self.norms = [nn.LayerNorm(D) for _ in range(3)]
        self.wide = nn.Linear(D, 2 * D, rng=rng)
        self.back = nn.Linear(2 * D, D, rng=rng)
        self.output = nn.Linear(D, PARTS * VALUES, rng=rng)

    def forward(self, x, attend=causal):
        x = self.embedding(x)
        x = (x + self.attention(self.norms[0](x), attend))[:, ASKS]
        x = x + self.back(mg.relu(self.wide(self.norms[1](x))))
        z = self.output(self.norms[2](x))
        return reshape(z, (*z.shape[:2], PARTS, VALUES))


FORMS = {  # name: what makes the layer; numbers of a token in the cache
    "4 key heads": (lambda rng: Heads(4, 4, rng), 32),
    "2 key heads": (lambda rng: Heads(2, 4, rng), 16),
    "1 key head": (lambda rng: Heads(1, 4, rng), 8),
    "narrow heads": (lambda rng: Heads(4, 1, rng), 8),
    "MLA": (lambda rng: Latent(D, H, 6, 2, rng), 8),
}


class Lookups(fair.Study):
    """Which value has each part of a name that was told?"""

    name, question = "lookup", "What does a small cache lose?"
    measure, chance = "share of right values", 1 / VALUES
    arms = tuple(FORMS)
    rates, budget, every = (0.003, 0.01, 0.03), 1500, 150
    draw, batch, held_out = staticmethod(texts), 16, (100, 300)

    def model(self, arm, rng):
        return Reader(FORMS[arm][0](rng), rng)

    def test(self, arm, model):
        """Return the share; for 4 key heads also those of smaller caches."""
        (x, y), result = self.held[1], super().test(arm, model)
        if arm == "4 key heads":
            result["small"] = {
                way: {str(n): self.figure(model, x, cached(way, n), y) for n in BUDGETS}
                for way in ("window", "evict")
            }
            result["bits"] = self.figure(model, x, eight_bits, y)
        return result


def products(L, n, H, E, R, F):
    """Return the multiplications of latent attention: (expanded, absorbed).

    Those of L queries and n tokens; exercise E.23 derives both.
    """
    expanded = 2 * n * H * E * R + L * n * H * (2 * E + F)
    absorbed = 2 * L * H * E * R + L * n * H * (2 * R + F)
    return expanded, absorbed


BUDGETS = (4, 8, 14, 21)


def cached(way, budget, rotate=None):
    """Return a function as ``causal`` that computes token by token with a SmallCache.

    The heads of all texts are those of one cache: none sees another.
    """
    sinks = {"window": 0, "stream": 1, "evict": 0}[way]
    recent = budget // 4 if way == "evict" else budget - sinks

    def attend(q, k, v):
        cache = attention.SmallCache(budget, recent, sinks, rotate)
        flat = [reshape(x, (-1, *x.shape[2:])) for x in (q, k, v)]  # (B H, n, E)
        steps = range(q.shape[2])
        o = [cache.step(*(x[:, t] for x in flat))[0] for t in steps]
        return reshape(mg.stack(o, 1), q.shape)

    return attend


def eight_bits(q, k, v):
    """Compute as ``causal``, with keys and values of 8 bits.

    A channel of the keys and a token of the values share a scale.
    """
    k, v = (
        mg.Tensor(attention.dequantize(*attention.quantize(x.data, axis)))
        for x, axis in ((k, -2), (v, -1))
    )
    return causal(q, k, v)


# -- A text that goes on ---------------------------------------------------------------

WIDTH, NUMBERS, TRAINED, LONG, WINDOW = 16, 8, 64, 1024, 16
FARTHEST = 8  # tokens back, of an answer


def endless(B, n, *key):
    """Draw tokens x (B, n, 1 + 2 WIDTH + NUMBERS), answers (B, n, NUMBERS), kinds.

    The first token is the same in all texts. Each later one tells the value N(0, 1) of
    a name of random entries +-1, and asks for a name: 1, one told 1 to 8 tokens before,
    or 2, one that was never told, and the answer is 0. It is 0 for the first token.
    """
    rng, rows = np.random.default_rng(key), np.arange(B)[:, None]
    told, other = rng.choice(np.float32([-1, 1]), (2, B, n, WIDTH))
    value = rng.standard_normal((B, n, NUMBERS), np.float32)
    kind = rng.integers(1, 3, size=(B, n))
    place = np.arange(n) - rng.integers(1, FARTHEST + 1, size=(B, n))
    kind[place < 1], kind[:, 0] = 2, 0
    found = (kind == 1)[..., None]
    asked = np.where(found, told[rows, np.maximum(place, 0)], other)
    x = np.concatenate([np.zeros((B, n, 1), np.float32), told, asked, value], 2)
    x[:, 0] = np.eye(x.shape[2])[0]
    return x, value[rows, place] * found, kind


class Listener(nn.Module):
    """One head of attention, whose context is the answer; an arm has a learned sink."""

    def __init__(self, arm, rng):
        self.W_q, self.W_k, self.W_v = (
            nn.Linear(1 + 2 * WIDTH + NUMBERS, D, rng=rng) for _ in range(3)
        )
        self.W_o = nn.Linear(D, NUMBERS, bias=False, rng=rng)
        self.b = nn.Parameter(np.zeros((), np.float32)) if arm == "sink" else None

    def forward(self, x, attend):
        """x (B, n, …), a function as ``rotated()``  ->  answers (B, n, NUMBERS)"""
        q, k, v = (heads(W, x, 1) for W in (self.W_q, self.W_k, self.W_v))
        return self.W_o(attend(q, k, v, self.b)[:, 0])


def rotated(mask=None):
    """Return a function as ``causal`` that rotates by the positions in the text."""

    def attend(q, k, v, b=None):
        p = np.arange(q.shape[2])
        q, k = (attention.rope(x, p) for x in (q, k))
        normalize = None if b is None else attention.Sink(b=b)
        return scaled_dot_product_attention(
            q, k, v, mask, is_causal=True, normalize=normalize
        )

    return attend


def streamed(q, k, v, b=None):
    """Compute as ``rotated`` with a window and the first token, token by token."""
    return cached("stream", WINDOW, attention.rope)(q, k, v)


NEAR = masks.sliding_window(WINDOW - 1, 0)
WAYS = {
    "all": rotated(),
    "window": rotated(NEAR),
    "stream": streamed,
    "far first": rotated(NEAR | masks.global_tokens([0])),
}


class Streams(fair.Explaining):
    """Which value has a name, if it was told? Texts of 64 tokens in training."""

    name, question = "stream", "Which cache can read a text that goes on?"
    arms = ("softmax", "sink")
    rates, budget, every = (0.003, 0.01, 0.03), 500, 50
    ceiling = np.inf  # what is solved with 64 tokens may still change with 1024
    model, held_out = staticmethod(Listener), (100, 300)

    def draw(self, B, *key):
        return endless(B, TRAINED, *key)

    def loss(self, model, x, y, kind):
        asks = np.nonzero(kind)
        return ((model(x, rotated())[asks] - y[asks]) ** 2).mean()

    def figure(self, model, *data):
        return along(model, data, rotated(), 1)[0]

    def test(self, arm, model):
        """Return the share in texts as in training, and along texts of 1024 tokens."""
        data = endless(16, LONG, 3 * 10**6)
        ways = WAYS if arm == "softmax" else ("all", "window")
        long = {way: along(model, data, WAYS[way], 16) for way in ways}
        return super().test(arm, model) | {"long": long, "first": on_the_first(model)}


def along(model, data, attend, parts):
    """Return the explained shares in each of so many parts of the texts."""
    x, y, kind = data
    error = (model(x, attend).numpy() - y) ** 2 * (kind > 0)[..., None]  # (B, n, …)
    pairs = zip(*(np.split(a, parts, 1) for a in (error, y**2)))
    return [float(1 - e.sum() / square.sum()) for e, square in pairs]


def on_the_first(model):
    """Return the mean weight of the first token, where a name was never told.

    It is read off a value that is 1 for the first token, and 0 for the others.
    """
    x, _, kind = endless(100, TRAINED, 4 * 10**6)
    weights = []

    def attend(q, k, v, b=None):
        first = np.zeros(v.shape, np.float32)
        first[:, :, 0] = 1
        weights.append(rotated()(q, k, mg.Tensor(first), b).data[:, 0, :, 0])  # (B, n)
        return rotated()(q, k, v, b)

    model(x, attend)
    return float(weights[0][kind == 2].mean())


if __name__ == "__main__":
    study("caches", [Lookups(), Streams()])
