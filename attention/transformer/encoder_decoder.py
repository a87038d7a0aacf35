"""A translator: an encoder reads the source, a decoder writes, and looks at it.

    x    = encoder(source)         every token sees every token
    y_t  = decoder(target_in)_t    sees y_0 ... y_t, and all of x
    z_t  = W y_t                   logits of target_out_t

W is the target's table of words if ``tied``; with one vocabulary, source and target
share that as well. A decoder's block has 4 (D^2 + D) + 2 D parameters more than one of
an encoder, for the cross-attention and its norm (fewer with shared key heads).

Vaswani et al. 2017, section 3.
"""

import numpy as np

from minigrad import linear, nn

from .config import EncoderDecoderConfig
from .decoder_only import Stack
from .decoding import Decoding
from .inputs import checked_ids, checked_lengths, checked_tokens


class EncoderDecoder(nn.Module):
    """source (B, S), target_in (B, T)  ->  logits (B, T, V).

    config   an ``EncoderDecoderConfig``
    rng      draws parameters and dropout; None takes minigrad's own generator
    """

    def __init__(self, config, rng=None):
        if not isinstance(config, EncoderDecoderConfig):
            raise TypeError(
                f"EncoderDecoder: config is a {type(config).__name__}; expected an "
                "EncoderDecoderConfig."
            )
        self.config = config
        V = config.target_vocabulary
        T = config.layers if config.decoder_layers is None else config.decoder_layers
        self.encoder = Stack(config, config.vocabulary, config.layers, False, rng=rng)
        shared = self.encoder.embedding if V is None else None
        self.decoder = Stack(config, V, T, True, True, shared, rng)
        self.output = None
        if not config.tied:
            self.output = nn.Linear(config.width, self.target_vocabulary, False, rng)

    @property
    def target_vocabulary(self):
        V = self.config.target_vocabulary
        return self.config.vocabulary if V is None else V

    def forward(self, source, target_in, lengths=None, need_weights=False):
        """logits (B, T, V); or (logits, weights) if need_weights.

        source (B, S), target_in (B, T)   whole numbers, ids of their vocabularies
        lengths   (B,), how many of a row of the source are tokens; padding follows, and
                  nobody looks at it. Padding of the target comes last, where no token
                  looks
        weights   of the cross-attention, (B, H, T, S) for each block of the decoder

        Raises TypeError and ValueError for what does not fit, and what the scheme
        raises for sequences that are too long for it.
        """
        memory, lengths = self._encode(source, lengths)
        target = checked_ids(
            self, "target_in", target_in, self.target_vocabulary, len(memory)
        )
        y, weights = self.decoder(
            target,
            memories=[memory] * len(self.decoder.blocks),
            memory_lens=lengths,
            need_weights=need_weights,
        )
        logits = self._logits(y)
        return (logits, weights) if need_weights else logits

    def start(self, source, lengths=None):
        """A ``Decoding`` that has read the source, (B, S), and written nothing."""
        memory, lengths = self._encode(source, lengths)
        memories = [b.cross_attn.precompute(memory) for b in self.decoder.blocks]
        padding = np.zeros(len(memory), np.intp)
        return Decoding(len(memories), padding, memories, lengths)

    def step(self, state, tokens):
        """One token more of each target: (logits (B, V), state, weights (B, S)).

        weights   where the last block looked in the source, on average over its heads
        """
        ids = checked_tokens(self, tokens, self.target_vocabulary, len(state))
        y, weights = self.decoder(
            ids,
            state.positions(1),
            caches=state.caches,
            memories=state.memories,
            memory_lens=state.memory_lens,
            need_weights=True,
        )
        state.length += 1
        return self._logits(y[:, 0]), state, weights[-1].mean(1)[:, 0]

    def extend(self, length):
        """Make ready for sequences of this length, on both sides.

        See ``DecoderOnly.extend``.
        """
        self.encoder.scheme.extend(length)
        self.decoder.scheme.extend(length)

    def _encode(self, source, lengths):
        ids = checked_ids(self, "source", source, self.config.vocabulary)
        lengths = checked_lengths(self, lengths, ids)
        return self.encoder(ids, valid_lens=lengths)[0], lengths

    def _logits(self, y):
        if self.output is None:
            return linear(y, self.decoder.embedding)
        return self.output(y)
