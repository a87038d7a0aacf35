"""A language model: blocks of causal self-attention predict each next token.

    y = stack(tokens)                        in which i attends to j <= i
    z_i = W y_i
    p(token_{i+1} = v | token_0 ... token_i) = softmax(z_i)_v

W is the embedding table E if ``tied``. Parameters, for width D, hidden width F, and
r = Hk / H, with biases, layer norms and heads of width D / H:

    V D  +  layers ((2 + 2 r) (D^2 + D) + 2 D F + F + D + 4 D)
         +  2 D for the last LN  +  V D unless tied  +  those of the scheme

and in each layer H for "sink", 2 D / H for "qk-norm", r H (D + 1) for "forgetting",
D / H + H (D + 1) for "decay", H (D + 1) more for "delta", and D F + F for a "gated"
network. With "latent", of R numbers and a rotated part of width F, attention has
(2 D + 2 R + H F) D + (R + F) D + R numbers, without biases, in the place of
(2 + 2 r) (D^2 + D).

Radford et al. 2018; Liu et al. 2018, section 4.2.3.
"""

from minigrad import Tensor, linear, nn
from minigrad.arguments import instance
from minigrad.shapes import shapes

from ..exact.kv_cache import KVCache
from ..variants.recurrent_heads import RECURRENT, StateCache
from . import one_token
from .config import TransformerConfig
from .decoding import Decoding, padding_mask, right_aligned
from .stack import Stack


class DecoderOnly(nn.Module):
    """Predict each next token from the tokens before it.

    config   a ``TransformerConfig``
    rng      draws the parameters and the dropout; None uses minigrad's own generator
    """

    def __init__(self, config, rng=None):
        self.config = instance("DecoderOnly", "config", config, TransformerConfig)
        self.decoder = Stack(
            config, config.vocabulary, config.layers, causal=True, rng=rng
        )
        self.output = None
        if not config.tied:
            self.output = nn.Linear(config.width, config.vocabulary, False, rng)

    @shapes
    def forward(self, ids, lengths=None):
        """Return the logits of the token after each token.

        ids (B, n) int, lengths? (B,) int  ->  logits (B, n, V)

        lengths   the number of tokens in each row, followed by padding; None if all
                  have n. No token attends to padding, because padding comes after it.
                  The logits at padding have no meaning
        """
        y, _ = self.decoder(ids, mask=padding_mask("DecoderOnly", ids, lengths))
        return self._logits(y)

    @shapes
    def start(self, source, lengths=None):
        """Read the prompts and return a ``Decoding``; its logits follow the prompts.

        source (B, n) int, lengths? (B,) int  ->  a Decoding

        If n is 0, the logits are None. A row of length 0 in a longer batch has logits
        without meaning.
        """
        padding_mask("DecoderOnly", source, lengths)  # raises for wrong lengths
        ids, padding = right_aligned(source, lengths)
        cache = StateCache if self.config.attention in RECURRENT else KVCache
        state = Decoding(self.config.layers, padding, cache=cache)
        if ids.shape[1]:
            state.logits = self._read(state, ids)
        return state

    @shapes
    def step(self, state, tokens):
        """Read one more token of each row.

        tokens (B,) int  ->  three values: the logits (B, V) of the next, state, None
        """
        return self._read(state, state.column(tokens)), state, None

    def extend(self, length):
        """Prepare for sequences of this length, longer than in training.

        "rope+..." reduces its frequencies; "learned" raises IndexError if its table is
        too short; the other schemes do nothing.
        """
        self.decoder.scheme.extend(length)

    def _read(self, state, ids):
        n, stack = ids.shape[1], self.decoder
        positions = state.positions(n)
        if n == 1 and one_token.fits(self, state):
            x = stack.embed(ids, positions)._data[:, 0]
            x = one_token.blocks(stack, x, positions, state.caches)
            y = stack.normed(Tensor._from_array(x))  # (B, D)
        else:
            y, _ = stack(ids, positions, caches=state.caches, mask=state.mask(n))
            y = y[:, -1]
        state.length += n
        return self._logits(y)

    def _logits(self, y):
        if self.output is None:
            return linear.unchecked(y, self.decoder.embedding)
        return self.output(y)
