"""Heads with a state instead of attention, for a Transformer that reads in linear time.

    q = W_q x,  k = W_k x,  v = W_v x            of each head, (L, E)
    a_t = sigmoid(w_a . x_t + c)                 how much of the state stays
    "decay"   o = ``decay_attention`` of q / sqrt(E), k, v
    "delta"   o = ``delta_rule`` of q / |q|, k / |k|, v, with b_t = sigmoid(w_b . x_t)
    y = W_o [o_1 / rms(o_1); ...; o_H / rms(o_H)], with a gain for each coordinate

The outputs are no averages, and grow with the number of tokens that are remembered, so
each head is normalised. c starts as 3, so that little is forgotten at first.

A decoder keeps one matrix (E, E) for each head, however many tokens it has read. Tokens
have an order without positions: an earlier one has been forgotten more.

Dao and Gu 2024 (decay); Yang, Kautz and Hatamizadeh 2024 (delta).
"""

import numpy as np

from minigrad import nn, rms_norm, sigmoid, softplus, swapaxes, where
from minigrad.arguments import between, one_of, plain, whole
from minigrad.shapes import shapes

from ..exact.multihead import check_heads, heads, side_by_side
from .decay import decay_attention
from .delta_rule import delta_rule

RECURRENT = ("decay", "delta")


class RecurrentHeads(nn.Module):
    """Heads with a state, in the place of causal multi-head self-attention.

    W_q, W_k, W_v, W_o   Linear (D, D)
    W_a, W_b             Linear (H, D): the decay, and with "delta" the rate of writing
    gain                 (E,), of the normalised outputs, starts at 1
    """

    def __init__(self, embed_dim, num_heads, kind, bias=True, rng=None):
        D = self.embed_dim = whole("RecurrentHeads", "embed_dim", embed_dim, least=1)
        H = self.num_heads = whole("RecurrentHeads", "num_heads", num_heads, least=1)
        check_heads("RecurrentHeads", D, H)
        self.kind = one_of("RecurrentHeads", "kind", kind, RECURRENT)
        projections = (nn.Linear(D, D, bias, rng) for _ in range(4))
        self.W_q, self.W_k, self.W_v, self.W_o = projections
        self.W_a, self.W_b = nn.Linear(D, H, True, rng), None
        self.W_a.bias.data = np.full(H, 3.0, np.float32)
        if kind == "delta":
            self.W_b = nn.Linear(D, H, True, rng)
        self.gain = nn.Parameter(np.ones(D // H, np.float32))

    @shapes
    def forward(self, x, mask=None, cache=None):
        """Return the outputs of tokens that follow those of the cache.

        x (B, L, self.embed_dim), mask? (B, 1, 1, T) bool  ->  y (B, L, self.embed_dim)

        mask    False for padding, which is not written. The last L columns are those
                of x
        cache   a StateCache, which then holds the state after these tokens
        """
        L, scale = x.shape[1], (x.shape[2] // self.num_heads) ** -0.5
        if mask is not None:  # padding may be NaN
            x = where(mask[:, 0, 0, -L:, None], x, 0.0)
        q, k, v = (heads(W, x, self.num_heads) for W in (self.W_q, self.W_k, self.W_v))
        state = None if cache is None else cache.state
        # ln sigmoid(z) = -softplus(-z), without exp(z) that overflows
        log_a = swapaxes(-softplus(-self.W_a(x)), 1, 2)  # (B, H, L)
        if self.kind == "delta":
            q, k = rms_norm(q), rms_norm(k) * scale  # k of length 1
        if mask is not None:
            k = where(mask[:, :, 0, -L:, None], k, 0.0)
        if self.kind == "delta":
            beta = swapaxes(sigmoid(self.W_b(x)), 1, 2)
            o, state = delta_rule(q * scale, k, v, beta, log_a, state)
        else:
            o, state = decay_attention(q * scale, k, v, log_a, state)
        if cache is not None:
            cache.state = state
        return self.W_o(side_by_side(rms_norm(o, self.gain)))

    def extra_repr(self):
        return f"{self.kind!r}, heads={self.num_heads}"


class StateCache:
    """The state (B, H, E, E) of ``RecurrentHeads``; None before any token."""

    def __init__(self):
        self.state = None

    def select(self, indices):
        """Replace example n by example indices[n], such as the prefixes of a beam."""
        if self.state is not None:
            last, what = len(self.state) - 1, "the numbers of the examples"
            indices = between("StateCache", "indices", plain(indices), 0, last, what)
            self.state = self.state[indices]
