"""A Marian translation model: the Transformer in its first form, of 2017.

Encoder, over the source x_1 ... x_S, and decoder, over the target y_1 ... y_T so far:

    embed(x)_i  = c E[x_i] + P_i                    c = sqrt(d), or 1
    encoder     x = LN(x + self(x));                            x = LN(x + ffn(x))
    decoder     y = LN(y + self(y));  y = LN(y + cross(y, x));  y = LN(y + ffn(y))
    ffn(x)      = W_2 f(W_1 x + b_1) + b_2
    logits      = E' y + b

The blocks are post-norm, without a last norm. P has the sines first and then the
cosines, [sin p w_0, ..., cos p w_0, ...], a permutation of the columns of
``sinusoidal``; the first token has p = 0. The decoder reads y_t and predicts y_{t+1};
y_1 is PAD. E' is E, the decoder's table if the two sides have their own, or a table of
its own if they are not tied.

Vaswani et al. 2017; Junczys-Dowmunt et al. 2018, "Marian: Fast Neural Machine
Translation in C++"; Tiedemann and Thottingal 2020, "OPUS-MT".
"""

import dataclasses
import math

import numpy as np

from minigrad import Tensor, embedding, linear, nn, no_grad
from minigrad.shapes import shapes

from ..positions import sinusoidal
from ..positions.scheme import Scheme
from ..transformer.block import Block
from ..transformer.decoding import Decoding
from .generate import beam_search, greedy


@dataclasses.dataclass
class MarianOutput:
    """The logits (B, T, V), and of each layer the cross-attention weights (B, H, T, S).

    cross_attentions   a list of arrays, or None
    """

    logits: Tensor
    cross_attentions: list | None = None


class Marian(nn.Module):
    """An encoder-decoder of the sizes in a ``MarianConfig``, with random weights.

    ``attention.marian.load`` fills it with the weights of a folder. ``tokenizer`` turns
    text into ids for ``translate``, or is None.
    """

    def __init__(self, config, tokenizer=None, rng=None):
        self.config, self.tokenizer = config, tokenizer
        d, V = config.d_model, config.decoder_vocab_size
        source = nn.Parameter(np.zeros((config.vocab_size, d), np.float32))
        target = output = source
        if not config.one_table:
            target = output = nn.Parameter(np.zeros((V, d), np.float32))
        if not config.tie_word_embeddings:
            output = nn.Parameter(np.zeros((V, d), np.float32))
        self.source_embedding, self.target_embedding = source, target
        self.output_embedding = output
        self.final_logits_bias = nn.Parameter(np.zeros(V, np.float32))
        for table in {id(t): t for t in (source, target, output)}.values():
            nn.init.normal_(table, 0, d**-0.5, rng)
        self.scheme = Scheme()  # adds nothing in the blocks: ``embed`` adds positions
        sizes = config.block_sizes("encoder")
        self.encoder = [
            Block(sizes, self.scheme, rng=rng) for _ in range(config.encoder_layers)
        ]
        sizes = config.block_sizes("decoder")
        self.decoder = [
            Block(sizes, self.scheme, cross=True, causal=True, rng=rng)
            for _ in range(config.decoder_layers)
        ]

    @shapes
    def forward(
        self, source_ids, target_ids, source_mask=None, return_attentions=False
    ):
        """Return the logits after each target id, given the ids up to it.

        source_ids (B, S) int, target_ids (B, T) int, source_mask? (B, S) bool
            ->  a MarianOutput

        target_ids   begin with ``config.decoder_start_token_id``
        source_mask  True for words, False for padding; None: all are words
        return_attentions   whether to return the weights of the cross-attentions
        """
        if source_mask is None:
            source_mask = np.ones(source_ids.shape, bool)
        source_mask = source_mask[:, None, None]  # (B, 1, 1, S)
        memory = self.encode(source_ids, source_mask)
        target = self.embed(self.target_embedding, target_ids)  # (B, T, d)
        memories = [memory] * len(self.decoder)
        y, weights = self.decode(
            target, memories, source_mask, need_weights=return_attentions
        )
        attentions = [p.data for p in weights] if return_attentions else None
        return MarianOutput(self.logits(y), attentions)

    def encode(self, source, mask):
        """Return the memory (B, S, d) of the source ids (B, S)."""
        x = self.embed(self.source_embedding, source)
        for block in self.encoder:
            x, _ = block(x, scheme=self.scheme, mask=mask)
        return x

    def decode(self, y, memories, memory_mask, caches=None, need_weights=False):
        """Apply the decoder's blocks to y (B, T, d); return y and a list of weights.

        memories, caches   one for each block
        """
        weights = []
        caches = caches or [None] * len(self.decoder)
        for block, memory, cache in zip(self.decoder, memories, caches):
            y, p = block(
                y,
                memory,
                scheme=self.scheme,
                memory_mask=memory_mask,
                cache=cache,
                need_weights=need_weights,
            )
            weights.append(p)  # (B, H, T, S)
        return y, weights

    def start(self, source, mask):
        """Encode ids (B, S) and return the ``Decoding`` before the first word.

        mask (B, S) is True for words
        """
        mask = mask[:, None, None]  # (B, 1, 1, S)
        memory = self.encode(source, mask)
        memories = [block.cross_attn.precompute(memory) for block in self.decoder]
        return Decoding(len(memories), np.zeros(len(source), np.intp), memories, mask)

    def step(self, state, words):
        """Read one more word of each row (B,), and return logits (B, V), an array."""
        y = self.embed(self.target_embedding, words[:, None], state.length)
        y, _ = self.decode(y, state.memories, state.memory_mask, state.caches)
        state.length += 1
        return self.logits(y[:, 0]).data

    def embed(self, table, ids, start=0):
        """Embed ids (B, n) at positions start, start + 1, ...: (B, n, d)."""
        d, n = self.config.d_model, ids.shape[1]
        most = self.config.max_position_embeddings
        if start + n > most:
            raise ValueError(
                f"Marian: found {start + n} words in a row; expected at most {most}, "
                "max_position_embeddings."
            )
        words = embedding.unchecked(ids, table)  # (B, n, d)
        if self.config.scale_embedding:
            words = words * math.sqrt(d)
        return words + sines_then_cosines(np.arange(start, start + n), d, words.dtype)

    def logits(self, y):
        """Return the logits (B, n, V) of the decoder's last vectors y (B, n, d)."""
        return linear.unchecked(y, self.output_embedding, self.final_logits_bias)

    @shapes
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
        """Return the translations, with PAD first and after EOS. See generate.py.

        source_ids (B, S) int, source_mask? (B, S) bool  ->  ids (B, n) int

        max_length      the largest number of ids of a row, including the first PAD
        num_beams       1 takes the most probable word at each step
        length_penalty, early_stopping   of beam search; None: those of ``config``
        source_mask     True for words; None: all ids but PAD
        """
        c = self.config
        search = c.search(
            max_length=max_length,
            num_beams=num_beams,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
        )
        if not 2 <= search.max_length <= c.max_position_embeddings + 1:
            raise ValueError(
                f"Marian: max_length is {search.max_length}; expected a number from 2 "
                f"to {c.max_position_embeddings + 1}."
            )
        mask = source_ids != c.pad_token_id if source_mask is None else source_mask
        B = len(source_ids)
        with no_grad():
            if search.num_beams == 1:
                state = self.start(source_ids, mask)
                return greedy(self, state, search.max_length)
            found = [
                beam_search(
                    self, self.start(source_ids[b : b + 1], mask[b : b + 1]), search
                )
                for b in range(B)
            ]
        longest = max(map(len, found), default=1)
        rows = [ids + [c.pad_token_id] * (longest - len(ids)) for ids in found]
        return np.array(rows, np.int64).reshape(B, longest)

    def translate(self, text, max_length=None, num_beams=None):
        """Return the translation of a text; None takes a setting of ``config``."""
        if self.tokenizer is None:
            raise ValueError(
                "Marian.translate: this model has no tokenizer; load it from a folder "
                "with vocab.json, source.spm and target.spm, or call generate with ids."
            )
        ids = self.tokenizer.encode(text)
        beams = self.config.num_beams if num_beams is None else num_beams
        return self.tokenizer.decode(self.generate([ids], max_length, beams)[0])

    def extra_repr(self):
        """Return the options, for ``repr``."""
        c = self.config
        return f"{c.vocab_size} words, d_model={c.d_model}"


def sines_then_cosines(positions, d, dtype=np.float64):
    """Return ``sinusoidal`` (n, d) with all sines before all cosines."""
    P = sinusoidal(positions, d)
    return np.concatenate([P[:, 0::2], P[:, 1::2]], -1).astype(dtype)
