"""A language model: blocks of causal self-attention, each token from those before it.

    x_i    = c E[token_i] + P_i              c = sqrt(D) or 1; P by the scheme, or none
    x      = block(x) for each block, in which i sees j <= i
    z_i    = W LN(x_i)                       pre-norm; post-norm mostly without this LN
    p(token_{i+1} = v | token_0 ... token_i) = softmax(z_i)_v

W is E, if ``tied``: what a token means when it is read and when it is said. Parameters,
for width D, hidden F, kv = Hk / H, with biases:

    V D  +  layers ((2 + 2 kv) (D^2 + D) + 2 D F + F + D + 4 D)
         +  2 D for the last LN  +  V D unless tied  +  those of the scheme

Radford et al. 2018; Liu et al. 2018, section 4.2.3.
"""

import math

import numpy as np

from minigrad import embedding, linear, nn

from .block import Block
from .config import TransformerConfig
from .decoding import Decoding, to_the_right
from .inputs import checked_ids, checked_lengths, checked_tokens
from .schemes import scheme_of


class Stack(nn.Module):
    """Words, positions, and blocks: what encoders and decoders share.

    The table of the words is N(0, 1 / D), so that logits that it makes are of size 1.
    """

    torch_names = {"blocks": "layers", "final_norm": "norm"}

    def __init__(
        self, config, vocabulary, layers, causal, cross=False, table=None, rng=None
    ):
        self.config = config
        if table is None:
            table = nn.Parameter(np.empty((vocabulary, config.width), np.float32))
            nn.init.normal_(table, std=config.width**-0.5, rng=rng)
        self.embedding = table
        self.scheme = scheme_of(config, causal, rng)
        self.blocks = [
            Block(config, self.scheme, cross, causal, rng) for _ in range(layers)
        ]
        self.final_norm = nn.LayerNorm(config.width) if config.ends_with_norm else None
        self.dropout = nn.Dropout(config.dropout, rng)

    def forward(self, ids, at=None, caches=None, memories=None, **options):
        """ids (B, n)  ->  (B, n, D), and the weights of each block, or None.

        at        positions, (n,) or (B, n); None counts from 0
        caches, memories   one for each block
        options   of ``Block``
        """
        at = np.arange(ids.shape[1]) if at is None else at
        x = embedding(ids, self.embedding)  # (B, n, D)
        if self.config.scale_embedding:
            x = x * math.sqrt(self.config.width)
        x = self.dropout(self.scheme.embed(x, at))
        none = [None] * len(self.blocks)
        seen = []
        for block, cache, memory in zip(self.blocks, caches or none, memories or none):
            x, weights = block(x, memory, scheme=self.scheme, cache=cache, **options)
            seen.append(weights)
        return x if self.final_norm is None else self.final_norm(x), seen


class DecoderOnly(nn.Module):
    """ids (B, L)  ->  logits (B, L, V) of what follows each of them.

    config   a ``TransformerConfig``
    rng      draws parameters and dropout; None takes minigrad's own generator
    """

    def __init__(self, config, rng=None):
        if not isinstance(config, TransformerConfig):
            raise TypeError(
                f"DecoderOnly: config is a {type(config).__name__}; expected a "
                "TransformerConfig."
            )
        self.config = config
        self.decoder = Stack(config, config.vocabulary, config.layers, True, rng=rng)
        self.output = None
        if not config.tied:
            self.output = nn.Linear(config.width, config.vocabulary, False, rng)

    def forward(self, ids, lengths=None):
        """Logits (B, L, V); those at padding mean nothing.

        ids       (B, L), whole numbers from 0 to V - 1
        lengths   (B,), how many of a row are tokens; what follows is padding. No token
                  sees it in any case, for it comes later

        Raises TypeError and ValueError for what does not fit, and what the scheme
        raises for sequences that are too long for it.
        """
        ids = checked_ids(self, "ids", ids, self.config.vocabulary)
        lengths = checked_lengths(self, lengths, ids)
        y, _ = self.decoder(ids, valid_lens=lengths)
        return self._logits(y)

    def start(self, source, lengths=None):
        """A ``Decoding`` that has read the prompts, source (B, n); n may be 0.

        Its ``logits`` (B, V) are of what follows them; None if n is 0. Those of a
        prompt of length 0 among others mean nothing.
        """
        ids = checked_ids(self, "source", source, self.config.vocabulary, least=0)
        lengths = checked_lengths(self, lengths, ids)
        ids, padding = to_the_right(ids, lengths)
        state = Decoding(self.config.layers, padding)
        if ids.shape[1]:
            state.logits = self._read(state, ids)
        return state

    def step(self, state, tokens):
        """One token more for each row: (logits (B, V) of what follows, state, None)."""
        ids = checked_tokens(self, tokens, self.config.vocabulary, len(state))
        return self._read(state, ids), state, None

    def extend(self, length):
        """Make ready for sequences of this length, longer than in training.

        "rope+..." slows its rotations down; "learned" refuses what its table has not;
        nothing else has anything to do.
        """
        self.decoder.scheme.extend(length)

    def _read(self, state, ids):
        n = ids.shape[1]
        y, _ = self.decoder(
            ids, state.positions(n), caches=state.caches, mask=state.mask(n)
        )
        state.length += n
        return self._logits(y[:, -1])

    def _logits(self, y):
        if self.output is None:
            return linear(y, self.decoder.embedding)
        return self.output(y)
