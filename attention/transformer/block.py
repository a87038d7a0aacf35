"""One block of a Transformer: attention between tokens, then a network for each token.

    f(x):  self_attn(x),  then cross_attn(x, memory) with a source,  then ffn(x)
    ffn(x) = W_2 a(W_1 x + b_1) + b_2                     a: the activation
    or       W_down (a(W_gate x) * W_up x)                "gated"; with a = silu, SwiGLU

    post-norm    x = LN(x + f(x))         as first published
    pre-norm     x = x + f(LN(x))

for each f in turn, where LN is a layer norm or ``rms_norm``. In pre-norm, x is a sum
that no LN changes: it grows from block to block, and the stack of blocks ends with one
more LN. The gradients have about the same size in every layer, and training needs no
warm-up (Xiong et al. 2020). For tokens of width D, an attention has 4 D^2 weights, a
network of hidden width F has 2 D F, and 3 D F if gated.

Vaswani et al. 2017, sections 3.1 and 3.3; Shazeer 2020 (gated networks).
"""

import math

from minigrad import nn
from minigrad.shapes import shapes

from ..exact.multihead import MultiHeadAttention
from ..masks import from_array, sliding_window
from ..variants.chosen_blocks import FIRST, choose_blocks, in_tiles
from ..variants.latent import LatentAttention
from ..variants.recurrent_heads import RECURRENT, RecurrentHeads
from ..variants.table import NORMALIZERS
from .config import ACTIVATIONS, CAUSAL, OWN_KEYS


class FeedForward(nn.Module):
    """W_2 a(W_1 x + b_1) + b_2, for each token alone."""

    def __init__(self, config, rng=None):
        self.width, hidden = config.width, config.hidden_width
        self.activation = config.activation
        bias = config.bias is True
        self.linear1 = nn.Linear(self.width, hidden, bias, rng)
        self.linear2 = nn.Linear(hidden, self.width, bias, rng)
        self.dropout = nn.Dropout(config.dropout, rng)

    @shapes
    def forward(self, x):
        """x (..., self.width)  ->  y (..., self.width)"""
        hidden = ACTIVATIONS[self.activation](self.linear1(x))  # (..., F)
        return self.linear2(self.dropout(hidden))

    def extra_repr(self):
        return repr(self.activation)


class GatedFeedForward(nn.Module):
    """W_down (a(W_gate x) * W_up x), for each token alone.

    Each hidden entry is a product of two linear maps, one of them through the
    activation a: x decides how much of x passes. With a = silu it is called SwiGLU.
    """

    def __init__(self, config, rng=None):
        self.width, hidden = config.width, config.hidden_width
        self.activation, bias = config.activation, config.bias is True
        self.gate = nn.Linear(self.width, hidden, bias, rng)
        self.up = nn.Linear(self.width, hidden, bias, rng)
        self.down = nn.Linear(hidden, self.width, bias, rng)
        self.dropout = nn.Dropout(config.dropout, rng)

    @shapes
    def forward(self, x):
        """x (..., self.width)  ->  y (..., self.width)"""
        hidden = ACTIVATIONS[self.activation](self.gate(x)) * self.up(x)  # (..., F)
        return self.down(self.dropout(hidden))

    extra_repr = FeedForward.extra_repr


NETWORKS = {"mlp": FeedForward, "gated": GatedFeedForward}


class Block(nn.Module):
    """Self-attention, cross-attention if there is a source, and a feed-forward network.

    config   a ``TransformerConfig``
    scheme   the positions, see positions/scheme.py. All blocks of a stack share the
             scheme; the stack holds its parameters and passes it to each call
    cross    whether the block attends to a memory as well
    causal   whether tokens attend to themselves and earlier tokens only
    """

    def __init__(self, config, scheme, cross=False, causal=False, rng=None):
        self.width = config.width
        self.norm, self.causal = config.norm, causal
        _check_fit(config, scheme, causal)
        self.has_state = config.attention in RECURRENT
        self.chosen = None  # the size of blocks, and how many a query reads
        if config.attention == "blocks":
            self.chosen = config.block, config.best_blocks
        self.window = config.window if config.attention == "window" else None
        self.self_attn = _self_attention(config, scheme.scale, rng, causal)
        self.normalize = None  # the softmax
        if config.attention in NORMALIZERS and config.attention != "softmax":
            self.normalize = NORMALIZERS[config.attention].of_heads(config.heads)
        self.self_attn_norm = config.new_norm()
        self.cross_attn = None
        if cross:
            self.cross_attn = _attention(config, scheme.cross_scale, rng)
            self.cross_attn_norm = config.new_norm()
        self.feed_forward = NETWORKS[config.feed_forward](config, rng)
        self.feed_forward_norm = config.new_norm()
        self.dropout = nn.Dropout(config.dropout, rng)

    @property
    def torch_names(self):
        """The names of the parts in torch, see attention/exact/torch_state.py."""
        names = {"feed_forward": "", "self_attn_norm": "norm1"}
        if self.cross_attn is None:
            return names | {"feed_forward_norm": "norm2"}
        names |= {"cross_attn": "multihead_attn", "cross_attn_norm": "norm2"}
        return names | {"feed_forward_norm": "norm3"}

    @shapes
    def forward(
        self,
        x,
        memory=None,
        *,
        scheme,
        positions=None,
        mask=None,
        lengths=None,
        cache=None,
        need_weights=False,
    ):
        """Return the new x, and the weights of the cross-attention or None.

        x (B, L, self.width), memory? (B, S, self.width) or FixedKVCache,
        positions? (L,) or (B, L) int, mask? (B, 1, 1, T) bool, lengths? (B,) int
            ->  y (B, L, self.width), weights? (B, H, L, S)

        positions     of the tokens in their texts; None counts from 0
        memory        the encoder's output, or the result of ``cross_attn.precompute``
        mask          True for tokens, False for padding, of all T tokens with the cache
        lengths       the number of tokens of each memory, followed by padding
        cache         a KVCache with the earlier tokens of this block; a StateCache if
                      it has a memory
        need_weights  whether to return the weights, without their graph
        """

        def self_attention(x):
            if self.has_state:
                return self.self_attn(x, mask, cache)
            options = scheme.options(self.self_attn, positions)
            if self.chosen:
                options |= {"choose": self._choice(mask)}
            return self.self_attn(
                x,
                mask=mask if self.window is None else self._in_window(mask),
                is_causal=self.causal and self.window is None,
                cache=cache,
                normalize=self.normalize,
                **options,
            )

        def cross_attention(x):
            result = self.cross_attn(
                x, memory, lengths=lengths, need_weights=need_weights
            )
            return result[0] if need_weights else result

        x, weights = self._residual(self_attention, self.self_attn_norm, x), None
        if self.cross_attn is not None:
            x = self._residual(cross_attention, self.cross_attn_norm, x)
            weights = self.cross_attn.attention_weights
        return self._residual(self.feed_forward, self.feed_forward_norm, x), weights

    def _residual(self, f, norm, x):
        if self.norm == "pre":
            return x + self.dropout(f(norm(x)))
        return norm(x + self.dropout(f(x)))

    def _in_window(self, mask):
        """Return the mask of the last tokens, without padding."""
        window = sliding_window(self.window - 1, 0, "lower_right")
        return window if mask is None else from_array(mask) & window

    def _choice(self, mask):
        """Return the function that chooses blocks, from a row's first token on."""
        first = FIRST if mask is None else mask[:, 0, 0].argmax(-1)  # (B,)

        def choose(q, k):
            chosen = choose_blocks(q, k, *self.chosen, first)
            return in_tiles(chosen, q.shape[-2], k.shape[-2])

        return choose

    def extra_repr(self):
        return f"{self.norm}-norm" + ", causal" * self.causal


def _check_fit(config, scheme, causal):
    """Raise ValueError unless attention, positions and block fit together."""
    kind, name = config.attention, type(config).__name__
    found = f"{name}: attention is {kind!r} and "
    if kind in CAUSAL and not causal:
        raise ValueError(
            f"{found}a block is not causal; expected a DecoderOnly, or causal=True: "
            f"{kind!r} reads earlier tokens only."
        )
    if kind in OWN_KEYS and scheme.changes not in ("nothing", "input"):
        raise ValueError(
            f"{found}positions {config.positions!r}, which change {scheme.changes}; "
            "expected positions that change the input, or none."
        )
    for option in ("key_heads", "head_width", "bias"):
        value, default = getattr(config, option), getattr(type(config), option)
        if kind in OWN_KEYS and value is not None and not isinstance(value, bool):
            raise ValueError(
                f"{found}{option} {value!r}; expected {default}: {kind!r} makes the "
                "keys of each head."
            )
    if config.interleaved and not config.positions.startswith("rope"):
        raise ValueError(
            f"{name}: interleaved is True and positions {config.positions!r}; expected "
            "interleaved pairs of 'rope' only."
        )
    if kind == "forgetting" and causal and scheme.replaces:
        raise ValueError(
            f"{found}positions {config.positions!r}, which replace the products that "
            "the gates are added to; expected positions that add a bias, rotate, or "
            "change the input."
        )


def _self_attention(config, scale, rng, causal):
    D, H, kind = config.width, config.heads, config.attention
    if kind in RECURRENT:
        return RecurrentHeads(D, H, kind, config.bias, rng)
    if kind == "latent":
        rotated = 2 * max(D // H // 4, 1)
        return LatentAttention(D, H, config.latent, rotated, rng, config.dropout)
    options = {
        "qk_norm": kind == "qk-norm",
        "eps": 1e-6 if config.eps is None else config.eps,
        "forgetting": kind == "forgetting" and causal,
    }
    return _attention(config, scale, rng, **options)


def _attention(config, scale, rng, **kind):
    attention = MultiHeadAttention(
        config.width,
        config.heads,
        config.key_heads,
        config.dropout,
        config.bias,
        head_dim=config.head_size,
        scale=scale,
        rng=rng,
        **kind,
    )
    if scale == 1:  # T5: a smaller W_q replaces the factor 1 / sqrt(E) of the scores
        W = attention.W_q.weight
        W.data = W.data / math.sqrt(attention.head_dim)
    return attention
