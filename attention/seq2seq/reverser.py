"""The model of the reversal experiment: encoder GRU, attention, decoder GRU.

    H, h_last = encoder(embed(source))
    s_0 = 0, or h_last
    for each t:  c_t = attend(s_{t-1}, H);  s_t = GRU([embed(y_{t-1}); c_t], s_{t-1})
                 logits_t = W [s_t; c_t] + b

Only the score differs between the four kinds, and it is the only thing that has its own
parameters: W_a (A, 2H) and v_a (A,) for ``additive``, W_g (H, H) for ``general``.
"""

import math

import numpy as np

import minigrad as mg
from minigrad import nn

from ..tasks.reversal import PAD, SOS, VOCABULARY
from .attention_gru import attention_gru
from .encoder_gru import EncoderGRU

KINDS = ("additive", "dot", "general", "scaled")


class Reverser(nn.Module):
    """Reverse strings with one of four scores.

    kind           "additive", "dot", "general" or "scaled"
    decoder_init   "zero", or "encoder": start from the encoder's last state
    mask_padding   False: attend to padding as to any letter, and encode it too
    """

    def __init__(
        self,
        kind,
        vocabulary=VOCABULARY,
        embedding=32,
        hidden=64,
        decoder_init="zero",
        mask_padding=True,
        rng=None,
    ):
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"There is no score {kind!r}; choose from {KINDS}.")
        if decoder_init not in ("zero", "encoder"):
            raise ValueError(
                f"decoder_init is {decoder_init!r}; choose 'zero' or 'encoder'."
            )
        rng = np.random.default_rng() if rng is None else rng
        self.kind, self.hidden = kind, hidden
        self.decoder_init, self.mask_padding = decoder_init, mask_padding
        self.embed_source = nn.Embedding(vocabulary, embedding, PAD, rng=rng)
        self.embed_target = nn.Embedding(vocabulary, embedding, PAD, rng=rng)
        self.encoder = EncoderGRU(embedding, hidden, rng=rng)
        self.decoder = nn.GRUCell(embedding + hidden, hidden, rng=rng)
        self.output = nn.Linear(2 * hidden, vocabulary, rng=rng)
        if kind == "general":
            self.W_g = _parameter(0.1 * rng.standard_normal((hidden, hidden)))
        if kind == "additive":
            # as a linear layer would start: uniform within 1 / sqrt(width of its input)
            wide, narrow = 1 / math.sqrt(2 * hidden), 1 / math.sqrt(hidden)
            self.W_a = _parameter(rng.uniform(-wide, wide, (hidden, 2 * hidden)))
            self.v_a = _parameter(rng.uniform(-narrow, narrow, hidden))

    def forward(self, source, target_in, lengths):
        """Logits of every target position, the letters before it given.

        source (B, S) ids, target_in (B, L) ids, lengths (B,)  ->  (B, L, V)
        """
        memory, keys, s, lengths = self.encode(source, lengths)
        x = self.embed_target(target_in)  # (B, L, E)
        states, contexts, _ = self.decode(x, s, memory, keys, lengths)
        return self.output(mg.concat([states, contexts], axis=-1))

    def encode(self, source, lengths):
        """What all decoder steps share: memory, keys, the first state, and the lengths.

        The lengths are None when padding counts as letters do.
        """
        x = self.embed_source(source)  # (B, S, E)
        lengths = np.asarray(lengths) if self.mask_padding else None
        memory, last = self.encoder(x, lengths=lengths)  # (B, S, H), (1, B, H)
        keys = memory
        if self.kind == "general":
            keys = mg.linear(memory, self.W_g)  # W_g h_j, once for all steps
        if self.kind == "additive":
            keys = mg.linear(memory, self.W_a[:, self.hidden :])  # the half for h_j
        s = last[0]
        if self.decoder_init == "zero":
            s = mg.Tensor(np.zeros(s.shape, s.dtype))
        return memory, keys, s, lengths

    def decode(self, x, s, memory, keys, lengths):
        """States (B, L, H), contexts (B, L, H), weights (B, L, S) of all steps."""
        cell = self.decoder
        weights = cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh
        score = ()
        if self.kind == "additive":
            score = self.W_a[:, : self.hidden], self.v_a
        scale = 1 / math.sqrt(self.hidden) if self.kind == "scaled" else 1.0
        return attention_gru(
            x, s, memory, keys, *weights, *score, scale=scale, lengths=lengths
        )

    def greedy(self, source, lengths, steps, return_weights=False):
        """The most probable letter at each step, fed back as the next input.

        -> ids (B, steps), and the attention weights (B, steps, S) on request
        """
        with mg.no_grad():
            memory, keys, s, lengths = self.encode(source, lengths)
            y = np.full((len(source), 1), SOS)
            said, looked = [], []
            for _ in range(steps):
                x = self.embed_target(y)
                states, contexts, weights = self.decode(x, s, memory, keys, lengths)
                logits = self.output(mg.concat([states, contexts], axis=-1))
                s, y = states[:, 0], logits.argmax(-1)
                said.append(y)
                looked.append(weights.numpy())
        ids = np.concatenate(said, axis=1)
        return (ids, np.concatenate(looked, axis=1)) if return_weights else ids


def _parameter(array):
    return nn.Parameter(array.astype(np.float32))
