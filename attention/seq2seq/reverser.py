"""The model of the reversal experiment: a ``Seq2Seq`` with one of four scores.

    h_1 ... h_S = encoder(embed(source))
    s_0 = 0, or h_S
    c_t = attend(s_{t-1}, keys h_j, values h_j)
    s_t = GRU([embed(y_{t-1}); c_t], s_{t-1})
    logits_t = W [s_t; c_t] + b                  y_{t-1}: the letter before position t

The logits are one number for each letter; their softmax is the probability of each. The
four models differ only in the score of attention (``attention/scores.py``): additive
and general have parameters, dot and scaled (which is ``scaled_dot``) have none. All
s_t, c_t and weights of a training step are computed by ``attention_gru``: ``Seq2Seq``
calls its ``Encoder``, and then its ``Decoder``, which calls ``attention_gru``.
"""

import math

import numpy as np

from minigrad import nn
from minigrad.arguments import one_of
from minigrad.nn import init

from ..scores import COMPARED as KINDS
from ..tasks.reversal import PAD, VOCABULARY
from .config import Seq2SeqConfig
from .model import Seq2Seq


class Reverser(Seq2Seq):
    """Reverse strings with one of four scores.

    kind           the score, one of ``KINDS``
    decoder_init   s_0: "zero", or "encoder" for the last state of the encoder
    mask_padding   False: the encoder reads padding, and the decoder attends to it
    rng            the generator of the parameters; None uses a new random seed
    """

    def __init__(
        self,
        kind,
        embedding=32,
        hidden=64,
        decoder_init="zero",
        mask_padding=True,
        rng=None,
    ):
        self.kind = one_of("Reverser", "kind", kind, KINDS)
        config = Seq2SeqConfig(
            VOCABULARY,
            VOCABULARY,
            embedding,
            hidden,
            score=kind,
            decoder_init=decoder_init,
            mask_padding=mask_padding,
        )
        # the textbook draws the parameters in another order than ``Seq2Seq``
        super().__init__(config, rng=init.Zeros())
        self._draw_parameters(np.random.default_rng() if rng is None else rng)

    # ---- A first reading can stop here ----

    def _draw_parameters(self, rng):
        """Draw all parameters as in section 38.6 of the textbook.

        Its results depend on the order of the draws and on the distributions, which
        are not those of ``Seq2Seq``. The textbook draws W_q and W_k of the additive
        score as one matrix, [W_q W_k].
        """
        c, decoder = self.config, self.decoder
        E, H, V = c.embedding, c.hidden, c.target_vocabulary
        self.encoder.embed = nn.Embedding(V, E, PAD, rng=rng)
        decoder.embed = nn.Embedding(V, E, PAD, rng=rng)
        self.encoder.rnn = nn.GRU(E, H, rng=rng)
        step = decoder.order  # the layer that computes c_t and s_t
        step.cell.layers[0] = nn.GRUCell(E + H, H, rng=rng)
        decoder.output = nn.Linear(2 * H, V, rng=rng)
        attention = step.attention
        if self.kind == "general":
            attention.W_a = _parameter(0.1 * rng.standard_normal((H, H)))
        if self.kind == "additive":
            # as in linear layers: uniform within 1 / sqrt(number of inputs)
            a, b = 1 / math.sqrt(2 * H), 1 / math.sqrt(H)
            W_q, W_k = np.split(rng.uniform(-a, a, (H, 2 * H)), 2, axis=1)
            attention.W_q, attention.W_k = _parameter(W_q), _parameter(W_k)
            attention.w_v = _parameter(rng.uniform(-b, b, H))


def _parameter(array):
    return nn.Parameter(array.astype(np.float32))
