"""A recurrent encoder-decoder, with or without attention, according to its config.

    memory, last = encoder(source)                  (B, S, M), the last states
    logits_t = decoder(y_{t-1}, state_{t-1}),       state_0 = bridge(last)

    P(y | source) = prod_t softmax(logits_t)[y_t]   y_0 = SOS, and y ends with EOS

In training the decoder reads the correct previous tokens y ("teacher forcing"). After
training, the functions of ``attention/decoding`` search for a probable y. They call
``start`` once, and ``step`` for each token.

Sutskever et al. 2014; Bahdanau et al. 2015; Luong et al. 2015.
"""

from minigrad import nn
from minigrad.arguments import between
from minigrad.shapes import shapes

from .decoder import Decoder
from .encoder import Bridge, Encoder


class Seq2Seq(nn.Module):
    """The encoder-decoder of a ``Seq2SeqConfig``.

        model(source, target_in, lengths)
            ->  logits (B, L, V); their softmax is P(y_t | y_<t, source)

    ``forced`` computes the logits with teacher forcing. It also returns the attention
    weights and the coverages (the sums of the weights of earlier steps). ``start`` and
    ``step`` are for decoding.

    rng   the generator of the parameters and of dropout; None uses minigrad's generator
    """

    def __init__(self, config, rng=None):
        self.config = config
        self.encoder = Encoder(config, rng)
        self.bridge = Bridge(config, rng)
        self.decoder = Decoder(config, rng)

    def forward(self, source, target_in, lengths=None):
        """Return the logits of all steps; the arguments are those of ``forced``."""
        return self.forced(source, target_in, lengths).logits

    @shapes
    def forced(self, source, target_in, lengths=None):
        """Run the decoder on the correct tokens; return a ``TeacherForcedOutput``.

        source (B, S) int, target_in (B, L) int, lengths? (B,) int  ->  a record

        target_in begins with SOS; lengths are the numbers of tokens of the sources,
        None if all have S. Results at the padding of target_in have no meaning; the
        loss must ignore them. With coverage, the loss is

            out = model.forced(source, target_in, lengths)
            loss = cross_entropy(…) + coverage_loss(out.weights, out.coverages, …)

        Without coverage, the weights have no graph, and coverages are None.
        """
        return self.decoder(target_in, self.start(source, lengths))

    @shapes
    def start(self, source, lengths=None):
        """Read the source; return the ``State`` before step 1.

        source (B, S) int, lengths? (B,) int  ->  a State

        Without ``mask_padding`` in the config, lengths have no effect.
        """
        if lengths is not None:
            between(
                "Seq2Seq", "lengths", lengths, 1, source.shape[1], "tokens of a row"
            )
        if not self.config.mask_padding:
            lengths = None
        memory, last = self.encoder(source, lengths)
        return self.decoder.start(memory, lengths, self.bridge(last))

    @shapes
    def step(self, state, tokens):
        """Return logits (B, V), the new State, and weights (B, S) or None.

        tokens (B,) int  ->  three values

        tokens are the previous tokens y_{t-1}, first SOS. ``state`` does not change.
        """
        return self.decoder.step(state, tokens)

    def extra_repr(self):
        c = self.config
        return f"{c.cell}, attention={c.attention!r}, score={c.score!r}"
