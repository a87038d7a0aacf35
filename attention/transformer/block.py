"""One block of a Transformer: tokens look at each other, then each thinks for itself.

    f(x):  self(x),  then cross(x, memory) in a decoder with a source,  then ffn(x)
    ffn(x) = W_2 a(W_1 x + b_1) + b_2

    post-norm    x = LN(x + f(x))         as first published
    pre-norm     x = x + f(LN(x))         a clear path from the last layer to the first

for each f in turn. With the norm before, the sum grows from block to block, and the
stack ends with one LN more; gradients reach every layer alike, and no warm-up is needed
(Xiong et al. 2020). 4 D^2 numbers an attention, 2 D hidden a feed-forward network.

Vaswani et al. 2017, sections 3.1 and 3.3.
"""

from minigrad import nn

from ..exact.multihead import MultiHeadAttention
from .config import ACTIVATIONS
from .schemes import shrink_queries


class FeedForward(nn.Module):
    """x (..., D)  ->  (..., D), each token for itself: W_2 a(W_1 x + b_1) + b_2."""

    def __init__(self, config, rng=None):
        D, hidden = config.width, config.feed_forward
        self.activation = config.activation
        self.linear1 = nn.Linear(D, hidden, config.bias, rng)
        self.linear2 = nn.Linear(hidden, D, config.bias, rng)
        self.dropout = nn.Dropout(config.dropout, rng)

    def forward(self, x):
        return self.linear2(self.dropout(ACTIVATIONS[self.activation](self.linear1(x))))

    def extra_repr(self):
        return repr(self.activation)


class Block(nn.Module):
    """x (B, L, D)  ->  (B, L, D), weights (B, H, L, S) of the cross-attention or None.

    config   a ``TransformerConfig``
    scheme   of schemes.py; it belongs to the stack of blocks, and is given in each call
    cross    whether it looks at a memory as well
    causal   whether no token sees one after it
    """

    def __init__(self, config, scheme, cross=False, causal=False, rng=None):
        D = config.width
        self.norm, self.causal = config.norm, causal
        self.self_attn = _attention(config, scheme.scale, rng)
        self.self_attn_norm = nn.LayerNorm(D)
        self.cross_attn = None
        if cross:
            self.cross_attn = _attention(config, scheme.cross_scale, rng)
            self.cross_attn_norm = nn.LayerNorm(D)
        self.feed_forward = FeedForward(config, rng)
        self.feed_forward_norm = nn.LayerNorm(D)
        self.dropout = nn.Dropout(config.dropout, rng)

    @property
    def torch_names(self):
        """What torch calls our parts, see attention/exact/torch_state.py."""
        names = {"feed_forward": "", "self_attn_norm": "norm1"}
        if self.cross_attn is None:
            return names | {"feed_forward_norm": "norm2"}
        names |= {"cross_attn": "multihead_attn", "cross_attn_norm": "norm2"}
        return names | {"feed_forward_norm": "norm3"}

    def forward(
        self,
        x,
        memory=None,
        *,
        scheme,
        valid_lens=None,
        mask=None,
        memory_lens=None,
        cache=None,
        need_weights=False,
    ):
        """x (B, L, D), memory (B, S, D) or what ``cross_attn.precompute`` made of one.

        valid_lens    (B,), of the tokens; mask, (B, 1, 1, L): which may be looked at
        memory_lens   (B,), of the memory
        cache         a KVCache of this block's tokens so far
        need_weights  whether the weights of the cross-attention are wanted
        """
        weights = None

        def itself(x):
            given = scheme.arguments(self.self_attn, x, cache)
            return self.self_attn(
                x,
                valid_lens=valid_lens,
                mask=mask,
                is_causal=self.causal,
                cache=cache,
                **given,
            )

        def across(x):
            nonlocal weights
            found = self.cross_attn(
                x, memory, valid_lens=memory_lens, need_weights=need_weights
            )
            found, weights = found if need_weights else (found, None)
            return found

        x = self._add(itself, self.self_attn_norm, x)
        if self.cross_attn is not None:
            x = self._add(across, self.cross_attn_norm, x)
        return self._add(self.feed_forward, self.feed_forward_norm, x), weights

    def _add(self, f, norm, x):
        if self.norm == "pre":
            return x + self.dropout(f(norm(x)))
        return norm(x + self.dropout(f(x)))

    def extra_repr(self):
        return f"{self.norm}-norm" + ", causal" * self.causal


def _attention(config, scale, rng):
    attention = MultiHeadAttention(
        config.width,
        config.heads,
        config.key_heads,
        config.dropout,
        config.bias,
        scale=scale,
        rng=rng,
    )
    if scale == 1:
        shrink_queries(attention)
    return attention
