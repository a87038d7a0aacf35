"""Multi-head attention: H attentions side by side, each with its own projections.

    q_h = W_q^h x_i,   k_g = W_k^g y_j,   v_g = W_v^g y_j         g = h // (H / Hk)
    c_h = attention(q_h, k_g, v_g)                                h = 0, ..., H - 1
    out = W_o [c_0; c_1; ...; c_{H-1}]

In self-attention y = x; in cross-attention y is another sequence. Each head has width
E = D / H by default, so all heads together cost as much as one head of width D:
2 (L + S) D^2 for the projections, 2 L S D for scores and averages. There is no loop
over the heads: they are an axis of the arrays, (B, H, L, E).

With fewer key heads than query heads, Hk < H, several query heads share keys and values
(grouped queries; Hk = 1 is multi-query attention). The number of scores is the same,
but a cache of keys and values has only Hk / H of the size.

Vaswani et al. 2017, section 3.2.2; Shazeer 2019; Ainslie et al. 2023.
"""

import functools
import math
from typing import Any

import numpy as np

from minigrad import Tensor, concat, nn, reshape, rms_norm, swapaxes, unsqueeze
from minigrad.arguments import flag, number, probability, whole
from minigrad.shapes import shapes

from .. import definitions
from ..masks import causal, padding
from ..masks.given import check_axes
from ..variants.forgetting import forgetting_bias
from ..variants.row import Variant
from .kv_cache import FixedKVCache
from .sdpa import exact_attention

NAME = "MultiHeadAttention"


class MultiHeadAttention(nn.Module):
    """H attentions of width E, each with projections of its own.

        layer(query, key=None, value=None)  ->  output (B, L, embed_dim)

    query (B, L, embed_dim), key (B, S, kdim), value (B, S, vdim). The default key is
    the query (self-attention), the default value is the key. Without the axis B, the
    three are one example, and so is the output.

    num_heads      H, which divides embed_dim unless there is a head_dim
    num_kv_heads   Hk, which divides H: query head h reads key head h // (H / Hk); None
                   is H
    dropout        the probability that a weight is dropped, in training
    bias           whether the four projections have biases; "qkv": all but W_o
    kdim, vdim     the widths of key and value; None is embed_dim
    head_dim       E; None is embed_dim / H
    scale          of the products; None is 1 / sqrt(E), 1.0 is T5's
    qk_norm        whether ``rms_norm`` normalises each q and k of width E, with gains
    eps            of ``rms_norm``
    forgetting     whether tokens decide how much of the past they let through, see
                   variants/forgetting.py; for causal self-attention
    rng            the generator of parameters and dropout; None is minigrad's own

    attention_weights   after a call with need_weights: the weights of each head,
                        (B, H, L, T) or (H, L, T), before dropout and without their
                        graph; after any other call None

    W_q, W_k, W_v  Linear, Xavier-uniform. If kdim = vdim = embed_dim, the bounds are
                   those of the three matrices stacked, as in torch; otherwise those of
                   each matrix. The biases start as 0
    W_o            Linear; its bias starts as 0
    g_q, g_k       (E,), the gains of qk_norm, start as 1; otherwise None
    W_f            Linear, a gate for each key head; its bias starts as 3, so that
                   little is forgotten. None without ``forgetting``
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
        head_dim=None,
        scale=None,
        qk_norm=False,
        eps=1e-6,
        forgetting=False,
        rng=None,
    ):
        H = self.num_heads = whole(NAME, "num_heads", num_heads, least=1)
        Hk = H if num_kv_heads is None else num_kv_heads
        self.num_kv_heads = whole(NAME, "num_kv_heads", Hk, least=1)
        self.embed_dim = D = whole(NAME, "embed_dim", embed_dim, least=1)
        self.kdim = D if kdim is None else whole(NAME, "kdim", kdim, least=1)
        self.vdim = D if vdim is None else whole(NAME, "vdim", vdim, least=1)
        if head_dim is None:
            check_heads(NAME, D, H)
            head_dim = D // H
        E = self.head_dim = whole(NAME, "head_dim", head_dim, least=1)
        if H % Hk:
            raise ValueError(
                f"{NAME}: num_heads is {H} and num_kv_heads {Hk}; expected a number of "
                "key heads that divides the number of query heads."
            )
        self.dropout = probability(NAME, "dropout", dropout)
        self.scale, self.rng = scale, rng
        if scale is not None:
            number(NAME, "scale", scale)
        bias = biases(NAME, "bias", bias)
        self.eps = number(NAME, "eps", eps, least=0)
        self.W_q = nn.Linear(D, H * E, bool(bias), rng)
        self.W_k = nn.Linear(self.kdim, Hk * E, bool(bias), rng)
        self.W_v = nn.Linear(self.vdim, Hk * E, bool(bias), rng)
        self.W_o = nn.Linear(H * E, D, bias is True, rng)
        self.g_q = self.g_k = self.W_f = None
        if flag(NAME, "qk_norm", qk_norm):
            self.g_q = nn.Parameter(np.ones(E, np.float32))
            self.g_k = nn.Parameter(np.ones(E, np.float32))
        if flag(NAME, "forgetting", forgetting):
            self.W_f = nn.Linear(D, Hk, True, rng)
            self.W_f.bias.data = np.full(Hk, 3, np.float32)
        self.attention_weights: Any = None  # the weights of the last call
        one_width = self.kdim == self.vdim == D
        draw_projections((self.W_q, self.W_k, self.W_v), self.W_o, rng, one_width)

    @shapes
    def forward(
        self,
        query,
        key=None,
        value=None,
        *,
        lengths=None,
        mask=None,
        is_causal=False,
        need_weights=False,
        average_attn_weights=False,
        bias=None,
        score=None,
        rotate=None,
        positions=None,
        cache=None,
        normalize=None,
        choose=None,
    ) -> Tensor:
        """Return the output, or (output, weights) if need_weights.

        query (B, L, self.embed_dim) or (L, self.embed_dim),
        key? (B, S, self.kdim) or (S, self.kdim) or FixedKVCache,
        value? (B, S, self.vdim) or (S, self.vdim), lengths? (B,) or (B, L) int,
        positions? (L,) or (B | 1, L) int  ->  output (B, L, self.embed_dim) or
        (L, self.embed_dim); output, weights (B, H, L, T) or (H, L, T) or (B, L, T) or
        (L, T)

        T is the number of keys in all: the S keys of this call and, with a cache, the
        earlier ones.

        lengths      how many keys are allowed, from the first: of each example, or of
                     each query
        mask         bool, where True = may attend, or float, which is added: (L, T), or
                     four axes that broadcast to (B, H, L, T); for padding (B, T), pass
                     mask[:, None, None]. Or a BlockMask, a mask of attention.masks, or
                     a function (b, h, q_idx, kv_idx) -> bool
        is_causal    masks keys after the query
        need_weights also return the weights of each head, before dropout
        average_attn_weights
                     with need_weights: return their mean over the heads instead
        bias         added to the scores: what broadcasts to (B, H, L, T), or an
                     OffsetBias; or a function (L, T, first) that makes it, such
                     as a T5RelativeBias
        score        a function (q, k, first) -> (B, H, L, T) that replaces the
                     scaled products of q (B, H, L, E) and k (B, Hk, T, E)
        rotate       a function (x, positions) -> x such as ``rope``, which rotates q
                     (B, H, L, E) and k (B, Hk, S, E); each row has a position
        positions    of the queries, for ``rotate``, and of the keys in self-attention;
                     None counts from 0, or from the length of the cache
        cache        a KVCache with the keys and values of earlier tokens, which T
                     includes. The last query has the position of the last key.
                     is_causal and a ``bias`` function take this into account; a mask by
                     distance needs offset="lower_right". lengths may be larger than
                     the number of keys so far
        normalize    a function (scores, allowed) -> weights that replaces the softmax,
                     as in ``attend``; all (B, H, L, T)
        choose       a function of the arrays q (B, H, L, E) and k (B, Hk, T, E) that
                     returns a BlockMask: keys chosen by their content, none of them
                     after the query

        A query may attend to a key if all masks allow it. A query with no allowed key
        has weights 0, and its output is the bias of W_o. Padding must be finite,
        because it enters the gradients of the projections.
        """
        need_weights = flag(NAME, "need_weights", need_weights)
        flag(NAME, "average_attn_weights", average_attn_weights)
        is_self_attention = key is None or _same_data(key, query)
        single = query.ndim == 2  # one example, without the axis B
        if single:
            query, key, value = (
                x if x is None or isinstance(x, FixedKVCache) else unsqueeze(x, 0)
                for x in (query, key, value)
            )
        if self.W_f is not None and not (is_self_attention and is_causal):
            raise ValueError(
                f"{NAME}: found forgetting without causal self-attention; expected "
                "is_causal=True, and no key."
            )
        if self.W_f is not None and score is not None:
            raise ValueError(
                f"{NAME}: found forgetting and a score; expected one of them."
            )
        if cache is not None and not is_self_attention:
            raise ValueError(
                f"{NAME}: found a cache and a key; expected a cache in self-attention "
                "only. Keys that stay the same are precompute(key, value), as the key."
            )
        key = query if key is None else key
        L = query.shape[1]
        q = heads(self.W_q, query, self.num_heads)  # (B, H, L, E)
        if self.g_q is not None:
            q = rms_norm(q, self.g_q, self.eps)
        k, v = self._keys_and_values(key, value, q)  # (B, Hk, S, E)
        if rotate is not None:
            if positions is None:
                start = 0 if cache is None else cache.length
                positions = np.arange(start, start + L)
            elif positions.ndim == 2:
                positions = positions[:, None]  # (B, 1, L)
            q = rotate(q, positions)
            k = rotate(k, positions if is_self_attention else np.arange(k.shape[2]))
        scale = 1 / math.sqrt(self.head_dim) if self.scale is None else self.scale
        if self.W_f is not None:
            gates = swapaxes(self.W_f(query), 1, 2)  # (B, Hk, L)
            k = concat([k, gates[..., None]], -1)  # a cache keeps them with the keys
        if cache is not None:
            k, v = cache.concatenate(self, k, v)  # (B, Hk, T, E)
        stored, T = k, k.shape[2]
        first = 0 if cache is None else T - L  # the position of the first query
        bias = bias(L, T, first) if callable(bias) else bias
        masks = {"mask": mask}
        if self.W_f is not None:
            k, f = k[..., :-1], k[..., -1]  # (B, Hk, T, E), (B, Hk, T)
            group = self.num_heads // self.num_kv_heads
            f = f[:, np.arange(self.num_heads) // group]  # (B, H, T)
            masks["gates"] = forgetting_bias.unchecked(f, L)
        check_axes(NAME, mask, q.ndim)
        if lengths is not None:
            masks["lengths"] = padding(
                lengths if cache is None else np.minimum(lengths, T)
            )
        if choose is not None:
            masks["choose"] = choose(q.data, k.data)
        elif is_causal and (cache is None or L > 1):  # one token may read all
            masks["is_causal"] = causal(offset=first)
        result = exact_attention(
            NAME, q, k, v, masks, bias=bias, scale=scale,
            dropout_p=self.dropout if self.training else 0.0, rng=self.rng,
            normalize=normalize, return_weights=need_weights,
            score=None if score is None else lambda q, k: score(q, k, first),
        )  # fmt: skip
        if cache is not None:
            cache.keep(self, stored, v)  # only now: the call has not raised
        c, weights = result if need_weights else (result, None)
        output = self.W_o(side_by_side(c))  # c (B, H, L, E)
        output = output[0] if single else output
        self.attention_weights = None
        if not need_weights:
            return output
        weights = weights[0] if single else weights  # (B, H, L, T) or (H, L, T)
        self.attention_weights = weights.detach()
        return output, weights.mean(-3) if average_attn_weights else weights

    @shapes
    def precompute(self, key, value=None):
        """Project keys and values once for many calls, which take the result as key.

        key (B, S, self.kdim) or (S, self.kdim),
        value? (B, S, self.vdim) or (S, self.vdim)  ->  ``FixedKVCache``
        """
        if key.ndim == 2:
            key = unsqueeze(key, 0)
            value = None if value is None else unsqueeze(value, 0)
        return FixedKVCache(self, *self._keys_and_values(key, value))

    def load_state_dict(self, state, strict=True):
        """Load a state of this layer; ``load_torch_state`` loads one of torch."""
        try:
            return super().load_state_dict(state, strict)
        except ValueError as error:
            if not {"in_proj_weight", "out_proj.weight"} & state.keys():
                raise
            raise ValueError(
                f"{error}\nThese are torch's names: use load_torch_state(layer, state)."
            ) from None

    def extra_repr(self):
        """Return the options, for ``repr``."""
        parts = [f"{self.embed_dim}, {self.num_heads}"]
        if self.num_kv_heads != self.num_heads:
            parts.append(f"num_kv_heads={self.num_kv_heads}")
        return ", ".join([*parts, f"dropout={self.dropout}"])

    def _keys_and_values(self, key, value, q=None):
        """Return k and v, (B, Hk, S, E)."""
        if isinstance(key, FixedKVCache):
            return key.rows(self, q)
        value = key if value is None else value
        Hk = self.num_kv_heads
        k, v = heads(self.W_k, key, Hk), heads(self.W_v, value, Hk)
        return k if self.g_k is None else rms_norm(k, self.g_k, self.eps), v


def heads(W, x, H):
    """Project a sequence and split the result into heads.

    x (..., n, width)  ->  (..., H, n, E), where W maps width to H E
    """
    y = W(x)  # (..., n, H E)
    y = reshape(y, (*y.shape[:-1], H, y.shape[-1] // H))  # (..., n, H, E)
    return swapaxes(y, -2, -3)


def side_by_side(c):
    """Join the heads of each token.    c (..., H, n, E)  ->  (..., n, H E)"""
    c = swapaxes(c, -2, -3)  # (..., n, H, E)
    return reshape(c, (*c.shape[:-2], c.shape[-2] * c.shape[-1]))


def check_heads(name, D, H):
    """Raise ValueError unless H heads divide the width D."""
    if D % H:
        raise ValueError(
            f"{name}: embed_dim is {D} and num_heads {H}; expected embed_dim to "
            f"be a multiple of num_heads, such as {-(-D // H) * H}."
        )


def biases(name, argument, value):
    """Return ``value`` if it is True, False, or "qkv": no bias of W_o."""
    if not (isinstance(value, bool) or value == "qkv"):
        raise ValueError(
            f"{name}: {argument} is {value!r}; expected True, False or 'qkv'."
        )
    return value


def draw_projections(W_qkv, W_o, rng, stacked=True):
    """Draw W_q, W_k and W_v Xavier-uniform, and set the biases of all four to 0.

    stacked   True: the bounds of the three matrices stacked; False: of each matrix
    """
    all_outputs = sum(W.out_features for W in W_qkv)
    for W in W_qkv:
        outputs = all_outputs if stacked else W.out_features
        a = math.sqrt(6 / (outputs + W.in_features))
        nn.init.uniform_(W.weight, -a, a, rng)
    for W in (*W_qkv, W_o):
        if W.bias is not None:
            nn.init.uniform_(W.bias, 0, 0, rng)


def _same_data(key, query):
    """Return whether key and query are the same array."""
    return not isinstance(key, FixedKVCache) and key._data is query._data


def _equal_heads(*arrays, H):
    return definitions.multi_head(*arrays, [definitions.scaled_dot_attention] * H)


ROWS = [
    Variant(
        "multi-head", _equal_heads, functools.partial(MultiHeadAttention, bias=False),
        "E, H",
        inputs="q (L, H*E), k (S, H*E), v (S, H*E)",
        parameters="W_q (H*E, H*E), W_k (Hk*E, H*E), W_v (Hk*Ev, H*E), W_o (H*E, H*Ev)",
        multiplications="L*H*E*H*E + S*Hk*(E + Ev)*H*E + L*H*Ev*H*E"
        " + H*(L*E + L*S*E + L*S*Ev)",
        options=dict(H=1),
        small=dict(H=2),
        about="""source: H attentions, of W_q q, W_k k and W_v v, joined by W_o
        can average values of several places separately
        cannot give a head more than D / H of the width
        lesson 10: what two heads can do and one cannot; Vaswani et al. 2017""",
    ),
]  # fmt: skip
