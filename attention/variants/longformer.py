"""Longformer: a window for most tokens, and a few that see all and are seen by all.

    a local token i:    q_i = W_q x_i        asks  k_j = W_k x_j,    v_j = W_v x_j
                        over the keys |i - j| <= w / 2 and those of the global tokens,
                        one softmax over both together

    a global token i:   q_i = W_q' x_i       asks  k_j = W_k' x_j,   v_j = W_v' x_j
                        over all keys

What a document is about is asked from everywhere, and answers to everybody; all else
can be said nearby. So n tokens, g of them global, cost n (w + g) scores and not n^2. A
classifier makes its first token global, a reader of questions those of the question.

The second projections W' let a global token ask in other terms than a local one. They
start as copies of the first, and until they are trained this is the attention of the
mask sliding_window(w / 2, w / 2) | global_tokens(...).

Beltagy, Peters and Cohan 2020, section 3.1.
"""

import numpy as np

from minigrad import concat, nn, swapaxes, unsqueeze
from minigrad.checks import probability

from ..checks import between, flag, floats, plain, whole, wholes
from ..exact.multihead import check_heads, draw, heads
from ..exact.sdpa import scaled_dot_product_attention
from ..masks import Mask, everything, padding, sliding_window
from ..masks.tokens import positions

NAME = "LongformerAttention"


class LongformerAttention(nn.Module):
    """H heads of self-attention in windows, with some global tokens.

        layer(x, global_tokens=None, valid_lens=None)  ->  output (B, L, embed_dim)

    x (B, L, embed_dim), or (L, embed_dim) for one example.

    num_heads   H, which divides embed_dim
    window      w, even: a token attends to w / 2 keys on either side, and to itself,
                w + 1 in all, and fewer at the ends
    dropout     the probability that a weight is dropped, in training
    bias        whether the projections have biases
    rng         draws the parameters and the dropout; None takes minigrad's own

    attention_weights   as of MultiHeadAttention: (B, H, L, L) after a call with
                        need_weights, None after any other

    W_q, W_k, W_v, W_o  Linear, from the values of MultiHeadAttention
    W_q_global, W_k_global, W_v_global
                        of what global tokens ask: Linear, from the values of W_q, W_k
                        and W_v. A call without global tokens leaves them alone

    Cost: 4 L D^2 for the projections and 2 L D^2 more if there are global tokens, then
    L (w + 1 + g) + g L scores. They come in tiles of 64 x 64, and one with a single
    allowed pair is computed whole: global tokens that stand together cost less than as
    many far apart. No tile is kept, but need_weights has the whole matrix.

    Raises ValueError for widths and heads that do not divide and for an odd window,
    TypeError for what are not whole numbers.
    Source: Beltagy et al. 2020, section 3.1.
    """

    def __init__(self, embed_dim, num_heads, window, dropout=0.0, bias=True, rng=None):
        self.embed_dim = D = whole(NAME, "embed_dim", embed_dim, least=1)
        self.num_heads = H = whole(NAME, "num_heads", num_heads, least=1)
        self.window = whole(NAME, "window", window, least=2)
        check_heads(NAME, D, H)
        if self.window % 2:
            raise ValueError(
                f"{NAME}: window is {window}; expected an even number of keys, as many "
                "before a token as after it."
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
        first = self.W_q, self.W_k, self.W_v
        draw(first, self.W_o, rng)
        for W, copy in zip(first, (self.W_q_global, self.W_k_global, self.W_v_global)):
            copy.load_state_dict(W.state_dict())

    def forward(self, x, global_tokens=None, valid_lens=None, need_weights=False):
        """output (B, L, embed_dim); or (output, weights (B, H, L, L)) if need_weights.

        global_tokens  positions, counted from 0, the same in all examples; or bool,
                       (L,) or (B, L), True = global; None: no token is
        valid_lens     (B,): only the first so many tokens of each example are keys
        need_weights   also the weights of each head, before dropout: the rows of global
                       tokens are those of their own projections

        A global token beyond the length of its example is masked, like any other token
        there.

        Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
        """
        need_weights = flag(NAME, "need_weights", need_weights)
        x, alone = _rows(x, self.embed_dim)
        B, L, D = x.shape
        marked, valid = _marked(global_tokens, B, L), _valid(valid_lens, B, L)
        near = sliding_window(self.window // 2, self.window // 2)
        some = marked.any()
        seen = near | _Marked(marked) if some else near
        local = self.W_q, self.W_k, self.W_v
        c, weights = self._attended(local, x, x, seen & valid, need_weights)
        if some:
            b = np.arange(B)[:, None]
            asking, place = _places(np.broadcast_to(marked, (B, L)))
            own = self.W_q_global, self.W_k_global, self.W_v_global
            # what global tokens have found so far, by the first projections, is dropped
            found = self._attended(own, x[b, asking], x, valid, need_weights)
            c = concat([c, found[0]], 1)[b, place]  # (B, L, H, E)
            if need_weights:
                weights = concat([weights, found[1]], 1)[b, place]  # (B, L, H, L)
        output = self.W_o(c.reshape(B, L, D))
        output = output[0] if alone else output
        self.attention_weights = None  # those of an earlier call would mislead
        if not need_weights:
            return output
        weights = swapaxes(weights, 1, 2)  # (B, H, L, L)
        weights = weights[0] if alone else weights
        self.attention_weights = weights.detach()
        return output, weights

    def extra_repr(self):
        sizes = f"{self.embed_dim}, {self.num_heads}, window={self.window}"
        return f"{sizes}, dropout={self.dropout}"

    def _attended(self, projections, x, y, mask, need_weights):
        """What x (B, n, D) finds in y: c (B, n, H, E), weights (B, n, H, L) or None."""
        q, k, v = (heads(W, z, self.num_heads) for W, z in zip(projections, (x, y, y)))
        found = scaled_dot_product_attention(
            q,
            k,
            v,
            mask_mod=mask,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
            return_weights=need_weights,
        )
        c, weights = found if need_weights else (found, None)
        return swapaxes(c, 1, 2), swapaxes(weights, 1, 2) if need_weights else None


class _Marked(Mask):
    """Keys that everybody may attend to: those that are marked, bool (B | 1, S)."""

    def __init__(self, marked):
        self.marked = marked
        self.examples = len(marked) if len(marked) > 1 else None

    def allowed(self, b, h, q, kv):
        return self.marked[b if self.examples is not None else 0, kv]

    def tile_kinds(self, tiles):
        nobody = np.zeros(tiles.L, bool)
        each = [tiles.of_tokens(nobody, keys) for keys in self.marked]
        return np.stack(each)[:, None]  # (B | 1, 1, nq, nk)

    def __repr__(self):
        return f"global keys {self.marked.shape}"


def _places(marked):
    """Where the global tokens stand, and where the row of each token will be found.

    marked (B, L) bool  ->  asking (B, g) ints, place (B, L) ints

    g is the largest number of them in an example; others fill up their row with local
    tokens. Row place[b, i] of the local rows followed by the global ones is that of i.
    """
    g, L = marked.sum(1).max(initial=0), marked.shape[1]
    asking = np.argsort(~marked, axis=1, kind="stable")[:, :g]
    return asking, np.where(marked, L + marked.cumsum(1) - 1, np.arange(L))


def _rows(x, D):
    """x as a Tensor (B, L, D), and whether the axis B is new."""
    x = floats(NAME, "x", x)
    if x.ndim not in (2, 3) or x.shape[-1] != D:
        raise ValueError(
            f"{NAME}: x has shape {x.shape}; expected (B, L, {D}), or (L, {D}) for one "
            "example."
        )
    return (unsqueeze(x, 0), True) if x.ndim == 2 else (x, False)


def _marked(global_tokens, B, L):
    """bool (B | 1, L): which tokens are global."""
    if global_tokens is None:
        return np.zeros((1, L), bool)
    given = plain(global_tokens)
    if given.dtype == bool:
        if given.shape not in ((L,), (1, L), (B, L)):
            raise ValueError(
                f"{NAME}: global_tokens has shape {given.shape}; expected bool "
                f"{(B, L)}, or {(L,)} if all examples are alike."
            )
        return np.atleast_2d(given)
    if given.ndim != 1:
        raise ValueError(
            f"{NAME}: global_tokens has shape {given.shape}; expected (n,), a list of "
            "positions, or bool (B, L), where True = global."
        )
    where = positions(NAME, "global_tokens", given)
    between(NAME, "global_tokens", where, 0, L - 1, "positions of tokens")
    marked = np.zeros((1, L), bool)
    marked[0, where] = True
    return marked


def _valid(valid_lens, B, L):
    """The mask of the keys that are no padding."""
    if valid_lens is None:
        return everything
    lens = wholes(NAME, "valid_lens", valid_lens, {1: "(B,), one for each example"})
    if len(lens) != B:
        raise ValueError(
            f"{NAME}: valid_lens has shape {lens.shape}; expected {(B,)}, one length "
            "for each example."
        )
    between(NAME, "valid_lens", lens, 0, L, "the number of tokens")
    return padding(lens)
