"""What a recurrent encoder-decoder is made of, in one place.

    config = Seq2SeqConfig(9_000, 12_000, cell="lstm", attention="luong",
                           score="general", input_feeding=True)
    model = Seq2Seq(config)
    Seq2SeqConfig.from_dict(config.to_dict()) == config

A config is checked when it is made, so that a model of it can be built.
"""

from dataclasses import asdict, dataclass, fields

from minigrad.checks import probability

from ..checks import whole
from ..tasks.batch import EOS

CHOICES = {
    "cell": ("gru", "lstm"),
    "attention": ("none", "bahdanau", "luong"),
    "score": ("additive", "dot", "general", "scaled", "concat", "gaussian"),
    "local": (None, "m", "p"),
    "decoder_init": ("zero", "encoder"),
}
NAME = "Seq2SeqConfig"


@dataclass(frozen=True)
class Seq2SeqConfig:
    """The choices of a ``Seq2Seq``.

    source_vocabulary, target_vocabulary   numbers of ids, PAD, SOS and EOS among them
    embedding, hidden   widths: E of an embedded token, H of a state
    layers        of the encoder, and of the decoder
    cell          "gru" or "lstm"
    bidirectional whether the encoder also reads from the end; its states are then 2 H
    attention     "none": the decoder knows the encoder's last state alone
                  "bahdanau": the state before asks, and what is found enters the next
                  "luong": the new state asks, and what is found enters the output
    score         "additive" or "concat", of H hidden units; "dot", "general", "scaled";
                  "gaussian", with a bandwidth that is learned, from H^(1/4) on
    local, window "m" or "p": only 2 window + 1 keys are looked at (``LocalAttention``)
    coverage      the score knows what was looked at before (``CoverageAttention``)
    input_feeding of "luong": its output h~ is also read at the next step
    dropout       in training: of embedded tokens, between layers, before the output
    decoder_init  "encoder": from its last states; "zero"
    mask_padding  False: read and attend to padding as to any token

    Raises TypeError and ValueError, in a sentence, for what does not exist or does not
    go together.
    """

    source_vocabulary: int
    target_vocabulary: int
    embedding: int = 32
    hidden: int = 64
    layers: int = 1
    cell: str = "gru"
    bidirectional: bool = False
    attention: str = "bahdanau"
    score: str = "additive"
    local: str | None = None
    window: int | None = None
    coverage: bool = False
    input_feeding: bool = False
    dropout: float = 0.0
    decoder_init: str = "encoder"
    mask_padding: bool = True

    def __post_init__(self):
        sizes = {"embedding": 1, "hidden": 1, "layers": 1}
        sizes |= {"source_vocabulary": EOS + 1, "target_vocabulary": EOS + 1}
        if self.window is not None:
            sizes["window"] = 1 if self.local == "p" else 0
        for name, least in sizes.items():
            value = whole(NAME, name, getattr(self, name), least)
            object.__setattr__(self, name, value)  # an int, also if it was NumPy's
        for name, choices in CHOICES.items():
            _check_choice(name, getattr(self, name), choices)
        for name in ("bidirectional", "coverage", "input_feeding", "mask_padding"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(
                    f"{NAME}: {name} is {getattr(self, name)!r}; expected True or "
                    "False."
                )
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, (int, float)):
            raise TypeError(f"{NAME}: dropout is {self.dropout!r}; expected a number.")
        probability(NAME, "dropout", self.dropout)
        self._check_together()

    @property
    def memory(self):
        """M, the width of the encoder's states."""
        return self.hidden * (2 if self.bidirectional else 1)

    def to_dict(self):
        """As a dict of numbers and strings, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_dict(cls, choices):
        """The config that ``to_dict`` made this dict of.

        Raises ValueError when a choice is missing that has no default, or is unknown.
        """
        if not isinstance(choices, dict):
            raise TypeError(
                f"{NAME}.from_dict: found a {type(choices).__name__}; expected a dict, "
                "as to_dict makes it."
            )
        known = [field.name for field in fields(cls)]
        unknown = [name for name in choices if name not in known]
        if unknown:
            raise ValueError(
                f"{NAME}.from_dict: there is no {unknown[0]!r}; expected some of "
                f"{', '.join(known)}."
            )
        for name in known[:2]:
            if name not in choices:
                raise ValueError(
                    f"{NAME}.from_dict: {name} is missing; it has no default."
                )
        return cls(**choices)

    def _check_together(self):
        """What each choice asks of the others."""
        for wrong, message in (
            (
                self.attention == "none" and (self.local or self.coverage),
                "attention is 'none', so there is nothing for local or coverage to "
                "change; expected 'bahdanau' or 'luong' with them",
            ),
            (
                self.attention == "none" and self.decoder_init == "zero",
                "attention is 'none' and decoder_init 'zero', so nothing of the source "
                "would reach the decoder; expected decoder_init 'encoder'",
            ),
            (
                self.input_feeding and self.attention != "luong",
                f"input_feeding belongs to attention 'luong', not {self.attention!r}",
            ),
            (
                self.local is None and self.window is not None,
                f"window is {self.window}, and local is None; expected local 'm' or "
                "'p' with a window",
            ),
            (
                self.local is not None and self.window is None,
                f"local is {self.local!r}, and window is None; expected a number, how "
                "far to look on either side",
            ),
            (
                self.coverage and self.local is not None,
                "coverage and local together; expected one of them at most",
            ),
            (
                self.coverage and self.score != "additive",
                f"coverage is a term of the additive score; found score {self.score!r}",
            ),
            (
                self.attention != "none"
                and self.score in ("dot", "scaled", "gaussian")
                and self.bidirectional,
                f"score {self.score!r} needs states of one width, and a bidirectional "
                f"encoder has {self.memory} numbers where the decoder has "
                f"{self.hidden}; expected 'general', 'additive' or 'concat'",
            ),
        ):
            if wrong:
                raise ValueError(f"{NAME}: {message}.")


def _check_choice(name, value, choices):
    if not (value is None or isinstance(value, str)) or value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(
            f"{NAME}: {name} is {value!r}; expected {', '.join(others)} or {last}."
        )
