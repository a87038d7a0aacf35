"""A Marian translation model: the Transformer of 2017, as it was first written down.

Encoder, over the source x_1 ... x_S, and decoder, over the target y_1 ... y_T so far:

    embed(x)_i  = c E[x_i] + P_i                    c = sqrt(d), or 1
    encoder     x = LN(x + self(x));                            x = LN(x + ffn(x))
    decoder     y = LN(y + self(y));  y = LN(y + cross(y, x));  y = LN(y + ffn(y))
    ffn(x)      = W_2 f(W_1 x + b_1) + b_2
    logits      = E' y + b

Post-norm: the sum is normalised, and nothing is at the end. P holds the sines first and
then the cosines, [sin p w_0, ..., cos p w_0, ...]: a permutation of the columns of
``sinusoidal``. Target position t is the decoder's input y_t and predicts y_{t+1}; y_1
is PAD. E' is E, of the decoder if the two sides have their own.

Vaswani et al. 2017; Junczys-Dowmunt et al. 2018, "Marian: Fast Neural Machine
Translation in C++"; Tiedemann and Thottingal 2020, "OPUS-MT".
"""

import dataclasses
import math

import numpy as np

from minigrad import Tensor, embedding, linear, nn

from ..exact.kv_cache import KVCache
from ..exact.multihead import MultiHeadAttention
from ..positions import sinusoidal
from .config import ACTIVATIONS
from .generate import generate
from .inputs import as_ids, as_mask


@dataclasses.dataclass
class MarianOutput:
    """logits (B, T, V), a Tensor; cross_attentions, an array (B, H, T, S) a layer."""

    logits: Tensor
    cross_attentions: list | None = None


class Marian(nn.Module):
    """An encoder-decoder of the sizes in ``config``, with random weights.

        model(source_ids, target_ids)  ->  MarianOutput

    ``attention.marian.load`` fills it with those of a folder. ``tokenizer`` is None, or
    makes ids of text; then ``translate`` works.
    """

    def __init__(self, config, tokenizer=None, rng=None):
        self.config, self.tokenizer = config, tokenizer
        d, V = config.d_model, config.decoder_vocab_size
        source = nn.Parameter(np.zeros((config.vocab_size, d), np.float32))
        target = source
        if not config.one_table:
            target = nn.Parameter(np.zeros((V, d), np.float32))
        output = target
        if not config.tie_word_embeddings:
            output = nn.Parameter(np.zeros((V, d), np.float32))
        self.source_embedding, self.target_embedding = source, target
        self.output_embedding = output
        self.final_logits_bias = nn.Parameter(np.zeros(V, np.float32))
        for table in {id(t): t for t in (source, target, output)}.values():
            nn.init.normal_(table, 0, d**-0.5, rng)
        self.encoder = [EncoderLayer(config, rng) for _ in range(config.encoder_layers)]
        self.decoder = [DecoderLayer(config, rng) for _ in range(config.decoder_layers)]

    def forward(
        self, source_ids, target_ids, source_mask=None, return_attentions=False
    ):
        """Logits of what follows each target id, given those up to it.

        source_ids (B, S), target_ids (B, T)   whole numbers; the target begins with
                     ``config.decoder_start_token_id``
        source_mask  (B, S) bool, True = a word, False = padding; None: all are words
        return_attentions   also the weights of the cross-attentions

        Raises TypeError and ValueError for ids that do not fit the vocabularies.
        """
        c = self.config
        source = as_ids("source_ids", source_ids, c.vocab_size)
        target = as_ids("target_ids", target_ids, c.decoder_vocab_size)
        if len(source) != len(target):
            raise ValueError(
                f"Marian: source_ids has {len(source)} rows and target_ids "
                f"{len(target)}; expected as many."
            )
        mask = as_mask(source_mask, source.shape)
        x = self.encode(source, mask)
        y = self.embed(self.target_embedding, target)  # (B, T, d)
        weights = []
        for layer in self.decoder:
            y, p = layer(y, x, mask, need_weights=return_attentions)
            weights.append(p)
        attentions = [p.data for p in weights] if return_attentions else None
        return MarianOutput(self.logits(y), attentions)

    def encode(self, source, mask):
        """What the decoder looks at: (B, S) ids  ->  (B, S, d)."""
        x = self.embed(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def start(self, source, mask):
        """A ``Decoding`` of these sources, which ``generate`` takes word by word."""
        return Decoding(self, self.encode(source, mask), mask)

    def embed(self, table, ids, start=0):
        """Words and their places, (B, n)  ->  (B, n, d); the first place is start."""
        d, n = self.config.d_model, ids.shape[1]
        if start + n > self.config.max_position_embeddings:
            raise ValueError(
                f"Marian: {start + n} words in a row; expected at most "
                f"{self.config.max_position_embeddings}, max_position_embeddings."
            )
        words = embedding(ids, table)  # (B, n, d)
        if self.config.scale_embedding:
            words = words * math.sqrt(d)
        P = sinusoidal(np.arange(start, start + n), d)
        P = np.concatenate([P[:, 0::2], P[:, 1::2]], -1)  # sines first, then cosines
        return words + P.astype(words.dtype)

    def logits(self, y):
        return linear(y, self.output_embedding, self.final_logits_bias)

    def generate(
        self,
        source_ids,
        max_length=None,
        num_beams=1,
        *,
        length_penalty=None,
        early_stopping=None,
        source_mask=None,
    ):
        """The translations, (B, n) ids: PAD first, and after EOS. See generate.py.

        max_length      of a row, the first PAD included
        num_beams       1 takes the most probable word each time; more keep so many
                        beginnings at hand
        length_penalty, early_stopping   of beam search; as ``config`` has them if None
        source_mask     (B, S) bool; None: whatever is not PAD
        """
        return generate(
            self,
            source_ids,
            max_length,
            num_beams,
            length_penalty,
            early_stopping,
            source_mask,
        )

    def translate(self, text, max_length=None, num_beams=None):
        """The translation of a text, searched for as ``config`` says."""
        if self.tokenizer is None:
            raise ValueError(
                "Marian.translate: this model has no tokenizer; load it from a folder "
                "with vocab.json, source.spm and target.spm, or call generate with ids."
            )
        ids = self.tokenizer.encode(text)
        beams = self.config.num_beams if num_beams is None else num_beams
        return self.tokenizer.decode(self.generate([ids], max_length, beams)[0])

    def extra_repr(self):
        c = self.config
        return f"{c.vocab_size} words, d_model={c.d_model}"


class EncoderLayer(nn.Module):
    def __init__(self, config, rng=None):
        d, H = config.d_model, config.encoder_attention_heads
        self.self_attn = MultiHeadAttention(d, H, rng=rng)
        self.self_attn_layer_norm = nn.LayerNorm(d)
        self.feed_forward = FeedForward(config, config.encoder_ffn_dim, rng)
        self.final_layer_norm = nn.LayerNorm(d)

    def forward(self, x, mask):
        x = self.self_attn_layer_norm(x + self.self_attn(x, mask=_to_all(mask)))
        return self.final_layer_norm(x + self.feed_forward(x))


class DecoderLayer(nn.Module):
    def __init__(self, config, rng=None):
        d, H = config.d_model, config.decoder_attention_heads
        self.self_attn = MultiHeadAttention(d, H, rng=rng)
        self.self_attn_layer_norm = nn.LayerNorm(d)
        self.encoder_attn = MultiHeadAttention(d, H, rng=rng)
        self.encoder_attn_layer_norm = nn.LayerNorm(d)
        self.feed_forward = FeedForward(config, config.decoder_ffn_dim, rng)
        self.final_layer_norm = nn.LayerNorm(d)

    def forward(self, y, memory, mask, need_weights=False, cache=None):
        """(y, weights (B, H, T, S) or None) from y and the encoder's memory."""
        y = self.self_attn_layer_norm(
            y + self.self_attn(y, is_causal=True, cache=cache)
        )
        found = self.encoder_attn(
            y, memory, mask=_to_all(mask), need_weights=need_weights
        )
        found, weights = found if need_weights else (found, None)
        y = self.encoder_attn_layer_norm(y + found)
        return self.final_layer_norm(y + self.feed_forward(y)), weights


class FeedForward(nn.Module):
    def __init__(self, config, width, rng=None):
        self.fc1 = nn.Linear(config.d_model, width, rng=rng)
        self.fc2 = nn.Linear(width, config.d_model, rng=rng)
        self.activation = config.activation_function

    def forward(self, x):
        return self.fc2(ACTIVATIONS[self.activation](self.fc1(x)))


class Decoding:
    """A decoder in the middle of its sentences: it has seen what ``step`` was given."""

    def __init__(self, model, x, mask):
        self.model, self.mask, self.length = model, mask, 0
        self.memories = [
            layer.encoder_attn.precompute(x) for layer in self.model.decoder
        ]
        self.caches = [KVCache() for _ in model.decoder]

    def step(self, words):
        """One word more for each row, (B,)  ->  an array of logits (B, V)."""
        model = self.model
        y = model.embed(model.target_embedding, words[:, None], self.length)
        for layer, memory, cache in zip(model.decoder, self.memories, self.caches):
            y, _ = layer(y, memory, self.mask, cache=cache)
        self.length += 1
        return model.logits(y[:, 0]).data

    def select(self, rows):
        """Row n goes on from what row rows[n] has seen."""
        self.mask = self.mask[rows]
        for kept in (*self.memories, *self.caches):
            kept.select(rows)


def _to_all(mask):
    """(B, S)  ->  (B, 1, 1, S): which keys, whatever the head and the query."""
    return mask[:, None, None]
