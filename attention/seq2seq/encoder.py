"""The encoder: one vector for each token of a sentence, and the decoder's first state.

    x_j = E[source_j]
    h_j = RNN(x_j, h_{j-1})      with one direction
    h_j = [f_j; b_j]             with two: f_j = RNN(x_j, f_{j-1}), from left to right,
                                 and b_j = RNN'(x_j, b_{j+1}), from right to left

The vector of a token depends on all tokens before it, and with two directions also on
those after it. Bahdanau et al. 2015, section 3.2.
"""

import numpy as np

import minigrad as mg
from minigrad import nn

from ..tasks.batch import PAD


class Encoder(nn.Module):
    """Embed tokens and run the GRU or LSTM of a ``Seq2SeqConfig`` over them.

    encoder(source (B, S), lengths (B,) or None)  ->  memory (B, S, M), last

    ``last`` is a list of the last states of the layers, the lowest layer first. An
    entry is [h] for a GRU and [h, c] for an LSTM, each (B, M). With two directions, the
    state after the last token (from left to right) and the state after the first token
    (from right to left) are concatenated.

    Positions after the length of a sentence have memory 0; their tokens have no
    influence.
    """

    def __init__(self, config, rng=None):
        c = config
        self.dropout = nn.Dropout(c.dropout, rng)
        self.directions = 2 if c.bidirectional else 1
        self.embed = nn.Embedding(c.source_vocabulary, c.embedding, PAD, rng=rng)
        kind = nn.GRU if c.cell == "gru" else nn.LSTM
        self.rnn = kind(
            c.embedding,
            c.hidden,
            num_layers=c.layers,
            bidirectional=c.bidirectional,
            dropout=c.dropout,
            rng=rng,
        )

    def forward(self, source, lengths=None):
        """Return memory (B, S, M) and each layer's last states; source is (B, S)."""
        x = self.dropout(self.embed(source))  # (B, S, E)
        memory, states = self.rnn(x, lengths=lengths)
        states = states if isinstance(states, tuple) else (states,)  # (h,) or (h, c)
        n, last = self.directions, []
        for i in range(0, len(states[0]), n):  # h is (layers * directions, B, H)
            both = [[h[i + d] for d in range(n)] for h in states]
            last.append([h[0] if n == 1 else mg.concat(h, -1) for h in both])
        return memory, last


class Bridge(nn.Module):
    """Compute the decoder's first state from the encoder's last state, layer by layer.

    decoder_init
        "zero"       0
        "encoder"    the encoder's last state. With two directions:

            h = tanh(W_h [h_left; h_right] + b_h)
            c = W_c [c_left; c_right] + b_c          for an LSTM; no tanh, as c may
                                                     lie outside [-1, 1]

    bridge(last)  ->  the state of ``StackedCells``, the top layer first
    """

    def __init__(self, config, rng=None):
        self.hidden, self.zero = config.hidden, config.decoder_init == "zero"
        self.layers = []
        if config.bidirectional and not self.zero:
            n = 2 if config.cell == "lstm" else 1  # h, or h and c
            self.layers = [
                [nn.Linear(config.memory, config.hidden, rng=rng) for _ in range(n)]
                for _ in range(config.layers)
            ]

    def forward(self, last):
        """Return the first state of the decoder: a tuple of arrays (B, H)."""
        state = ()
        for i, states in enumerate(last):
            if self.zero:
                zeros = np.zeros((len(states[0]), self.hidden), states[0].dtype)
                states = [mg.Tensor(zeros)] * len(states)
            elif self.layers:
                h, *c = [linear(s) for linear, s in zip(self.layers[i], states)]
                states = [mg.tanh(h), *c]
            state = (*states, *state)
        return state
