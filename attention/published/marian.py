"""A Marian translation model: the Transformer in its first form, of 2017.

Encoder, over the source x_1 ... x_S, and decoder, over the target y_1 ... y_T so far:

    embed(x)_i  = c E[x_i] + P_i                    c = sqrt(d); d: the width
    encoder     x = LN(x + self(x));                            x = LN(x + ffn(x))
    decoder     y = LN(y + self(y));  y = LN(y + cross(y, x));  y = LN(y + ffn(y))
    ffn(x)      = W_2 f(W_1 x + b_1) + b_2
    logits      = E y + b

The blocks are post-norm, without a last norm. P has the sines first and then the
cosines, [sin p w_0, ..., cos p w_0, ...], a permutation of the columns of
``sinusoidal``; p is the position, from 0. The decoder reads y_t and predicts y_{t+1};
y_1 is PAD. Source and target share the vocabulary and the table E.

``load`` reads a folder:

    config.json, generation_config.json    sizes; special words, settings of the search
    model.safetensors                      the weights
    vocab.json, source.spm                 the tokenizer, see marian_tokenizer.py

The weights are renamed and not changed. A file may hold copies of an embedding table,
which must be equal, and the positions, which must agree with those computed here.

Vaswani et al. 2017; Junczys-Dowmunt et al. 2018, "Marian: Fast Neural Machine
Translation in C++"; Tiedemann and Thottingal 2020, "OPUS-MT".
"""

import dataclasses
import os

import numpy as np

from minigrad import nn
from minigrad.arguments import one_of, whole
from minigrad.shapes import shapes

from ..decoding.beam import beam_search
from ..decoding.greedy import Special, greedy
from ..positions import sinusoidal
from ..positions.scheme import Scheme
from ..transformer.config import TransformerConfig
from ..transformer.encoder_decoder import EncoderDecoder
from ..transformer.stack import Stack
from .files import read_json, renamed
from .marian_tokenizer import read_tokenizer
from .weights import read_folder

NAME = "Marian"
ACTIVATIONS = {  # name in the file: name in a TransformerConfig, if it is another one
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "swish": "silu",
}
REQUIRED = {  # other values are another architecture, with layers that we do not have
    "model_type": "marian",
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "scale_embedding": True,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
}
DEFAULTS = REQUIRED | {
    "activation_function": "gelu",
    "scale_embedding": False,
    "max_position_embeddings": 1024,
    "eos_token_id": 0,
    "bad_words_ids": [],
    "max_length": 512,
    "num_beams": 1,
}
IDS = "pad_token_id", "decoder_start_token_id", "eos_token_id"
LENGTH_PENALTY = 1.0  # alpha of decoding/beam.py
NAMES = {  # part of a name in the file: part of a name in the model
    "model.": "",
    "embed_tokens.weight": "embedding",
    ".layers.": ".blocks.",
    "encoder_attn": "cross_attn",
    "q_proj": "W_q",
    "k_proj": "W_k",
    "v_proj": "W_v",
    "out_proj": "W_o",
    "fc1": "feed_forward.linear1",
    "fc2": "feed_forward.linear2",
    "final_layer_norm": "feed_forward_norm",
    "layer_norm": "norm",
    "lm_head": "output",
    "final_logits_bias": "output.bias",
}
TABLES = "encoder.embedding", "decoder.embedding", "output.weight"


@dataclasses.dataclass
class MarianConfig:
    """The sizes and choices of a model.

    encoder, decoder   the ``TransformerConfig`` of each side
    special            the ids of PAD, of the first target word and of EOS, and the ids
                       that are never generated. In published models PAD is one of them:
                       its row in the embedding table is not trained
    max_length         the largest number of ids of a translation, with the first PAD
    num_beams          of ``translate``; 1 is greedy
    """

    encoder: TransformerConfig
    decoder: TransformerConfig
    special: Special
    max_length: int
    num_beams: int


class Marian(EncoderDecoder):
    """An encoder-decoder of the sizes in a ``MarianConfig``, with random weights.

    ``load`` fills it with the weights of a folder. ``tokenizer`` turns text into ids
    for ``translate``, or is None.
    """

    def __init__(self, config, tokenizer=None, rng=None):
        self.config, self.tokenizer = config, tokenizer
        self.special = config.special
        e, d = config.encoder, config.decoder
        self.encoder = Stack(e, e.vocabulary, e.layers, causal=False, rng=rng)
        table = self.encoder.embedding
        self.decoder = Stack(
            d, d.vocabulary, d.layers, causal=True, cross=True, table=table, rng=rng
        )
        for stack, sizes in (self.encoder, e), (self.decoder, d):
            stack.scheme = SinesThenCosines(sizes)
        self.output = nn.Linear(d.width, d.vocabulary, rng=rng)
        self.output.weight = table

    @shapes
    def generate(self, source_ids, max_length=None, num_beams=1):
        """Return the translations, with PAD first and after EOS.

        source_ids (B, S) int  ->  ids (B, n) int

        PAD stands behind the words of a shorter source.

        max_length  the largest number of ids of a row, including the first PAD
        num_beams   1 takes the most probable word at each step
        """
        most, special = self.config.decoder.max_length + 1, self.special
        n = self.config.max_length if max_length is None else max_length
        n = whole(NAME, "max_length", n, 2, most) - 1
        is_word = source_ids != special.pad
        if (is_word[:, 1:] > is_word[:, :-1]).any():
            raise ValueError(
                f"{NAME}: source_ids have PAD, {special.pad}, before a word; expected "
                "PAD at the ends of rows."
            )
        arguments = self, source_ids, is_word.sum(1), n
        if num_beams == 1:
            found = greedy(*arguments)
        else:
            found = beam_search(*arguments, num_beams, alpha=LENGTH_PENALTY)
        return np.pad(found.ids, ((0, 0), (1, 0)), constant_values=special.start)

    def translate(self, text, max_length=None, num_beams=None):
        """Return the translation of a text; None takes a setting of ``config``."""
        if self.tokenizer is None:
            raise ValueError(
                "Marian.translate: this model has no tokenizer; load it from a folder "
                "with vocab.json and source.spm, or call generate with ids."
            )
        ids = self.tokenizer.encode(text)
        beams = self.config.num_beams if num_beams is None else num_beams
        return self.tokenizer.decode(self.generate([ids], max_length, beams)[0])


class SinesThenCosines(Scheme):
    """Add ``sinusoidal`` positions with all sines before all cosines."""

    changes = "input"
    bounded = True

    def __init__(self, config, causal=True, rng=None):
        self.most = config.max_length

    def embed(self, x, positions):
        """Return x + P[positions]; the shapes are those of ``Scheme.embed``."""
        if positions.size and positions.max() >= self.most:
            raise ValueError(
                f"{NAME}: found {positions.max() + 1} words in a row; expected at most "
                f"{self.most}, max_position_embeddings."
            )
        return x + sines_then_cosines(positions, x.shape[-1], x.dtype)


def sines_then_cosines(positions, d, dtype=np.float64):
    """Return ``sinusoidal`` (..., d) with all sines before all cosines."""
    P = sinusoidal(positions, d, dtype=np.float64)
    return np.concatenate([P[..., 0::2], P[..., 1::2]], -1).astype(dtype)


def load(folder):
    """Return the Marian model in ``folder``, ready to translate.

    Its tokenizer is None if the folder has none of its files. Raises FileNotFoundError
    for a missing file, and ValueError for files that are damaged, do not fit, or have
    another format.
    """
    folder = os.fspath(folder)
    config = read_config(folder)
    tensors = read_folder(folder, "MarianMTModel")
    arrays = {name: tensor.array() for name, tensor in tensors.items()}
    try:
        _check_size(config, arrays)
        model = Marian(config, rng=nn.init.Zeros())
        model.load_state_dict(state_of(config, arrays))
    except ValueError as error:
        path = os.path.join(folder, "model.safetensors")
        raise ValueError(f"{path} does not fit config.json: {error}") from None
    model.tokenizer = read_tokenizer(folder, config)
    return model.eval()


def read_config(folder):
    """Return the MarianConfig of a folder; older ones have all in ``config.json``."""
    path = files = os.path.join(folder, "config.json")
    search_path = os.path.join(folder, "generation_config.json")
    entries = read_json(path)
    if os.path.exists(search_path):
        entries |= read_json(search_path)
        files = f"{path} and generation_config.json"
    try:
        return _config(DEFAULTS | {k: x for k, x in entries.items() if x is not None})
    except KeyError as error:
        raise ValueError(f"{files} cannot be used: {error} is missing.") from None
    except (ValueError, TypeError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{files} cannot be used: {reason}.") from None


def _config(entries):
    """Return the MarianConfig of entries; KeyError if one is missing."""
    for name, expected in REQUIRED.items():
        one_of(NAME, name, entries[name], [expected])
    V, activation = entries["vocab_size"], entries["activation_function"]
    one_of(NAME, "decoder_vocab_size", entries.get("decoder_vocab_size", V), [V])
    encoder, decoder = (
        TransformerConfig(
            V,
            width=entries["d_model"],
            heads=entries[f"{side}_attention_heads"],
            layers=entries[f"{side}_layers"],
            hidden=entries[f"{side}_ffn_dim"],
            norm="post",
            activation=ACTIVATIONS.get(activation, activation),
            positions="none",
            max_length=entries["max_position_embeddings"],
        )
        for side in ("encoder", "decoder")
    )
    for name, least in ("max_length", 2), ("num_beams", 1):
        whole(NAME, name, entries[name], least)
    banned = entries["bad_words_ids"]
    if not isinstance(banned, list) or any(len(words) != 1 for words in banned):
        raise ValueError(
            f"{NAME}: bad_words_ids is {banned!r}; expected lists of one id, such as "
            "[[58100]]."
        )
    pad, start, end = ids = [entries[name] for name in IDS]
    for name, i in (*zip(IDS, ids), *(("bad_words_ids", i) for (i,) in banned)):
        whole(NAME, name, i, 0, V - 1)
    special = Special(pad, start, end, tuple(i for (i,) in banned if i != end))
    return MarianConfig(
        encoder,
        decoder,
        special=special,
        max_length=min(entries["max_length"], decoder.max_length),
        num_beams=entries["num_beams"],
    )


def _check_size(config, arrays):
    """Raise ValueError if the file is too small for the sizes of the config.

    So a wrong size cannot allocate more memory than the file has.
    """
    d, found = config.encoder.width, sum(array.size for array in arrays.values())
    expected = d * config.encoder.vocabulary
    for sizes, attentions in (config.encoder, 1), (config.decoder, 2):
        expected += sizes.layers * (4 * attentions * d * d + 2 * d * sizes.hidden)
    if found < expected:
        raise ValueError(
            f"it has {found} numbers; expected at least {expected} for these sizes."
        )


def state_of(config, arrays):
    """Return {our name: array} of the arrays of a file."""
    state = renamed(arrays, NAMES)
    for sizes, side in (config.encoder, "encoder"), (config.decoder, "decoder"):
        P = state.pop(f"{side}.embed_positions.weight", None)
        if P is None:
            continue
        shape = sizes.max_length, sizes.width
        # 4e-3: bfloat16
        if P.shape != shape or not np.allclose(
            P, sines_then_cosines(*shape), atol=4e-3
        ):
            raise ValueError(
                f"model.{side}.embed_positions.weight does not hold sinusoids, sines "
                "before cosines."
            )
    bias = state.get("output.bias", np.zeros(config.decoder.vocabulary))
    state["output.bias"] = bias.reshape(-1)  # (1, V) in the file
    # new versions of transformers write a table for each side, old ones the shared one
    table = state.pop("shared.weight", state.get(TABLES[0]))
    for name in TABLES if table is not None else ():
        if not np.array_equal(state.setdefault(name, table), table):
            raise ValueError(f"{name} and the shared table differ; expected one table.")
    return state
