"""Caches of a fixed size: which tokens to keep, and with how many bits.

A decoder whose cache holds ``budget`` tokens removes one token a step. ``SmallCache``
keeps the first ``sinks`` tokens, the newest ``recent`` ones, and of the others those
with the largest sums of weights so far, in each head on its own.

    budget = recent                a window
    budget = sinks + recent        a stream: a window, and the first tokens
    budget > sinks + recent        heavy hitters: tokens that were read most stay

Trained models often put much weight on the first token, whatever it is, because a
softmax has to put it somewhere. A window that loses it changes all weights at once.
Positions are counted inside the cache, not in the text, so that no distance is longer
than in the training. With a budget of all tokens, nothing is removed: this is exact.

``quantize`` stores numbers in 8 bits, x ~ zero + scale * code. Keys often have a few
channels with large numbers, so keys need a scale for each channel, and values one for
each token.

Xiao et al. 2024 (streams); Zhang et al. 2023 (heavy hitters); Liu et al. 2024 (bits).
"""

import numpy as np

from minigrad import concat, stack, unsqueeze
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..template import attend
from .row import Variant


class SmallCache:
    """Keys and values of a decoder, at most ``budget`` in each head.

    rotate   a function (x, positions) -> x such as ``rope``; keys are stored before
             their rotation
    """

    def __init__(self, budget, recent, sinks=0, rotate=None):
        self.budget = whole("SmallCache", "budget", budget, least=1)
        self.recent = whole("SmallCache", "recent", recent, least=1, most=budget)
        self.sinks = whole("SmallCache", "sinks", sinks, most=budget - recent)
        self.rotate = rotate
        self.key = self.value = None  # (H, n, E), (H, n, Ev)
        self.sums = np.zeros((1, 0))  # of the weights so far: (H, n)

    @property
    def length(self):
        """The number of tokens in the cache."""
        return 0 if self.key is None else self.key.shape[1]

    @shapes
    def step(self, q, k, v):
        """Add a token, attend with its query, and remove a token if there are too many.

        q (H, E), k (H, E), v (H, Ev)  ->  o (H, Ev), weights (H, n)
        """
        q, k, v = (unsqueeze(x, 1) for x in (q, k, v))  # (H, 1, E)
        self.key = k if self.key is None else concat([self.key, k], 1)
        self.value = v if self.value is None else concat([self.value, v], 1)
        n, keys = self.length, self.key
        if self.rotate is not None:
            keys = self.rotate(keys, np.arange(n))
            q = self.rotate(q, np.arange(n - 1, n))
        o, weights = attend(q, keys, self.value)  # (H, 1, Ev), (H, 1, n)
        self.sums = weights.data[:, 0] + np.pad(self.sums, [(0, 0), (0, 1)])
        if n > self.budget:
            self.keep(self.best())
        return o[:, 0], weights[:, 0]

    def best(self):
        """Return the places of the tokens that stay, (H, budget), in their order."""
        worth = self.sums.copy()
        worth[:, : self.sinks] = worth[:, self.length - self.recent :] = np.inf
        best = np.argsort(-worth, 1, kind="stable")[:, : self.budget]
        return np.sort(best, 1)

    def keep(self, places):
        """Remove all tokens but those at these places, (H, budget)."""
        of_heads = np.arange(len(places))[:, None], places
        self.key, self.value = self.key[of_heads], self.value[of_heads]
        self.sums = self.sums[of_heads]


def quantize(x, axis):
    """Return codes of 8 bits, and scale and zero for each slice along the other axes.

    axis   along which numbers share a scale: -2 for keys (S, E), -1 for values

    x and zero + scale * code differ by at most half a scale.
    """
    x = np.asarray(x, np.promote_types(x.dtype, np.float32))  # float16 could overflow
    axis = whole("quantize", "axis", axis, least=-x.ndim, most=x.ndim - 1)
    least, most = x.min(axis, keepdims=True), x.max(axis, keepdims=True)
    scale = (most - least) / 255
    scale[scale == 0] = 1  # equal numbers
    codes = np.minimum(np.rint((x - least) / scale), 255)  # a tiny scale is rounded
    return codes.astype(np.uint8), scale, least


def dequantize(codes, scale, zero):
    """Return zero + scale * code."""
    return zero + scale * codes


def _stepwise(q, k, v, budget, recent, sinks):
    """Return the contexts of all tokens, with a ``SmallCache`` of one head."""
    cache = SmallCache(budget, recent, sinks)
    rows = ((x[t][None] for x in (q, k, v)) for t in range(len(q)))
    return stack([cache.step(*row)[0][0] for row in rows])


def _quantized(q, *cache):
    return attend(q, dequantize(*cache[:3]), dequantize(*cache[3:]))[0]


def _pairs(L, S, budget, recent, sinks):
    """Return {"P"}: all pairs of the first tokens, then budget + 1 keys for each."""
    first = min(budget, S)
    return {"P": first * (first + 1) // 2 + (S - first) * (budget + 1)}


OF_A_CACHE = dict(
    inputs="q (S, E), k (S, E), v (S, Ev)",
    multiplications="S*E + P*E + P*Ev",
    more=_pairs,
)
ROWS = [
    Variant(
        "stream", definitions.small_cache, _stepwise, **OF_A_CACHE,
        options=dict(budget=36, recent=32, sinks=4),
        small=dict(budget=4, recent=2, sinks=2),
        about="""mask: the newest keys and the first ones, positions counted in the
        cache
        can read a text of any length with a cache of a fixed size
        cannot find what has left the window
        lesson 17: long texts after training on short ones; Xiao et al. 2024""",
    ),
    Variant(
        "evict", definitions.small_cache, _stepwise, **OF_A_CACHE,
        options=dict(budget=36, recent=8, sinks=0),
        small=dict(budget=4, recent=2, sinks=0),
        about="""mask: the newest keys and those with the largest weights so far
        can keep far tokens that were read often, in a cache of a fixed size
        cannot find a token that becomes important only later
        lesson 17: lookup among many pairs, by bytes of the cache; Zhang et al. 2023""",
    ),
    # a scale and a zero for each channel of the keys, and for each token of the values
    Variant(
        "quantized", definitions.quantized, _quantized,
        inputs=(
            "q (L, E), k (S, E), k.scale (E), k.zero (E), "
            "v (S, Ev), v.scale (S, 1), v.zero (S, 1)"
        ),
        multiplications="L*E + L*S*E + S*E + L*S*Ev + S*Ev",
        about="""source: keys and values are codes of 8 bits: x = zero + scale times
        code
        can hold a cache in a quarter of the bytes of float32, with a known error
        cannot represent differences that are smaller than a scale
        lesson 17: lookup among many pairs, by bytes of the cache; Liu et al. 2024""",
    ),
]  # fmt: skip
