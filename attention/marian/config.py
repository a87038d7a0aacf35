"""The configuration of a Marian model, read from ``config.json``.

Only the entries below are used. The settings of the search are in
``generation_config.json``, or in older folders in ``config.json`` itself.
"""

import os
from dataclasses import MISSING, dataclass, fields

from minigrad.bounds import parse_json, read_for_parsing
from minigrad.arguments import between, flag, one_of, plain, whole

from ..transformer.config import TransformerConfig
from .generate import Search

NAME = "MarianConfig"


ACTIVATIONS = {  # name in the file: name in a TransformerConfig
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "swish": "swish",
    "silu": "swish",
    "tanh": "tanh",
}
REQUIRED = {  # other values are another architecture, with layers that we do not have
    "model_type": "marian",
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
SEARCH = (
    "max_length",
    "num_beams",
    "length_penalty",
    "early_stopping",
    "bad_words_ids",
    "forced_eos_token_id",
    "renormalize_logits",
)


@dataclass(kw_only=True)
class MarianConfig:
    """The sizes and choices of a model, under the names of ``config.json``."""

    vocab_size: int
    d_model: int
    encoder_layers: int
    decoder_layers: int
    encoder_attention_heads: int
    decoder_attention_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    pad_token_id: int
    decoder_start_token_id: int
    eos_token_id: int = 0
    activation_function: str = "gelu"
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    max_position_embeddings: int = 1024
    decoder_vocab_size: int | None = None  # None is vocab_size
    # the search, see generate.py
    max_length: int = 512
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    bad_words_ids: tuple = ()
    forced_eos_token_id: int | None = None
    renormalize_logits: bool = False

    def __post_init__(self):
        if self.decoder_vocab_size is None:
            self.decoder_vocab_size = self.vocab_size
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is bool:
                flag(NAME, field.name, value)
            elif field.type is int or field.name == "decoder_vocab_size":
                whole(NAME, field.name, value, least=0 if "token" in field.name else 1)
        one_of(NAME, "activation_function", self.activation_function, ACTIVATIONS)
        if self.share_encoder_decoder_embeddings:
            one_of(
                NAME, "decoder_vocab_size", self.decoder_vocab_size, [self.vocab_size]
            )
        self.block_sizes("encoder"), self.block_sizes("decoder"), self.search()  # check
        self._check_tokens()

    @property
    def one_table(self):
        """True if source, target and output share one embedding table."""
        return self.share_encoder_decoder_embeddings and self.tie_word_embeddings

    @property
    def banned_ids(self):
        """The ids that are never generated."""
        return [i for (i,) in self.bad_words_ids if i != self.eos_token_id]

    def block_sizes(self, side):
        """Return the TransformerConfig of the blocks of a side, encoder or decoder."""
        return TransformerConfig(
            self.vocab_size,
            width=self.d_model,
            heads=getattr(self, f"{side}_attention_heads"),
            hidden=getattr(self, f"{side}_ffn_dim"),
            norm="post",
            activation=ACTIVATIONS[self.activation_function],
            positions="none",
        )

    def search(self, **settings):
        """Return a ``Search`` with these settings, and the config's for None."""
        names = ("max_length", "num_beams", "length_penalty", "early_stopping")
        chosen = {name: getattr(self, name) for name in names}
        chosen["max_length"] = min(self.max_length, self.max_position_embeddings)
        chosen |= {name: x for name, x in settings.items() if x is not None}
        return Search(**chosen)

    def _check_tokens(self):
        """Raise ValueError for ids that are not in the vocabulary of the target."""
        if any(len(words) != 1 for words in self.bad_words_ids):
            raise ValueError(
                f"{NAME}: bad_words_ids has an entry of several ids; expected lists of "
                "one id, such as [[58100]]."
            )
        ids = {name: getattr(self, name) for name in vars(self) if "token_id" in name}
        ids |= {f"bad_words_ids[{n}]": i for n, (i,) in enumerate(self.bad_words_ids)}
        for name, i in ids.items():
            if i is not None:
                whole(NAME, name, i)
                most = self.decoder_vocab_size - 1
                between(NAME, name, plain(i), 0, most, "the ids of the target")


def read_config(folder):
    """Return the MarianConfig of a folder."""
    path = os.path.join(folder, "config.json")
    search_path = os.path.join(folder, "generation_config.json")
    entries, files = read_json(path), path
    try:
        for name, expected in REQUIRED.items():
            one_of(NAME, name, entries.get(name, expected), [expected])
        if os.path.exists(search_path):
            entries = {k: v for k, v in entries.items() if k not in SEARCH}
            entries |= read_json(search_path)
            files = f"{path} and generation_config.json"
        known = fields(MarianConfig)
        missing = [
            field.name
            for field in known
            if field.default is MISSING and field.name not in entries
        ]
        if missing:
            raise ValueError(f"{', '.join(missing)}: missing.")
        return MarianConfig(
            **{
                field.name: entries[field.name]
                for field in known
                if entries.get(field.name) is not None
            }
        )
    except (ValueError, TypeError) as error:
        raise ValueError(f"{files} cannot be used: {error}") from None


def read_json(path):
    """Return the dict in a file of JSON."""
    entries = parse_json(read_for_parsing(path), path)
    if not isinstance(entries, dict):
        raise ValueError(f"{path} holds a {type(entries).__name__}; expected a dict.")
    return entries
