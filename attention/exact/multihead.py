"""Multi-head attention: several small attentions side by side, each with its own view.

    q_h = W_q^h x_i,   k_g = W_k^g y_j,   v_g = W_v^g y_j         g = h // (H / Hk)
    c_h = attention(q_h, k_g, v_g)                                h = 0, ..., H - 1
    out = W_o [c_0; c_1; ...; c_{H-1}]

Self-attention asks the sequence itself, y = x; cross-attention asks another one. Each
head has width E = D / H, so that all of them together cost what one of width D would:
4 L D^2 for the projections, 2 L S D for scores and averages. The loop over heads is an
axis of the arrays, (B, H, L, E).

With fewer key heads than query heads, Hk < H, several query heads share keys and values
(grouped queries; Hk = 1 is multi-query attention): the same scores, but a cache of
Hk / H the size.

Vaswani et al. 2017, section 3.2.2; Shazeer 2019; Ainslie et al. 2023.
"""

import numpy as np

from minigrad import nn, reshape, swapaxes
from minigrad.checks import probability

from ..checks import flag, scale_or, whole
from .kv_cache import FixedKVCache
from .multihead_arguments import (
    NAME,
    by_position,
    pairs,
    places,
    rows,
    sources,
    turned,
)
from .projection import check_heads, draw, heads, project_finite
from .sdpa import scaled_dot_product_attention


class MultiHeadAttention(nn.Module):
    """H attentions of width E = embed_dim / H, each with projections of its own.

        layer(query, key=None, value=None)  ->  output (B, L, embed_dim)

    query (B, L, embed_dim), key (B, S, kdim), value (B, S, vdim). Without a key, the
    query is its own: self-attention. Without a value, the key is. All three without the
    axis B are one example, and so is the output.

    num_heads      H, which divides embed_dim
    num_kv_heads   Hk, which divides H: query head h reads key head h // (H / Hk); None
                   is H
    dropout        the probability that a weight is dropped, in training
    bias           whether the four projections have biases
    kdim, vdim     the widths of key and value; None is embed_dim
    scale          of the products; None is 1 / sqrt(E), 1.0 is T5's
    rng            draws the parameters and the dropout; None takes minigrad's own

    attention_weights   after a call with need_weights: those of each head, (B, H, L, S)
                        or (H, L, S), before dropout and apart from the graph; after
                        any other call, and before the first, None

    W_q, W_k, W_v  Linear, Xavier-uniform: over the three stacked if all read embed_dim
                   numbers, as torch does, else each over itself. Biases start from 0
    W_o            Linear, from 0 its bias as well

    Raises ValueError for widths and heads that do not divide, TypeError for what are
    not whole numbers.
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        num_kv_heads=None,
        dropout=0.0,
        bias=True,
        kdim=None,
        vdim=None,
        *,
        scale=None,
        rng=None,
    ):
        H = self.num_heads = whole(NAME, "num_heads", num_heads, least=1)
        Hk = H if num_kv_heads is None else num_kv_heads
        self.num_kv_heads = whole(NAME, "num_kv_heads", Hk, least=1)
        self.embed_dim = D = whole(NAME, "embed_dim", embed_dim, least=1)
        self.kdim = D if kdim is None else whole(NAME, "kdim", kdim, least=1)
        self.vdim = D if vdim is None else whole(NAME, "vdim", vdim, least=1)
        check_heads(NAME, D, H)
        if H % Hk:
            raise ValueError(
                f"{NAME}: num_heads is {H} and num_kv_heads {Hk}; expected a number of "
                "key heads that divides the number of query heads."
            )
        self.dropout = probability(NAME, "dropout", dropout)
        self.scale, self.rng = scale_or(None, NAME, scale, "1 / sqrt(E)"), rng
        bias = flag(NAME, "bias", bias)
        E = self.head_dim = D // H
        self.W_q = nn.Linear(D, H * E, bias, rng)
        self.W_k = nn.Linear(self.kdim, Hk * E, bias, rng)
        self.W_v = nn.Linear(self.vdim, Hk * E, bias, rng)
        self.W_o = nn.Linear(H * E, D, bias, rng)
        self.attention_weights = None  # those of the last call
        alike = self.kdim == self.vdim == D
        draw((self.W_q, self.W_k, self.W_v), self.W_o, rng, stacked=alike)

    def forward(
        self,
        query,
        key=None,
        value=None,
        *,
        valid_lens=None,
        mask=None,
        is_causal=False,
        need_weights=False,
        average_attn_weights=False,
        bias=None,
        rotate=None,
        positions=None,
        cache=None,
    ):
        """output (B, L, embed_dim); or (output, weights (B, H, L, S)) if need_weights.

        valid_lens   (B,): only the first so many keys of each example; (B, L): of each
                     query
        mask         bool, where True = may attend, or float, which is added: (L, S), or
                     four axes that broadcast to (B, H, L, S); (B, S) is written
                     mask[:, None, None]. Or a BlockMask, a mask of attention.masks, or
                     a function (b, h, q_idx, kv_idx) -> bool
        is_causal    no key after the query, j <= i
        need_weights also the weights of each head, before dropout
        average_attn_weights
                     with need_weights: their mean over the heads, (B, L, S), in place
                     of them. torch's argument, which is True there if nothing is said
        bias         added to the scores: (H, L, S), (H, L + S - 1) or what broadcasts
                     to (B, H, L, S); or a function (L, S, causal_align) that makes it,
                     such as a T5RelativeBias or its by_offset
        rotate       a function (x, positions) -> x such as ``rope``, which turns q and
                     k, (B, H | Hk, L | S, E), by the positions of their rows
        positions    for ``rotate``, of the queries, (L,) or (B, L), and of the keys if
                     they are the queries'; None counts from 0
        cache        a KVCache with the keys and values of earlier tokens. S counts them
                     too, positions go on from them, and the last query stands at the
                     last key (so is_causal, and a ``bias`` that is a function, are
                     right; a mask by distance is with offset="lower_right").
                     valid_lens may then be more than the keys there are so far

        Whoever may attend must be allowed by all that is given. A query with no key has
        weights 0 and what W_o makes of a context of 0. Keys and values that nobody may
        attend to, and queries with no key, may be NaN; so may queries whose outputs no
        loss depends on, as padding among them, which attends like any other unless
        (B, L) lengths or a mask leave it no key.

        Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
        """
        need_weights = flag(NAME, "need_weights", need_weights)
        average = flag(NAME, "average_attn_weights", average_attn_weights)
        query, key, value, itself, alone = sources(self, query, key, value, cache)
        B, L, _ = query.shape
        q = heads(self.W_q, query, self.num_heads)  # (B, H, L, E)
        if isinstance(key, FixedKVCache):
            k, v = key.rows(self, B, q.dtype)
        else:
            k, v = self._keys_and_values(key, value)  # (B, Hk, S, E)
        if rotate is not None:
            start = 0 if cache is None else cache.length
            at = places(positions, start, B, L)
            q = turned(rotate, "query", q, at)
            k = turned(rotate, "key", k, at if itself else np.arange(k.shape[2]))
        elif positions is not None:
            raise ValueError(
                f"{NAME}: positions has no use without rotate; expected both or none."
            )
        if cache is not None:
            k, v = cache.extended(self, k, v)
        S, align = k.shape[2], "upper_left" if cache is None else "lower_right"

        attended = scaled_dot_product_attention(
            q,
            k,
            v,
            **pairs(mask, valid_lens, (B, self.num_heads, L, S), cache is not None),
            bias=by_position(bias, L, S, align),
            is_causal=is_causal,
            causal_align=align,
            scale=self.scale,
            enable_gqa=True,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
            return_weights=need_weights,
        )
        if cache is not None:
            cache.keep(self, k, v)  # the call has not been refused
        c, weights = attended if need_weights else (attended, None)
        c = swapaxes(c, 1, 2)  # (B, L, H, E): the heads of a token side by side
        output = project_finite(self.W_o, reshape(c, (B, L, self.embed_dim)))
        output = output[0] if alone else output
        self.attention_weights = None  # those of an earlier call would mislead
        if not need_weights:
            return output
        weights = weights[0] if alone else weights  # (B, H, L, S) or (H, L, S)
        self.attention_weights = weights.detach()
        return output, weights.mean(-3) if average else weights

    def precompute(self, key, value=None):
        """Keys and values that stay the same, projected once for all calls to come.

        key (B, S, kdim), value (B, S, vdim)  ->  ``FixedKVCache``, in place of ``key``
        """
        value = key if value is None else value
        named = {"key": (key, self.kdim), "value": (value, self.vdim)}
        (key, value), _ = rows(named)
        return FixedKVCache(self, *self._keys_and_values(key, value))

    def load_state_dict(self, state, strict=True):
        """As of every module; a state of torch's is for ``load_torch_state``."""
        try:
            return super().load_state_dict(state, strict)
        except ValueError as error:
            if not {"in_proj_weight", "out_proj.weight"} & state.keys():
                raise
            raise ValueError(
                f"{error}\nThese are torch's names: use load_torch_state(layer, state)."
            ) from None

    def extra_repr(self):
        parts = [f"{self.embed_dim}, {self.num_heads}"]
        if self.num_kv_heads != self.num_heads:
            parts.append(f"num_kv_heads={self.num_kv_heads}")
        return ", ".join([*parts, f"dropout={self.dropout}"])

    def _keys_and_values(self, key, value):
        Hk = self.num_kv_heads
        return heads(self.W_k, key, Hk), heads(self.W_v, value, Hk)
