"""A translator: an encoder reads the source, and a decoder writes the target.

    x    = encoder(source)         each token attends to all tokens
    y_t  = decoder(target_in)_t    attends to y_0 ... y_t, and to all of x
    z_t  = W y_t                   the logits of target_out_t

W is the target's embedding table if ``tied``; source and target share the table if they
share the vocabulary. A decoder block has 4 (D^2 + D) + 2 D parameters more than an
encoder block, for the cross-attention and its norm (fewer with shared key heads).

Vaswani et al. 2017, section 3.
"""

import numpy as np

from minigrad import linear, nn
from minigrad.arguments import instance
from minigrad.shapes import shapes

from .config import EncoderDecoderConfig
from .decoding import Decoding, padding_mask
from .stack import Stack


class EncoderDecoder(nn.Module):
    """Predict each next token of a target from the source and the tokens before it.

    config   an ``EncoderDecoderConfig``
    rng      draws the parameters and the dropout; None uses minigrad's own generator
    """

    def __init__(self, config, rng=None):
        c = instance("EncoderDecoder", "config", config, EncoderDecoderConfig)
        self.config = c
        layers = c.layers if c.decoder_layers is None else c.decoder_layers
        self.encoder = Stack(c, c.vocabulary, c.layers, causal=False, rng=rng)
        V, table = c.target_vocabulary, None
        if V is None:
            V, table = c.vocabulary, self.encoder.embedding
        self.decoder = Stack(
            c, V, layers, causal=True, cross=True, table=table, rng=rng
        )
        self.output = None if c.tied else nn.Linear(c.width, V, False, rng)

    @shapes
    def forward(self, source, target_in, lengths=None, need_weights=False):
        """Return the logits, or (logits, weights) if need_weights.

        source (B, S) int, target_in (B, T) int, lengths? (B,) int
            ->  logits (B, T, V), or with a list of weights

        lengths   the numbers of tokens of the sources, followed by padding; None if all
                  have S. Padding of the target comes last, where no token attends to it
        weights   of the cross-attention, (B, H, T, S) for each block of the decoder,
                  without a graph
        """
        memory = self._encode(source, lengths)
        y, weights = self.decoder(
            target_in,
            memories=[memory] * len(self.decoder.blocks),
            lengths=lengths,
            need_weights=need_weights,
        )
        logits = self._logits(y)
        return (logits, weights) if need_weights else logits

    @shapes
    def start(self, source, lengths=None):
        """Read the source and return a ``Decoding`` with no target tokens.

        source (B, S) int, lengths? (B,) int  ->  a Decoding
        """
        memory = self._encode(source, lengths)
        memories = [b.cross_attn.precompute(memory) for b in self.decoder.blocks]
        padding = np.zeros(len(memory), np.intp)
        return Decoding(len(memories), padding, memories, lengths)

    @shapes
    def step(self, state, tokens):
        """Read one more token of each target; return logits (B, V), state, weights.

        tokens (B,) int  ->  three values

        weights (B, S) are those of the last block's cross-attention, averaged over its
        heads.
        """
        y, weights = self.decoder(
            state.column(tokens),
            state.positions(1),
            caches=state.caches,
            memories=state.memories,
            lengths=state.lengths,
            need_weights=True,
        )
        state.length += 1
        return self._logits(y[:, 0]), state, weights[-1].mean(1)[:, 0]

    def extend(self, length):
        """Prepare both sides for this length, see ``DecoderOnly.extend``."""
        self.encoder.scheme.extend(length)
        self.decoder.scheme.extend(length)

    def _encode(self, source, lengths):
        mask = padding_mask("EncoderDecoder", source, lengths)
        return self.encoder(source, mask=mask)[0]

    def _logits(self, y):
        if self.output is None:
            return linear.unchecked(y, self.decoder.embedding)
        return self.output(y)
