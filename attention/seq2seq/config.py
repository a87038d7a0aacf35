"""The options of a recurrent encoder-decoder, in one dataclass.

    config = Seq2SeqConfig(9_000, 12_000, cell="lstm", attention="luong",
                           score="general", input_feeding=True)
    model = Seq2Seq(config)
    Seq2SeqConfig.from_dict(config.to_dict()) == config

A config is checked when it is created, so that a model can be built from it.
"""

from dataclasses import asdict, dataclass

from minigrad.arguments import flag, one_of, probability, whole

from ..tasks.batch import EOS
from ..variants.table import SCORES
from .cells import CELLS

ATTENTIONS = ("none", "bahdanau", "luong")
NAME = "Seq2SeqConfig"


@dataclass(frozen=True)
class Seq2SeqConfig:
    """The choices of a ``Seq2Seq``.

    source_vocabulary, target_vocabulary
                  the numbers of ids, including PAD, SOS and EOS
    embedding     E, the width of an embedded token
    hidden        H, the width of a state
    layers        the number of layers of the encoder, and of the decoder
    cell          "gru" or "lstm"
    bidirectional True: the encoder also reads from the end, and its states have width
                  2 H
    attention     "none": the decoder knows only the last state of the encoder
                  "bahdanau": the old state is the query; the context enters the cell
                  "luong": the new state is the query; the context enters the output
    score         a name of ``SCORES`` (attention/variants/table.py)
    local         "m" or "p": ``LocalAttention``
    window        D of ``LocalAttention``: at most 2 window + 1 keys per query
    coverage      True: ``CoverageAttention``
    input_feeding True, only for "luong": the cell also reads the last output h~
    dropout       the probability in training, for embedded tokens, between layers, and
                  before the output
    decoder_init  the first state of the decoder. "zero": 0; "encoder": computed from
                  the last state of the encoder
    mask_padding  False: the encoder reads padding, and the decoder attends to it
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
        least = {
            "source_vocabulary": EOS + 1,
            "target_vocabulary": EOS + 1,
            "embedding": 1,
            "hidden": 1,
            "layers": 1,
        }
        if self.window is not None:
            least["window"] = 1 if self.local == "p" else 0
        for name, n in least.items():
            value = whole(NAME, name, getattr(self, name), n)
            object.__setattr__(self, name, value)  # a NumPy integer becomes an int
        one_of(NAME, "cell", self.cell, CELLS)
        one_of(NAME, "attention", self.attention, ATTENTIONS)
        one_of(NAME, "score", self.score, SCORES)
        one_of(NAME, "local", self.local, (None, "m", "p"))
        one_of(NAME, "decoder_init", self.decoder_init, ("zero", "encoder"))
        for name in ("bidirectional", "coverage", "input_feeding", "mask_padding"):
            flag(NAME, name, getattr(self, name))
        probability(NAME, "dropout", self.dropout)
        self._check_combination()

    @property
    def memory(self):
        """M, the width of the encoder's states."""
        return self.hidden * (2 if self.bidirectional else 1)

    def to_dict(self):
        """Return a dict of numbers, strings, booleans and None, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_dict(cls, choices):
        """Return the config whose ``to_dict`` returned ``choices``."""
        return cls(**choices)

    def _check_combination(self):
        """Raise ValueError for choices that exclude each other."""
        no_attention = self.attention == "none"
        same_width = SCORES[self.score].equal_widths
        others = [repr(name) for name in SCORES if not SCORES[name].equal_widths]
        for wrong, message in (
            (
                no_attention and (self.local or self.coverage),
                "local and coverage change an attention, and attention is 'none'; "
                "expected 'bahdanau' or 'luong'",
            ),
            (
                no_attention and self.decoder_init == "zero",
                "attention is 'none' and decoder_init is 'zero', so that the decoder "
                "would not depend on the source; expected decoder_init 'encoder'",
            ),
            (
                self.input_feeding and self.attention != "luong",
                f"input_feeding is True and attention {self.attention!r}; expected "
                "attention 'luong'",
            ),
            (
                (self.local is None) != (self.window is None),
                f"local is {self.local!r} and window {self.window}; expected both, "
                "such as local 'm' and window 3, or neither",
            ),
            (
                self.coverage and self.local is not None,
                "coverage and local are both given; expected one of them at most",
            ),
            (
                self.coverage and self.score != "additive",
                f"coverage is True and score {self.score!r}; expected 'additive', the "
                "only score with a term for coverage",
            ),
            (
                not no_attention and same_width and self.bidirectional,
                f"score {self.score!r} needs states of one width, and a bidirectional "
                f"encoder has {self.memory} numbers where the decoder has "
                f"{self.hidden}; expected {' or '.join(others)}",
            ),
        ):
            if wrong:
                raise ValueError(f"{NAME}: {message}.")
