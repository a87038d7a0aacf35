"""Schemes of positions: one object adds positions to all layers of a stack.

name            at the input    in the scores              q and k    parameters
none
sinusoidal      + sin, cos
learned         + a row                                               max_length D
t5                              + table[bucket(j - i), h]             num_buckets H
alibi                           - m_h |i - j|
kerple                          - r_h ln(1 + a_h |i - j|)             2 H
fire                            + f_h(ln(1 + c |i - j|)               66 + 32 H
                                      / ln(1 + c max(T, i)))
cope                            + q_i . e[p_ij]                       n E
shaw                            + q_i . a_r                           (2n + 1) E
transformer-xl                  + (q_i + w) . R_r + u . k_j           D^2 + 2 D
disentangled                    + q_i . K_r + k_j . Q_r               2n D
rope                                                       rotated
rope+linear, rope+ntk,                                     rotated, but more slowly
rope+yarn                                                  after ``extend``

r is the distance j - i, in shaw and disentangled limited to n (``max_distance``); a_r,
R_r, K_r and Q_r are its vectors, m_h is the slope of head h, r_h and a_h are learned
numbers of it, f_h a network, p_ij counts tokens between j and i, e has n rows, and u
and w are biases of each head. H heads of width E have the width D = H E together.

A causal model can learn some order without any scheme, because its first query has one
key, the second has two (Haviv et al. 2022). The layers of a stack share the parameters
of its scheme.
"""

from functools import partial

import numpy as np

from minigrad import nn, reshape, swapaxes

from ..choices import POSITIONS
from ..positions import (
    FIRE,
    KERPLE,
    LearnedPositions,
    LinearScaling,
    NTKScaling,
    T5RelativeBias,
    YaRNScaling,
    alibi_by_offset,
    cope_scores,
    disentangled_scores,
    rope,
    shaw_scores,
    sinusoidal,
    transformer_xl_distances,
    transformer_xl_scores,
)


class Scheme(nn.Module):
    """The scheme without positions. Other schemes override its methods.

    config        a ``TransformerConfig``
    causal        whether no query of the stack attends to a later key
    scale         the factor of q . k in self-attention; None is 1 / sqrt(E)
    cross_scale   the same in cross-attention
    """

    scale = cross_scale = None

    def __init__(self, config=None, causal=True, rng=None):
        pass

    def embed(self, x, positions):
        """Add positions (n,) or (B, n) to x (B, n, D)."""
        return x

    def options(self, attention, positions=None):
        """Return keyword arguments for each call of the layer ``attention``.

        They are its arguments "bias", "rotate" and "score", which replaces its scores.

        positions   of the queries in their texts, (n,) or (B, n); None counts from 0
        """
        return {}

    def extend(self, length):
        """Prepare for sequences of this length. Most schemes need no preparation."""


class Sinusoidal(Scheme):
    """Add sines and cosines of the position to the embeddings."""

    def __init__(self, config, causal, rng):
        self.base = config.base

    def embed(self, x, positions):
        """Return x + PE[positions]."""
        return x + sinusoidal(positions, x.shape[-1], self.base, x.dtype)


class Learned(Scheme):
    """Add a learned row for each position to the embeddings."""

    def __init__(self, config, causal, rng):
        self.table = LearnedPositions(config.max_length, config.width, rng)

    def embed(self, x, positions):
        """Return x + P[positions]."""
        return x + self.table(positions)

    def extend(self, length):
        """Raise IndexError if the table has fewer rows."""
        self.table(np.array([length - 1]))


class T5(Scheme):
    """T5's bias. The scale is 1, and W_q starts smaller instead, see ``Block``."""

    scale = cross_scale = 1.0

    def __init__(self, config, causal, rng):
        self.bias = T5RelativeBias(
            config.heads, config.num_buckets, config.max_distance, not causal
        )

    def options(self, attention, positions=None):
        """Return the bias; all layers share its table."""
        return {"bias": self.bias.by_offset}


class ALiBi(Scheme):
    """Subtract m_h |j - i| from the scores of head h."""

    def options(self, attention, positions=None):
        """Return the bias, in the dtype of the layer."""
        dtype = attention.W_q.weight.dtype
        return {"bias": partial(alibi_by_offset, attention.num_heads, dtype=dtype)}


class Kerple(Scheme):
    """Subtract r_h ln(1 + a_h |j - i|); all layers share r and a."""

    def __init__(self, config, causal, rng):
        self.bias = KERPLE(config.heads)

    def options(self, attention, positions=None):
        """Return the bias."""
        return {"bias": self.bias.by_offset}


class Fire(Scheme):
    """Add a network of the distance, divided by the place of the query in its text."""

    def __init__(self, config, causal, rng):
        self.bias = FIRE(config.heads, config.max_length, rng)

    def options(self, attention, positions=None):
        """Return the bias of queries at these positions."""

        def bias(L, S, causal_align):
            places = np.arange(L) if positions is None else positions
            return self.bias(places, S, causal_align)

        return {"bias": bias}


class Scores(Scheme):
    """A scheme whose scores are more than products and a bias.

    A subclass has a method ``scores(attention, q, k, align)``, where G query heads
    share a key head:

        q (B, Hk, G, L, E), k (B, Hk, 1, S, E)  ->  scores (B, Hk, G, L, S)
    """

    def options(self, attention, positions=None):
        """Return the function that computes the scores."""

        def score(q, k, align):
            (B, H, L, E), (_, Hk, S, _) = q.shape, k.shape
            q = reshape(q, (B, Hk, H // Hk, L, E))
            k = reshape(k, (B, Hk, 1, S, E))
            return reshape(self.scores(attention, q, k, align), (B, H, L, S))

        return {"score": score}


class Shaw(Scores):
    """One table for all heads, as in the paper, and for all layers.

    The paper adds such a table to the values as well. It is left out, because it would
    need the weights inside the attention; the authors found translations equally good
    without it (Shaw et al. 2018, section 4.3).
    """

    def __init__(self, config, causal, rng):
        shape = 2 * config.max_distance + 1, config.width // config.heads
        table = nn.Parameter(np.empty(shape, np.float32))
        self.table = nn.init.xavier_uniform_(table, rng=rng)

    def scores(self, attention, q, k, align):
        """Return the scores with q_i . a_r added."""
        return shaw_scores(q, k, self.table, causal_align=align)


class Cope(Scores):
    """One table of ``max_distance`` contextual positions for all heads and layers."""

    def __init__(self, config, causal, rng):
        shape = config.max_distance, config.width // config.heads
        self.table = nn.Parameter(np.zeros(shape, np.float32))

    def scores(self, attention, q, k, align):
        """Return the scores with q_i . e[p_ij] added."""
        return cope_scores(q, k, self.table, align)


class TransformerXL(Scores):
    """Sinusoids of the distance, projected by W_kR, and the biases u and w.

    All layers share W_kR; in the paper each layer has its own.
    """

    def __init__(self, config, causal, rng):
        H, D = config.heads, config.width
        self.base = config.base
        self.W_kR = nn.Linear(D, D, False, rng)
        self.content_bias = nn.Parameter(np.zeros((H, D // H), np.float32))  # u
        self.position_bias = nn.Parameter(np.zeros((H, D // H), np.float32))  # w

    def scores(self, attention, q, k, align):
        """Return the scores with the vectors R_r of all distances."""
        _, Hk, G, L, E = q.shape
        distances = transformer_xl_distances(L, k.shape[-2], align)  # (n,)
        R = self.W_kR(sinusoidal(distances, Hk * G * E, self.base, q.dtype))
        R = swapaxes(reshape(R, (len(distances), Hk * G, E)), 0, 1)  # (H, n, E)
        return transformer_xl_scores(
            q,
            k,
            reshape(R, (Hk, G, len(distances), E)),
            reshape(self.content_bias, (Hk, G, E)),
            reshape(self.position_bias, (Hk, G, E)),
        )


class Disentangled(Scores):
    """DeBERTa's score.

    Each layer projects the table of distances by its own W_q and W_k, as in the
    authors' largest model (He et al. 2021, section 5.3). Their first models have two
    more matrices for it, W_qr and W_kr.
    """

    def __init__(self, config, causal, rng):
        table = np.empty((2 * config.max_distance, config.width), np.float32)
        self.table = nn.init.normal_(nn.Parameter(table), rng=rng)

    def scores(self, attention, q, k, align):
        """Return the scores with the table projected by this layer."""
        (_, Hk, G, _, E), n = q.shape, len(self.table)
        q_r = swapaxes(reshape(attention.W_q(self.table), (n, Hk * G, E)), 0, 1)
        k_r = swapaxes(reshape(attention.W_k(self.table), (n, Hk, E)), 0, 1)
        q_r, k_r = reshape(q_r, (Hk, G, n, E)), reshape(k_r, (Hk, 1, n, E))
        return disentangled_scores(q, k, q_r, k_r, causal_align=align)


class RoPE(Scheme):
    """Rotate queries and keys by angles that grow with the position."""

    def __init__(self, config, causal, rng):
        self.base = config.base

    def options(self, attention, positions=None):
        """Return the rotation."""
        return {"rotate": partial(rope, base=self.base)}


class ScaledRoPE(RoPE):
    """RoPE with frequencies as in training, until ``extend`` reduces them.

    s = length / trained_length. The frequencies do not change during a sequence: the
    keys in a cache are rotated already, and later queries must be rotated by the same
    frequencies.
    """

    def __init__(self, config, causal, rng):
        super().__init__(config, causal, rng)
        self.name, self.trained_length = config.positions, config.max_length
        self.length = self.trained_length

    def extend(self, length):
        """Set the longest length; no scaling if it is not above the trained length."""
        self.length = max(length, self.trained_length)

    def embed(self, x, positions):
        """Return x; raise ValueError for positions beyond ``length``."""
        longest = np.max(positions, initial=-1) + 1
        if longest > self.length:
            raise ValueError(
                f"{self.name}: a sequence has {longest} tokens, and the rotations are "
                f"for {self.length} at most; expected model.extend({longest}) first."
            )
        return x

    def options(self, attention, positions=None):
        """Return the rotation, with reduced frequencies after ``extend``."""
        return {"rotate": partial(rope, base=self.base, scaling=self.scaling())}

    def scaling(self):
        """Return an object of positions/scaling.py, or None without scaling."""
        s = self.length / self.trained_length
        if s == 1:
            return None
        if self.name == "rope+yarn":
            return YaRNScaling(s, self.trained_length)
        return {"rope+linear": LinearScaling, "rope+ntk": NTKScaling}[self.name](s)


SCHEMES = {name: row.scheme for name, row in POSITIONS.items()}
