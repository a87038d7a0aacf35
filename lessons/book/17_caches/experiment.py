"""What does a small cache lose? The record of lesson 17.

    python -m lessons experiment 17

    lookup   names are told, with eight values each, and asked for; by bytes of the cache
    stream   texts of 1024 tokens, after a training with 64
    noisy    one of 32 keys, by a noisy query: differential attention
    minus    the value of one key minus the mean of all values

Smaller caches of the trained model with 4 key heads are tests of it, without further
training: a window, a window and the first token, the tokens that were read most, and
all tokens in 8 bits.

Each arm has three or four learning rates and five seeds. Some eight minutes on two
cores.
"""

import numpy as np

import attention
import minigrad as mg
from attention import masks, scaled_dot_product_attention
from attention.exact.multihead import heads, side_by_side
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import pick, shuffled, vectors
from minigrad import nn, reshape

# -- A lookup among many pairs ---------------------------------------------------------

NAMES, TOLD, PARTS, VALUES = 24, 20, 8, 8
D, H, LAYERS = 32, 4, 2
# 8 names are told, then each second token asks, then all ask
TELLS = np.array([True] * 8 + [True, False] * 12 + [False] * 16)
N = len(TELLS)  # tokens of a text
ASKS = np.flatnonzero(~TELLS)
FAVOURITE = 8  # every eighth name is one; half of the questions ask for these


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

    def __init__(self, key_heads, E, rng, own_keys=True):
        self.W_q = nn.Linear(D, H * E, bias=False, rng=rng)
        self.W_o = nn.Linear(H * E, D, bias=False, rng=rng)
        self.key_heads = key_heads
        if own_keys:
            self.W_k = nn.Linear(D, key_heads * E, bias=False, rng=rng)
            self.W_v = nn.Linear(D, key_heads * E, bias=False, rng=rng)

    def forward(self, x, shared, attend):
        """x (B, n, D), shared (k, v) of another layer or None  ->  out, (k, v)"""
        if shared is None:
            k, v = (heads(W, x, self.key_heads) for W in (self.W_k, self.W_v))
        else:
            k, v = shared
        o = attend(heads(self.W_q, x, H), k, v)
        return self.W_o(side_by_side(o)), (k, v)


class Latent(attention.LatentAttention):
    """``LatentAttention`` with the arguments of ``Heads``."""

    def forward(self, x, shared, attend):
        return super().forward(x, is_causal=True), None


class Reader(nn.Module):
    """Layers of attention and of a network: x (B, N, …) -> (B, asks, PARTS, VALUES)"""

    def __init__(self, layers, rng):
        self.embedding = nn.Linear(NAMES + PARTS * VALUES, D, rng=rng)
        self.layers = layers
        self.norms = [nn.LayerNorm(D) for _ in range(2 * len(layers) + 1)]
        self.wide = [nn.Linear(D, 2 * D, rng=rng) for _ in layers]
        self.back = [nn.Linear(2 * D, D, rng=rng) for _ in layers]
        self.output = nn.Linear(D, PARTS * VALUES, rng=rng)

    def forward(self, x, attend=causal):
        x, shared = self.embedding(x), None
        for i, layer in enumerate(self.layers):
            own = hasattr(layer, "W_k")
            y, keys = layer(self.norms[2 * i](x), None if own else shared, attend)
            x, shared = x + y, keys
            hidden = mg.relu(self.wide[i](self.norms[2 * i + 1](x)))
            x = x + self.back[i](hidden)
        z = self.output(self.norms[-1](x))[:, ASKS]
        return reshape(z, (*z.shape[:2], PARTS, VALUES))


FORMS = {  # name: what makes a layer; numbers in the cache, a token and layer
    "4 key heads": (lambda rng, i: Heads(4, 4, rng), 32),
    "2 key heads": (lambda rng, i: Heads(2, 4, rng), 16),
    "1 key head": (lambda rng, i: Heads(1, 4, rng), 8),
    "narrow heads": (lambda rng, i: Heads(4, 1, rng), 8),
    "MLA, R = 14": (lambda rng, i: Latent(D, H, 14, 2, rng), 16),
    "MLA, R = 6": (lambda rng, i: Latent(D, H, 6, 2, rng), 8),
    "MLA, R = 2": (lambda rng, i: Latent(D, H, 2, 2, rng), 4),
    "shared": (lambda rng, i: Heads(4, 4, rng, own_keys=i == 0), 16),
}


class Lookups(fair.Study):
    """Which value has each part of a name that was told?"""

    name, question = "lookup", "What does a small cache lose?"
    measure, chance = "share of right values", 1 / VALUES
    arms = tuple(FORMS)
    rates, every, warmup = (0.005, 0.01, 0.02), 20, 20
    choosing = 101, 102
    budget = least = 1500  # some runs stand still for 200 steps, or learn slowly
    draw, batch, held_out = staticmethod(texts), 24, (60, 200)

    def model(self, arm, rng):
        return Reader([FORMS[arm][0](rng, i) for i in range(LAYERS)], rng)

    def test(self, arm, model):
        """Return the share; for 4 key heads also those of smaller caches."""
        (x, y), result = self.held[1], super().test(arm, model)
        if arm == "4 key heads":
            result["small"] = {
                way: {str(n): self.figure(model, x, cached(way, n), y) for n in BUDGETS}
                for way in ("window", "stream", "evict")
            }
            result["bits"] = {
                each: self.figure(model, x, eight_bits(each), y) for each in SCALES
            }
        return result


def products(L, n, H, E, R, F):
    """Return the multiplications of latent attention: (expanded, absorbed).

    Those of L queries and n tokens; exercise E.23 derives both.
    """
    expanded = 2 * n * H * E * R + L * n * H * (2 * E + F)
    absorbed = 2 * L * H * E * R + L * n * H * (2 * R + F)
    return expanded, absorbed


BUDGETS = (6, 12, 24, 36)
SCALES = {"keys by channel": (-2, -1), "keys by token": (-1, -1)}  # axes of k and v


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


def eight_bits(scales):
    """Return a function as ``causal`` that reads keys and values of 8 bits."""

    def attend(q, k, v):
        k, v = (
            mg.Tensor(attention.dequantize(*attention.quantize(x.data, axis)))
            for x, axis in zip((k, v), SCALES[scales])
        )
        return causal(q, k, v)

    return attend


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
    """One head of attention, whose context is the answer; for one arm a learned sink."""

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
    rates, every, warmup = (0.003, 0.01, 0.03, 0.1), 20, 20
    budget, least = 1000, 480
    model, held_out = staticmethod(Listener), (100, 300)

    def draw(self, B, *key):
        return endless(B, TRAINED, *key)

    def loss(self, model, x, y, kind):
        asks = np.nonzero(kind)
        return ((model(x, rotated())[asks] - y[asks]) ** 2).mean()

    def figure(self, model, *data):
        return along(model, data, rotated(), 1)["both"][0]

    def test(self, arm, model):
        """Return the share in texts as in training, and along texts of 1024 tokens."""
        result = super().test(arm, model)
        data = endless(16, LONG, 3 * 10**6)
        ways = [way for way in WAYS if arm == "softmax" or way != "stream"]
        long = {way: along(model, data, WAYS[way], 16) for way in ways}
        return result | {"long": long, "first": on_the_first(model)}


def along(model, data, attend, parts):
    """Return explained shares in each of so many parts of the texts.

    "both" of all questions, "found" and "none" the mean squared errors of the kinds.
    """
    x, y, kind = data
    error = ((model(x, attend).numpy() - y) ** 2).mean(-1)  # (B, n)
    found = {"both": [], "found": [], "none": []}
    square = (y**2).mean(-1)
    for e, s, c in zip(*(np.split(a, parts, 1) for a in (error, square, kind))):
        found["both"].append(float(1 - e[c > 0].sum() / s.sum()))
        found["found"].append(float(e[c == 1].mean()))
        found["none"].append(float(e[c == 2].mean()))
    return found


def on_the_first(model):
    """Return the mean weight of the first token, for names found and not found.

    It is read off a value that is 1 for the first token, and 0 for the others.
    """
    x, _, kind = endless(100, TRAINED, 4 * 10**6)
    weights = []

    def attend(q, k, v, b=None):
        first = np.zeros(v.shape, np.float32)
        first[:, :, 0] = 1
        weights.append(rotated()(q, k, mg.Tensor(first), b).data[..., 0])  # (B, H, n)
        return rotated()(q, k, v, b)

    model(x, attend)
    p = weights[0][:, 0]  # (B, n)
    return {"found": float(p[kind == 1].mean()), "none": float(p[kind == 2].mean())}


# -- A key apart from the others -------------------------------------------------------

KEY, VALUE, MANY = 32, 8, 512


def asked(B, n, noise, *key):
    """Draw q (B, 1, 32), k (B, n, 32), v (B, n, 8), and the place (B,) of the key."""
    rng, rows = np.random.default_rng(key), np.arange(B)
    k = vectors(rng, B, n, KEY)
    v = 1 + rng.standard_normal((B, n, VALUE), np.float32)
    place = rng.integers(n, size=B)
    q = k[rows, place] + noise * rng.standard_normal((B, KEY), np.float32)
    return q[:, None], k, v, place


class Finder(nn.Module):
    """One softmax, the difference of two, or two heads that share their values."""

    def __init__(self, arm, rng):
        self.W = [nn.Linear(KEY, KEY, bias=False, rng=rng) for _ in range(2)]
        if arm == "softmax":
            self.W = self.W[:1]
        if arm == "differential":
            self.lam = nn.Parameter(np.array(0.5, np.float32))
        self.output = nn.Linear(VALUE * (1 + (arm == "two heads")), VALUE, rng=rng)
        self.arm = arm

    def forward(self, q, k, v):
        queries = [W(q) for W in self.W]
        if self.arm == "differential":
            o = attention.differential(queries[0], k, queries[1], k, v, self.lam)
        else:
            parts = [scaled_dot_product_attention(q, k, v) for q in queries]
            o = mg.concat(parts, -1)
        return self.output(o)[:, 0]


class Apart(fair.Explaining):
    """Find one of 32 keys by a noisy query."""

    name, question = "noisy", "Does a difference of softmaxes find better?"
    arms = ("softmax", "differential", "two heads")
    rates, every, warmup = (0.001, 0.003, 0.01, 0.03), 20, 20
    choosing = 101, 102, 103
    budget = least = 1500  # a softmax may stand still for some hundred steps
    noise, keys = 1.5, 32
    model, batch = staticmethod(Finder), 64

    def draw(self, B, *key, n=None):
        *x, place = asked(B, n or self.keys, self.noise, *key)
        return *x, self.wanted(x[2], place)

    def wanted(self, v, place):
        return v[np.arange(len(v)), place]

    def test(self, arm, model):
        many = self.draw(500, 3 * 10**6, n=MANY)
        result = super().test(arm, model) | {"many": self.figure(model, *many)}
        if arm == "differential":
            result["lambda"] = float(model.lam.data)
        return result


class Minus(Apart):
    """Find one of 8 keys without noise; its value minus the mean of all values."""

    name, question = "minus", "Who can subtract what all keys have in common?"
    noise, keys = 0.0, 8

    def wanted(self, v, place):
        return super().wanted(v, place) - v.mean(1)


def task():
    """Return the sizes of the tasks."""
    return {
        "tokens": N, "layers": LAYERS, "heads": H, "width": D, "told": TOLD,
        "parts": PARTS, "asks": len(ASKS), "favourites": len(range(0, TOLD, FAVOURITE)),
        "numbers": {arm: size for arm, (_, size) in FORMS.items()},
        "budgets": BUDGETS, "trained": TRAINED, "long": LONG, "window": WINDOW,
        "farthest": FARTHEST,
    }  # fmt: skip


if __name__ == "__main__":
    study("caches", [Lookups(), Streams(), Apart(), Minus()], task)
