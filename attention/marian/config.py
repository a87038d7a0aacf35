"""What ``config.json`` says about a Marian model, checked before anything is built.

Of the many things that such files hold, these are read; the rest is for other programs.
How to search is written in ``generation_config.json`` where there is one, and then only
there; in older folders in ``config.json`` itself.
"""

import dataclasses
import json
import os
from reprlib import repr as shown  # a file may hold anything of any length

from minigrad import gelu, relu, sigmoid, tanh

ACTIVATIONS = {
    "swish": lambda x: x * sigmoid(x),
    "relu": relu,
    "gelu": gelu,
    "gelu_new": lambda x: gelu(x, approximate="tanh"),
    "tanh": tanh,
}
ACTIVATIONS["silu"] = ACTIVATIONS["swish"]
ACTIVATIONS["gelu_pytorch_tanh"] = ACTIVATIONS["gelu_new"]
LARGEST = 1 << 24  # bytes of JSON; a vocabulary of 60 000 words has less than 2 ** 21
LARGEST_BEAM = 1000

# Another architecture: these would need layers that this model does not have.
OTHERWISE = {
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class MarianConfig:
    """The numbers of a model, by the names that ``config.json`` has for them.

    Raises ValueError, in half a sentence that names the entry, for what does not fit.
    """

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
    # how to search, unless a call says otherwise
    max_length: int = 512
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | str = False
    bad_words_ids: tuple = ()
    forced_eos_token_id: int | None = None
    renormalize_logits: bool = False

    def __post_init__(self):
        if self.decoder_vocab_size is None:
            object.__setattr__(self, "decoder_vocab_size", self.vocab_size)
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), field.type
            if kind is int and (type(value) is not int or value < 0):
                raise ValueError(
                    f"{field.name} is {shown(value)}; expected a whole number, 0 or "
                    "more"
                )
            if kind is bool and type(value) is not bool:
                raise ValueError(
                    f"{field.name} is {shown(value)}; expected true or false"
                )
        for name in ("vocab_size", "decoder_vocab_size", "d_model", "encoder_ffn_dim",
                     "decoder_ffn_dim", "max_length", "num_beams",
                     "max_position_embeddings"):  # fmt: skip
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(
                    f"{name} is {shown(value)}; expected a whole number, 1 or more"
                )
        for side in ("encoder", "decoder"):
            H = getattr(self, f"{side}_attention_heads")
            if not H or self.d_model % H:
                raise ValueError(
                    f"{side}_attention_heads is {H}, which does not divide d_model "
                    f"{self.d_model}"
                )
        self._check_words()
        f = self.activation_function
        if not isinstance(f, str) or f not in ACTIVATIONS:
            raise ValueError(
                f"activation_function is {shown(f)}; expected one of "
                f"{', '.join(sorted(ACTIVATIONS))}"
            )
        if not is_penalty(self.length_penalty):
            raise ValueError(
                f"length_penalty is {shown(self.length_penalty)}; expected a number "
                "from -100 to 100"
            )
        if self.num_beams > LARGEST_BEAM:
            raise ValueError(
                f"num_beams is {shown(self.num_beams)}; expected at most {LARGEST_BEAM}"
            )
        if self.early_stopping not in (True, False, "never"):
            raise ValueError(
                f"early_stopping is {shown(self.early_stopping)}; expected true, false "
                "or 'never'"
            )

    @property
    def one_table(self):
        """Whether source, target and output have one table of embeddings in common."""
        return self.share_encoder_decoder_embeddings and self.tie_word_embeddings

    def _check_words(self):
        """Ids that are in the vocabularies that they are looked up in."""
        words = self.decoder_vocab_size
        if self.share_encoder_decoder_embeddings and words != self.vocab_size:
            raise ValueError(
                f"decoder_vocab_size is {words} and vocab_size {self.vocab_size}, and "
                "embeddings are shared"
            )
        bad = self.bad_words_ids
        if not isinstance(bad, tuple) or any(
            not isinstance(w, list) or len(w) != 1 or type(w[0]) is not int for w in bad
        ):
            raise ValueError(
                f"bad_words_ids is {shown(bad)}; expected lists of one id, such as "
                "[[58100]]"
            )
        ids = {f"bad_words_ids[{i}]": w[0] for i, w in enumerate(bad)}
        for name in ("pad_token_id", "decoder_start_token_id", "eos_token_id"):
            ids[name] = getattr(self, name)
        if self.forced_eos_token_id is not None:
            ids["forced_eos_token_id"] = self.forced_eos_token_id
        for name, word in ids.items():
            if type(word) is not int or not 0 <= word < words:
                raise ValueError(
                    f"{name} is {shown(word)}; expected an id below {words}, the size "
                    "of the decoder's vocabulary"
                )


def is_penalty(a):
    """Whether n^a can be computed for every length n there may be."""
    return type(a) in (int, float) and -100 <= a <= 100


def read_config(folder):
    """The MarianConfig of a folder.

    Raises FileNotFoundError without ``config.json``, ValueError with the reason.
    """
    path = os.path.join(folder, "config.json")
    searching = os.path.join(folder, "generation_config.json")
    said = read_json(path)
    names = [field.name for field in dataclasses.fields(MarianConfig)]
    needed = [
        field.name
        for field in dataclasses.fields(MarianConfig)
        if field.default is dataclasses.MISSING
    ]
    try:
        if said.get("model_type", "marian") != "marian":
            raise ValueError(
                f"model_type is {shown(said['model_type'])}; only marian models are "
                "read"
            )
        missing = [name for name in needed if name not in said]
        if missing:
            raise ValueError(f"{', '.join(missing)}: missing")
        for name, expected in OTHERWISE.items():
            if said.get(name, expected) is not expected:
                raise ValueError(
                    f"{name} is {shown(said[name])}, another architecture; expected "
                    f"{str(expected).lower()}"
                )
        if os.path.exists(searching):
            said = {k: v for k, v in said.items() if k not in SEARCH}
            said |= read_json(searching)
        chosen = {name: said[name] for name in names if said.get(name) is not None}
        chosen["bad_words_ids"] = _words(chosen.get("bad_words_ids", []))
        return MarianConfig(**chosen)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be used: {error}.") from None


def read_json(path):
    """The dict in a file of JSON; ValueError for anything else."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no {path}.")
    try:
        size = os.path.getsize(path)
        if size > LARGEST:
            raise ValueError(f"it has {size} bytes, more than any such file")
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
    except RecursionError:
        raise ValueError(f"{path} cannot be read: it is nested too deeply.") from None
    except ValueError as error:  # of JSON and of UTF-8 as well
        raise ValueError(f"{path} cannot be read: {error}.") from None
    if not isinstance(said, dict):
        raise ValueError(f"{path} holds a {type(said).__name__}; expected a dict.")
    return said


def _words(words):
    return tuple(words) if isinstance(words, list) else words
