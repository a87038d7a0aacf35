"""What a Transformer is made of: sizes and choices, as numbers and strings.

    config = TransformerConfig(vocabulary=29, width=64, positions="alibi")
    config.to_dict()                         plain, for a checkpoint or JSON
    TransformerConfig.from_dict(plain)       equal to config

Whatever does not fit is refused here, in a sentence, before anything is built.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from minigrad import gelu, relu, sigmoid
from minigrad.checks import probability

from ..checks import whole


def silu(x):
    """x sigmoid(x), also called swish (Ramachandran et al. 2017)."""
    return x * sigmoid(x)


ACTIVATIONS = {"relu": relu, "gelu": gelu, "silu": silu, "swish": silu}
SCHEMES = (
    "none", "sinusoidal", "learned", "t5", "shaw", "transformer-xl", "disentangled",
    "alibi", "rope", "rope+linear", "rope+ntk", "rope+yarn",
)  # fmt: skip
NORMS = ("pre", "post")


@dataclass
class TransformerConfig:
    """Of a ``DecoderOnly``; and most of an ``EncoderDecoder``.

    vocabulary       V, how many ids there are
    width            D of a token, in all layers; the heads share it
    heads            H of an attention, each D / H wide
    key_heads        Hk, which divides H: see ``MultiHeadAttention``; None is H
    layers           blocks, one upon the other
    hidden           the width inside the feed-forward network; None is 4 D
    norm             "pre": x + f(LN(x)), and a last LN; "post": LN(x + f(x))
    final_norm       whether a stack ends with a LN; None: with "pre" alone. Those of
                     torch.nn.Transformer always do
    activation       of the feed-forward network
    dropout          of weights, of what a block adds, of embeddings, in training
    bias             whether the linear maps of a block have biases
    positions        a scheme by name, see schemes.py
    max_length       of "learned", the rows of the table; of "rope+...", the length
                     that is trained on; others take any length
    num_buckets      of "t5"
    max_distance     from which on all distances are alike, of "t5", "shaw" and
                     "disentangled"
    base             of "sinusoidal", "transformer-xl" and "rope...": the slowest hand
                     goes round in about 2 pi base positions
    tied             whether the table of the words also makes the logits
    scale_embedding  whether embeddings are multiplied by sqrt(D)

    Raises TypeError and ValueError for what does not fit.
    """

    vocabulary: int
    width: int = 64
    heads: int = 4
    key_heads: int | None = None
    layers: int = 2
    hidden: int | None = None
    norm: str = "pre"
    final_norm: bool | None = None
    activation: str = "gelu"
    dropout: float = 0.0
    bias: bool = True
    positions: str = "sinusoidal"
    max_length: int = 512
    num_buckets: int = 32
    max_distance: int = 128
    base: float = 10000.0
    tied: bool = True
    scale_embedding: bool = True

    def __post_init__(self):
        for field in dataclasses.fields(self):
            self._check(field, getattr(self, field.name))
        if self.width % self.heads:
            raise self._error(
                f"width is {self.width}, and {self.heads} heads cannot share it evenly"
            )
        E = self.width // self.heads
        if self.heads % (self.key_heads or self.heads):
            raise self._error(
                f"key_heads is {self.key_heads}, which does not divide {self.heads}, "
                "the number of heads"
            )
        if self.positions.startswith("rope") and E % 2:
            raise self._error(
                f"{self.positions!r} turns pairs of entries, and a head is {E} wide; "
                "expected width / heads to be even"
            )
        if self.positions == "t5" and not 1 < self.num_buckets < self.max_distance:
            raise self._error(
                f"num_buckets is {self.num_buckets} and max_distance "
                f"{self.max_distance}; expected 1 < num_buckets < max_distance"
            )

    @property
    def ends_with_norm(self):
        """Whether a stack ends with a LN, True or False in any case."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    @property
    def feed_forward(self):
        """The width inside the feed-forward network, a number in any case."""
        return 4 * self.width if self.hidden is None else self.hidden

    def to_dict(self):
        """{name: number, string, bool or None}"""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, plain):
        """The config of such a dict; what it does not name is as by default.

        Raises ValueError for names that are none of a config's.
        """
        if not isinstance(plain, dict):
            raise TypeError(
                f"{cls.__name__}.from_dict: found a {type(plain).__name__}; expected a "
                "dict, such as to_dict() gives."
            )
        names = [field.name for field in dataclasses.fields(cls)]
        unknown = [str(name) for name in plain if name not in names]
        if unknown or "vocabulary" not in plain:
            found = ", ".join(unknown) or "no vocabulary"
            raise ValueError(
                f"{cls.__name__}.from_dict: found {found}; expected vocabulary and, if "
                f"need be, {', '.join(names[1:])}."
            )
        return cls(**plain)

    def _check(self, field, value):
        name, cls = field.name, type(self).__name__
        optional = "None" in str(field.type)
        if optional and value is None:
            return
        choices = {
            "norm": NORMS, "activation": tuple(ACTIVATIONS), "positions": SCHEMES
        }.get(name)  # fmt: skip
        if choices is not None:
            if value not in choices:
                listed = ", ".join(map(repr, choices))
                raise self._error(f"{name} is {value!r}; expected one of {listed}")
        elif field.type in (bool, bool | None):
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{cls}: {name} is {value!r}; expected True or False.")
            setattr(self, name, bool(value))
        elif field.type is float:
            if isinstance(value, bool) or not isinstance(
                value, (int, float, np.number)
            ):
                raise TypeError(f"{cls}: {name} is {value!r}; expected a number.")
            if name == "dropout":
                probability(cls, "dropout", value)
            elif not 1 < value < math.inf:
                raise self._error(f"{name} is {value}; expected a number above 1")
            setattr(self, name, float(value))
        else:
            setattr(self, name, whole(cls, name, value, least=1))

    def _error(self, sentence):
        return ValueError(f"{type(self).__name__}: {sentence}.")


@dataclass
class EncoderDecoderConfig(TransformerConfig):
    """Of an ``EncoderDecoder``.

    layers             blocks of the encoder
    decoder_layers     blocks of the decoder; None: as many
    target_vocabulary  ids of the target; None: the source's, and one table for both
    """

    decoder_layers: int | None = None
    target_vocabulary: int | None = None
