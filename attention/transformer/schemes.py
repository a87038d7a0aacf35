"""Where positions come in: one object a model, which every layer asks.

name           at the input        at the scores               q and k       learned
none
sinusoidal     + sin, cos
learned        + a row                                                       n_max D
t5                                 + table[bucket(j - i), h]                 nb H
alibi                              - m_h |i - j|
shaw                               + q_i . a                                 (2k+1) E
transformer-xl                     + (q_i + w) . R + u . k_j                 D^2 + 2 D
disentangled                       + q_i . K_r + k_j . Q_r                   2k D
rope                                                           turned
rope+linear, rope+ntk, rope+yarn                               turned, and slower once
                                                               ``extend`` says so

A causal model sees some order without any of them: its first query has one key, the
next one two. What a scheme learns, it learns once for all layers of a stack. Scores
that are more than products and a bias (shaw, transformer-xl, disentangled) are given as
a bias to products whose scale is 0.
"""

import math
from functools import partial

import numpy as np

from minigrad import concat, nn, reshape, swapaxes

from ..positions import (
    LearnedPositions,
    LinearScaling,
    NTKScaling,
    T5RelativeBias,
    YaRNScaling,
    alibi_by_offset,
    disentangled_scores,
    rope,
    shaw_scores,
    sinusoidal,
    transformer_xl_distances,
    transformer_xl_scores,
)


class Scheme(nn.Module):
    """No positions; and what the others change.

    scale         of the products of self-attention; None is 1 / sqrt(E)
    cross_scale   of those of cross-attention
    """

    scale = cross_scale = None

    def embed(self, x, at):
        """x (B, n, D) with what the input gets of positions at, (n,) or (B, n)."""
        return x

    def arguments(self, attention, x, cache):
        """What ``attention`` is given for queries x (B, n, D): a bias, a rotation."""
        return {}

    def extend(self, length):
        """Make ready for sequences of this length; most schemes always are."""


class Sinusoidal(Scheme):
    def __init__(self, config):
        self.base = config.base

    def embed(self, x, at):
        return x + sinusoidal(at, x.shape[-1], self.base, x.dtype)


class Learned(Scheme):
    def __init__(self, config, rng=None):
        self.table = LearnedPositions(config.max_length, config.width, rng)

    def embed(self, x, at):
        return x + self.table(at)

    def extend(self, length):
        self.table(np.array([length - 1]))  # refuses what has no row


class T5(Scheme):
    """The scale is 1; the queries' weights begin as much smaller (see ``Block``)."""

    scale = cross_scale = 1.0

    def __init__(self, config, causal):
        self.bias = T5RelativeBias(
            config.heads, config.num_buckets, config.max_distance, not causal
        )

    def arguments(self, attention, x, cache):
        return {"bias": self.bias.by_offset}


class ALiBi(Scheme):
    def arguments(self, attention, x, cache):
        return {"bias": partial(alibi_by_offset, attention.num_heads, dtype=x.dtype)}


class Scores(Scheme):
    """Scores of its own take the place of the products, whose scale is therefore 0.

    A subclass has a method ``scores(attention, q, k, align)``: q (B, Hk, G, L, E) and
    k (B, Hk, 1, S, E)  ->  (B, Hk, G, L, S), where G heads share a key head.

    Queries and keys are projected here and in the attention once more: a third of the
    projections twice, which is what it costs that attention need not know of them.
    """

    scale = 0.0

    def arguments(self, attention, x, cache):
        H, Hk, E = attention.num_heads, attention.num_kv_heads, attention.head_dim
        B, L, _ = x.shape
        G = H // Hk  # so many heads share a key head: an axis of its own
        q = swapaxes(reshape(attention.W_q(x), (B, L, H, E)), 1, 2)
        k = swapaxes(reshape(attention.W_k(x), (B, L, Hk, E)), 1, 2)
        if cache is not None and cache.key is not None:
            k = concat([cache.key, k], 2)  # (B, Hk, S, E)
        S = k.shape[2]
        q, k = reshape(q, (B, Hk, G, L, E)), reshape(k, (B, Hk, 1, S, E))
        align = "upper_left" if cache is None else "lower_right"
        return {"bias": reshape(self.scores(attention, q, k, align), (B, H, L, S))}


class Shaw(Scores):
    """One table for all heads, as in the paper; and for all layers.

    The value side, sum_j p_ij a^V_d, is left out: it needs the weights, which belong to
    the attention. The authors found translations as good without it (section 4.3).
    """

    def __init__(self, config, rng=None):
        shape = 2 * config.max_distance + 1, config.width // config.heads
        table = nn.Parameter(np.empty(shape, np.float32))
        self.table = nn.init.xavier_uniform_(table, rng=rng)

    def scores(self, attention, q, k, align):
        return shaw_scores(q, k, self.table, causal_align=align)


class TransformerXL(Scores):
    """Sinusoids of the distance, projected by one W_kR for all layers, as are u and w.

    In the paper each layer has a W_kR of its own.
    """

    def __init__(self, config, rng=None):
        H, D = config.heads, config.width
        self.base = config.base
        self.W_kR = nn.Linear(D, D, False, rng)
        self.content_bias = nn.Parameter(np.zeros((H, D // H), np.float32))  # u
        self.position_bias = nn.Parameter(np.zeros((H, D // H), np.float32))  # w

    def scores(self, attention, q, k, align):
        _, Hk, G, L, E = q.shape
        at = transformer_xl_distances(L, k.shape[-2], align)  # (n,)
        R = self.W_kR(sinusoidal(at, Hk * G * E, self.base, q.dtype))
        R = swapaxes(reshape(R, (len(at), Hk * G, E)), 0, 1)  # (H, n, E)
        return transformer_xl_scores(
            q,
            k,
            reshape(R, (Hk, G, len(at), E)),
            reshape(self.content_bias, (Hk, G, E)),
            reshape(self.position_bias, (Hk, G, E)),
        )


class Disentangled(Scores):
    """DeBERTa's score.

    The table of distances is projected by each layer's own W_q and W_k, as in the
    authors' second version.
    """

    def __init__(self, config, rng=None):
        table = np.empty((2 * config.max_distance, config.width), np.float32)
        self.table = nn.init.normal_(nn.Parameter(table), rng=rng)

    def scores(self, attention, q, k, align):
        (_, Hk, G, _, E), n = q.shape, len(self.table)
        q_r = swapaxes(reshape(attention.W_q(self.table), (n, Hk * G, E)), 0, 1)
        k_r = swapaxes(reshape(attention.W_k(self.table), (n, Hk, E)), 0, 1)
        q_r, k_r = reshape(q_r, (Hk, G, n, E)), reshape(k_r, (Hk, 1, n, E))
        return disentangled_scores(q, k, q_r, k_r, causal_align=align)


class RoPE(Scheme):
    def __init__(self, config):
        self.base = config.base

    def arguments(self, attention, x, cache):
        return {"rotate": partial(rope, base=self.base)}


class ScaledRoPE(RoPE):
    """Rotations as trained, until ``extend`` slows them down, s = length / trained.

    They are never slowed down unasked: keys that a cache holds have been turned by the
    angles of their time, and must be met by queries turned by the same.
    """

    def __init__(self, config):
        super().__init__(config)
        self.name, self.trained = config.positions, config.max_length
        self.length = self.trained

    def extend(self, length):
        """For sequences up to this length; up to the trained one, as in training."""
        self.length = max(length, self.trained)

    def embed(self, x, at):
        longest = np.max(at, initial=-1) + 1
        if longest > self.length:
            raise ValueError(
                f"{self.name}: a sequence of {longest} tokens, with rotations for up "
                f"to {self.length}; expected model.extend({longest}) first."
            )
        return x

    def arguments(self, attention, x, cache):
        return {"rotate": partial(rope, base=self.base, scaling=self.scaling())}

    def scaling(self):
        """The object of positions/scaling.py; None as long as nothing is longer."""
        s = self.length / self.trained
        if s == 1:
            return None
        if self.name == "rope+yarn":
            return YaRNScaling(s, self.trained)
        return {"rope+linear": LinearScaling, "rope+ntk": NTKScaling}[self.name](s)


DRAWN = {
    "learned": Learned,
    "shaw": Shaw,
    "transformer-xl": TransformerXL,
    "disentangled": Disentangled,
}


def scheme_of(config, causal, rng=None):
    """The scheme that a config names, for one stack of layers.

    causal   whether the stack is a decoder, in which no key comes later
    """
    name = config.positions
    if name.startswith("rope"):
        return RoPE(config) if name == "rope" else ScaledRoPE(config)
    if name == "t5":
        return T5(config, causal)
    if name in DRAWN:
        return DRAWN[name](config, rng)
    if name == "sinusoidal":
        return Sinusoidal(config)
    return {"none": Scheme, "alibi": ALiBi}[name]()


def shrink_queries(attention):
    """W_q / sqrt(E): where the scale is 1, products begin as large as elsewhere."""
    W = attention.W_q.weight
    W.data = W.data / math.sqrt(attention.head_dim)
