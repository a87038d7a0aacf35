"""A recurrent encoder-decoder, with or without attention, as its config says.

    memory, last = encoder(source)                  (B, S, M), the last states
    logits_t = decoder(y_{t-1}, state_{t-1}),       state_0 = bridge(last)

    P(y | x) = prod_t softmax(logits_t)[y_t]        y_0 = SOS, and y ends with EOS

In training y is given ("teacher forcing"). Afterwards the functions of ``decoding.py``,
``beam.py`` and ``sampling.py`` look for a y that is probable, with ``start`` and
``step``. Sutskever et al. 2014; Bahdanau et al. 2015; Luong et al. 2015.
"""

import numpy as np

from minigrad import nn

from ..checks import between, wholes
from .decoder import Decoder
from .encoder import Bridge, Encoder

NAME = "Seq2Seq"


class Seq2Seq(nn.Module):
    """One model for all that a ``Seq2SeqConfig`` can say.

        model(source, target_in, lengths)    logits (B, L, V): P(y_t | y_<t, x)

    source (B, S), target_in (B, L) ids, SOS first; lengths (B,): tokens of each source,
    None if all have S. ``forced`` returns the attention weights as well, and what
    ``coverage_loss`` wants. ``start`` and ``step`` are for decoding.

    rng   draws the parameters and the dropout; None takes minigrad's own generator

    Raises TypeError, ValueError and IndexError, in a sentence, for ids and lengths that
    do not fit.
    """

    def __init__(self, config, rng=None):
        self.config = config
        self.encoder = Encoder(config, rng)
        self.bridge = Bridge(config, rng)
        self.decoder = Decoder(config, rng)

    def forward(self, source, target_in, lengths=None):
        return self.forced(source, target_in, lengths).logits

    def forced(self, source, target_in, lengths=None):
        """All that comes of teacher forcing: logits (B, L, V), weights, coverages.

        With coverage, the loss that belongs to it is

            out = model.forced(source, target_in, lengths)
            loss = cross_entropy(…) + coverage_loss(out.weights, out.coverages, …)

        Without it, weights are apart from the graph, and coverages are None.
        """
        target_in = _ids("target_in", target_in, "(B, L)")
        state = self.start(source, lengths)
        if len(target_in) != len(source):
            raise ValueError(
                f"{NAME}: source has {len(source)} rows and target_in "
                f"{len(target_in)}; expected as many."
            )
        return self.decoder(target_in, state)

    def encode(self, source, lengths=None):
        """memory (B, S, M), the last states by layer, and the lengths that count."""
        source = _ids("source", source, "(B, S)")
        B, S = source.shape
        if lengths is not None:
            lengths = wholes(NAME, "lengths", lengths, {1: "(B,), one for each row"})
            if lengths.shape != (B,):
                raise ValueError(
                    f"{NAME}: lengths have shape {lengths.shape}; expected {(B,)}, one "
                    f"for each row of source {source.shape}."
                )
            between(NAME, "lengths", lengths, 1, S, "the tokens of a row")
        if not self.config.mask_padding:
            lengths = None
        memory, last = self.encoder(source, lengths)
        return memory, last, lengths

    def start(self, source, lengths=None):
        """Read the source: the ``State`` before the first step, B rows."""
        memory, last, lengths = self.encode(source, lengths)
        return self.decoder.start(memory, lengths, self.bridge(last))

    def step(self, state, tokens):
        """logits (B, V) after ``tokens`` (B,), the new State, weights (B, S) or None.

        tokens are what was said last, SOS at first. The state that is passed in stays
        as it was.
        """
        tokens = wholes(NAME, "tokens", tokens, {1: "(B,), one for each row"})
        if len(tokens) != state.B:
            raise ValueError(
                f"{NAME}: there are {len(tokens)} tokens for a state of {state.B} rows;"
                " expected as many. state.select(indices) says which rows go on."
            )
        return self.decoder.step(state, tokens)

    def extra_repr(self):
        c = self.config
        return f"{c.cell}, attention={c.attention!r}, score={c.score!r}"


def _ids(name, ids, letters):
    ids = np.asarray(ids)
    if ids.dtype.kind not in "iu":
        raise TypeError(
            f"{NAME}: {name} holds {ids.dtype}; expected ids, whole numbers."
        )
    if ids.ndim != 2 or not ids.size:
        raise ValueError(
            f"{NAME}: {name} has shape {ids.shape}; expected {letters}, one row or "
            "more, of one id or more."
        )
    return ids
