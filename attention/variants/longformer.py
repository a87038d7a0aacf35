"""Longformer: a window for most tokens, and a few global tokens with their own weights.

    local token i:     q_i = W_q x_i,     k_j = W_k x_j,     v_j = W_v x_j
                       one softmax over the keys with |i - j| <= w / 2 and the keys of
                       the global tokens

    global token i:    q_i = W_q' x_i,    k_j = W_k' x_j,    v_j = W_v' x_j
                       a softmax over all keys

Every token attends to the global tokens, and they attend to every token, so information
passes between any two tokens in two layers. With n tokens, of which g are global, there
are about n (w + 2 g) scores instead of n^2. For classification the first token is
global; for question answering the tokens of the question are global.

The second projections W' start as copies of the first ones. Until they are trained, the
layer is attention with the mask sliding_window(w / 2, w / 2) | global_tokens(...).

Beltagy, Peters and Cohan 2020, section 3.1.
"""

import numpy as np

from minigrad import concat, nn, swapaxes, unsqueeze
from minigrad.arguments import between, broadcastable, flag, plain, probability, whole
from minigrad.shapes import shapes

from ..exact.multihead import check_heads, draw_projections, heads
from ..exact.sdpa import scaled_dot_product_attention
from ..masks import everything, from_array, padding, sliding_window
from ..masks.tokens import positions

NAME = "LongformerAttention"


class LongformerAttention(nn.Module):
    """Self-attention with H heads in windows, and some global tokens.

    num_heads   H, which divides embed_dim
    window      w, even: a token attends to w / 2 keys on either side, and to itself
    dropout     the probability that a weight is dropped, in training
    bias        whether the projections have biases
    rng         the generator of parameters and dropout; None is minigrad's own

    W_q, W_k, W_v, W_o  Linear, initialised as in MultiHeadAttention
    W_q_global, W_k_global, W_v_global
                        Linear, for global tokens; initially copies of W_q, W_k and W_v

    attention_weights   (B, H, L, L) after a call with need_weights, otherwise None

    Cost: 4 L D^2 for the projections, 2 L D^2 more if there are global tokens, and
    L (w + 1 + g) + g L scores. Scores are computed in tiles of 64 x 64; a tile with one
    allowed pair is computed whole, so adjacent global tokens cost less than scattered
    ones. Tiles are not stored, but the scores of fewer than 64 queries are, such as
    those of a few global tokens. need_weights computes the whole matrix instead.

    Beltagy et al. 2020, section 3.1.
    """

    def __init__(self, embed_dim, num_heads, window, dropout=0.0, bias=True, rng=None):
        self.embed_dim = D = whole(NAME, "embed_dim", embed_dim, least=1)
        self.num_heads = H = whole(NAME, "num_heads", num_heads, least=1)
        self.window = whole(NAME, "window", window, least=2)
        check_heads(NAME, D, H)
        if self.window % 2:
            raise ValueError(
                f"{NAME}: window is {window}; expected an even number, half of the "
                "keys on either side of a token."
            )
        self.dropout = probability(NAME, "dropout", dropout)
        self.rng, self.attention_weights = rng, None
        bias = flag(NAME, "bias", bias)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(D, D, bias, rng) for _ in range(4)
        )
        self.W_q_global, self.W_k_global, self.W_v_global = (
            nn.Linear(D, D, bias, rng) for _ in range(3)
        )
        draw_projections(self._local, self.W_o, rng)
        for W, copy in zip(self._local, self._global):
            copy.load_state_dict(W.state_dict())

    @shapes
    def forward(self, x, global_tokens=None, lengths=None, need_weights=False):
        """Compute the output; with need_weights, output and weights.

        x (B, L, self.embed_dim) or (L, self.embed_dim), lengths? (B,) int
            ->  output (B, L, self.embed_dim) or (L, self.embed_dim);
        output (B, L, self.embed_dim) or (L, self.embed_dim),
        weights (B, self.num_heads, L, L) or (self.num_heads, L, L)

        global_tokens  positions, counted from 0, the same in all examples; or bool
                       (L,) or (B, L), True = global; None: no token
        lengths        how many tokens of each example are keys, from the first
        need_weights   also return the weights of each head, before dropout. The rows of
                       global tokens are those of their own projections
        """
        need_weights = flag(NAME, "need_weights", need_weights)
        single = x.ndim == 2
        x = unsqueeze(x, 0) if single else x
        B, L, D = x.shape
        is_global = _global_marks(global_tokens, B, L)  # (B | 1, L)
        valid = everything if lengths is None else padding(lengths)
        mask = sliding_window(self.window // 2, self.window // 2)
        if is_global.any():
            mask = mask | from_array(is_global[:, None, None])  # True for global keys
        c, weights = self._attend(self._local, x, x, mask & valid, need_weights)
        if is_global.any():  # replace the rows of global tokens
            b = np.arange(B)[:, None]
            tokens, row = _rows_of_global_tokens(np.broadcast_to(is_global, (B, L)))
            c_global, weights_global = self._attend(
                self._global, x[b, tokens], x, valid, need_weights
            )
            c = concat([c, c_global], 1)[b, row]  # (B, L, H, E)
            if need_weights:
                weights = concat([weights, weights_global], 1)[b, row]  # (B, L, H, L)
        output = self.W_o(c.reshape(B, L, D))
        output = output[0] if single else output
        self.attention_weights = None  # no weights of an earlier call
        if not need_weights:
            return output
        weights = swapaxes(weights, 1, 2)  # (B, H, L, L)
        weights = weights[0] if single else weights
        self.attention_weights = weights.detach()
        return output, weights

    def extra_repr(self):
        sizes = f"{self.embed_dim}, {self.num_heads}, window={self.window}"
        return f"{sizes}, dropout={self.dropout}"

    @property
    def _local(self):
        return self.W_q, self.W_k, self.W_v

    @property
    def _global(self):
        return self.W_q_global, self.W_k_global, self.W_v_global

    def _attend(self, projections, x, y, mask, need_weights):
        """Attend with tokens x (B, n, D) to tokens y (B, L, D).

        Return the context (B, n, H, E) and the weights (B, n, H, L) or None.
        """
        q, k, v = (heads(W, z, self.num_heads) for W, z in zip(projections, (x, y, y)))
        results = scaled_dot_product_attention(
            q,
            k,
            v,
            mask,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
            return_weights=need_weights,
        )
        c, weights = results if need_weights else (results, None)
        return swapaxes(c, 1, 2), swapaxes(weights, 1, 2) if need_weights else None


def _rows_of_global_tokens(is_global):
    """Return the global tokens, and the row of each token after concatenation.

    is_global (B, L) bool  ->  tokens (B, g) ints, row (B, L) ints

    g is the largest number of global tokens of an example; the lists of the other
    examples are filled with local tokens. After the L rows of all tokens and the g rows
    of the global tokens are concatenated, row[b, i] is the row to use for token i.
    """
    g, L = is_global.sum(1).max(initial=0), is_global.shape[1]
    tokens = np.argsort(~is_global, axis=1, kind="stable")[:, :g]
    return tokens, np.where(is_global, L + is_global.cumsum(1) - 1, np.arange(L))


def _global_marks(global_tokens, B, L):
    """Return bool (B | 1, L): which tokens are global."""
    if global_tokens is None:
        return np.zeros((1, L), bool)
    marks = plain(global_tokens)
    if marks.dtype == bool:
        broadcastable(NAME, "global_tokens", marks.shape, (B, L))
        return np.atleast_2d(np.broadcast_to(marks, (*marks.shape[:-1], L)))
    tokens = positions(NAME, "global_tokens", global_tokens)
    between(NAME, "global_tokens", tokens, 0, L - 1, "positions of tokens")
    marks = np.zeros((1, L), bool)
    marks[0, tokens] = True
    return marks
