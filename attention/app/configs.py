"""The options of the commands that train, a dataclass for each.

``--help`` shows the names in the tables of scores, positions and tasks.
"""

import os
from dataclasses import dataclass, fields, replace

from ..scores import COMPARED
from ..seq2seq.config import ATTENTIONS, CELLS, Seq2SeqConfig
from ..tasks.algorithmic import QUESTIONS
from ..tasks.bindings import Bindings
from ..tasks.grammar import GRAMMARS
from ..transformer.config import TransformerConfig
from ..variants.table import POSITIONS, SCORES, evaluations_of
from .options import (
    ABOVE_ZERO,
    BELOW_ONE,
    COUNT,
    NATURAL,
    POSITIVE,
    SHARE,
    SIZE,
    SIZES,
    STEPS,
    TEXT,
    TOKENS,
    check,
    names_of,
    option,
    shown,
)

PRESETS = ("masked", "book")
TASKS = (*GRAMMARS, *QUESTIONS)
TRAINED = [name for name in POSITIONS if "+" not in name]
EQUAL_WIDTHS = [name for name, score in SCORES.items() if score.equal_widths]
USUAL_SCORES = {"bahdanau": "additive", "luong": "general", "none": "additive"}
USUAL = {  # defaults for sentences, and for questions
    "pairs": (500, 50_000),
    "dropout": (0.3, 0.0),
    "steps": (600, 2500),
    "batch": (50, 128),
    "lr": (3e-3, 5e-3),
    "validate_every": (50, 100),
}
LENGTHS = [f"{name} {shown(task().lengths)}" for name, task in QUESTIONS.items()]


def _usual(name, kind, text):
    """Return an option whose default depends on the task."""
    sentences, questions = USUAL[name]
    text += f" (default: {sentences}; with questions {questions})"
    return option(None, kind, text)


@dataclass
class ReversalConfig:
    """The settings of the experiment. The same settings give the same results.

    A field with ``option`` is also an option of ``python -m attention reversal``; its
    third argument is the help text.
    """

    preset: str = option(
        "masked",
        PRESETS,
        "masked: no attention to padding; book: attention to padding, as in section "
        "38.6 of 'Attention Variants'",
    )
    decoder_init: str = option(
        "zero",
        ("zero", "encoder"),
        "the decoder's first state: zeros, or the last state of the encoder",
    )
    kinds: tuple = option(
        COMPARED,
        names_of(COMPARED),
        "train a model with each of these",
        typed="scores",
    )
    steps: int = option(2500, STEPS, "training steps")
    hidden: int = option(96, SIZE, "width of the GRU", typed="width")
    embedding: int = 32
    batch: int = 64
    min_length: int = 3
    max_length: int = 8
    lr: float = 3e-3
    clip: float = 1.0
    seed: int = option(1, NATURAL, "the first seed")
    seeds: int = option(1, COUNT, "number of seeds")
    pad_eval: int | None = option(
        None, SIZE, "in the evaluation, pad shorter sources to N letters (default: no)"
    )
    lengths: tuple = option(
        (3, 5, 7, 10), SIZES, "lengths of the strings in the evaluation"
    )
    samples: int = 500  # strings for each length of the evaluation

    def __post_init__(self):
        check(self)


@dataclass
class ExtrapolationConfig:
    """The settings of the experiment. The same settings give the same results."""

    kinds: tuple = option(
        ("sinusoidal", "learned", "t5", "rope", "alibi"),
        names_of(TRAINED),
        f"positional encodings, out of {', '.join(TRAINED)}",
        typed="schemes",
    )
    length: int = option(
        32, SIZE, "n, the longest sequence of the training, a multiple of 8"
    )
    factors: tuple = (1, 1.5, 2, 3, 4)
    steps: int = option(2000, STEPS, "training steps")
    batch: int = 32
    width: int = option(32, SIZE, "width of the models")
    layers: int = 2
    heads: int = 4
    base: float = 100.0  # at 10 000, most rotations hardly turn within these lengths
    lr: float = 2e-3
    clip: float = 1.0
    seed: int = option(1, NATURAL, "the first seed")
    seeds: int = option(1, COUNT, "number of seeds")
    samples: int = 200  # sequences for each length of the evaluation

    def __post_init__(self):
        check(self)
        if self.length % 8:
            raise ValueError(
                f"--length is {self.length}; expected a multiple of 8: a quarter of it "
                "is the length of the shortest sequences, which consist of pairs."
            )
        for name in self.rows:  # sizes that a run would refuse are refused now
            self.sizes(name)

    def sizes(self, scheme):
        """Return the ``TransformerConfig`` of a scheme."""
        longest = max(self.lengths) if POSITIONS[scheme].scheme.bounded else self.length
        return TransformerConfig(
            Bindings().vocabulary,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            activation="relu",
            positions=scheme,
            base=self.base,
            num_buckets=self.length // 2,
            max_distance=self.length,
            max_length=longest,
        )

    @property
    def lengths(self):
        """The lengths of the evaluation."""
        return tuple(2 * round(self.length * factor / 2) for factor in self.factors)

    @property
    def rows(self):
        """The rows of the table: all schemes, and the scaled ones after "rope"."""
        return tuple(row for name in self.kinds for row in evaluations_of(name))


@dataclass
class TranslationConfig:
    """The settings of a training. The same settings give the same results.

    None stands for the default of the task or of the attention.
    """

    task: str = option(
        "en-de",
        replace(TEXT, names=TASKS),
        f"sentences of a grammar: {', '.join(GRAMMARS)}; questions: "
        f"{', '.join(QUESTIONS)}; or a file with source<TAB>target on each line",
    )
    lengths: tuple | None = option(
        None,
        SIZES,
        "least and most length of a question: letters, digits of a number, or pairs of "
        f"key and value (default: {'; '.join(LENGTHS)})",
    )
    pairs: int | None = _usual(
        "pairs", POSITIVE, "sentences or questions to train on; of a file, the rest"
    )
    validation: int = option(
        100, POSITIVE, "sentences or questions to validate on; of a file, a tenth"
    )
    test: int = option(
        200, POSITIVE, "sentences or questions to test on; of a file, a tenth"
    )
    data_seed: int = option(
        0, NATURAL, "seed that draws the data, or divides a file into these parts"
    )
    min_count: int = option(
        1, POSITIVE, "a word with fewer than N occurrences in the training is <unk>"
    )
    attention: str = option("bahdanau", ATTENTIONS, "attention of the decoder")
    score: str | None = option(
        None,
        tuple(SCORES),
        f"score of the attention; {', '.join(EQUAL_WIDTHS)} need --no-bidirectional "
        "(default: additive, or general with luong)",
    )
    cell: str = option("gru", tuple(CELLS), "cell of encoder and decoder")
    layers: int = option(1, COUNT, "layers of encoder, and of decoder")
    bidirectional: bool = option(True, bool, "the encoder reads in both directions")
    input_feeding: bool = option(
        False, bool, "the output of a step is an input of the next; with luong only"
    )
    coverage: bool = option(
        False, bool, "the score depends on the earlier weights; with additive only"
    )
    local: str | None = option(
        None,
        ("m", "p"),
        "attend to a window only: around the same position (m), or around a predicted "
        "one (p); needs --window (default: attend to all)",
    )
    window: int | None = option(
        None, NATURAL, "with --local: tokens on either side of the window's centre"
    )
    embedding: int = option(64, SIZE, "width of a word")
    hidden: int = option(96, SIZE, "width of a state", typed="width")
    dropout: float | None = _usual("dropout", BELOW_ONE, "dropout in training")
    steps: int | None = _usual("steps", STEPS, "training steps, at most")
    batch: int | None = _usual("batch", SIZE, "sentences or questions per step")
    lr: float | None = _usual("lr", ABOVE_ZERO, "learning rate")
    clip: float = option(1.0, ABOVE_ZERO, "largest norm of the gradient")
    sampling: float = option(
        0.0,
        SHARE,
        "scheduled sampling: share of input words that the model itself predicts; it "
        "grows from 0 to P during the training",
    )
    word_dropout: float = option(
        0.0, BELOW_ONE, "share of source words that become <unk> in training"
    )
    validate_every: int | None = _usual(
        "validate_every", POSITIVE, "steps between two validations"
    )
    patience: int = option(
        6, POSITIVE, "end the training after N validations without a new least loss"
    )
    seed: int = option(1, NATURAL, "seed of parameters, batches and dropout")

    def __post_init__(self):
        check(self)
        if self.score is None:
            self.score = USUAL_SCORES[self.attention]
        task = task_of(self)
        self.lengths = task and task.lengths
        for name, (of_sentences, of_questions) in USUAL.items():
            if getattr(self, name) is None:
                setattr(self, name, of_questions if task else of_sentences)
        if self.task not in TASKS and os.path.exists(self.task):
            self.task = os.path.abspath(self.task)  # a run goes on in another folder
        self.model(4, 4)  # checks which options go together

    def model(self, source_vocabulary, target_vocabulary):
        """Return the ``Seq2SeqConfig`` for vocabularies of these sizes."""
        shared = {field.name for field in fields(Seq2SeqConfig)}
        own = {k: v for k, v in vars(self).items() if k in shared}
        return Seq2SeqConfig(source_vocabulary, target_vocabulary, **own)


@dataclass
class WritingConfig:
    """The settings of a training. The same settings give the same results."""

    text: str | None = option(
        None, TEXT, "a file to learn from, in UTF-8 (default: the pages of this book)"
    )
    vocabulary: int | None = option(
        None,
        TOKENS,
        "tokens of byte pairs, learned from the text; 256 of them are the single bytes "
        "(default: a token is a character)",
    )
    context: int = option(128, SIZE, "tokens that the model reads at once")
    layers: int = option(3, COUNT, "layers of the model")
    width: int = option(96, SIZE, "width of a token, a multiple of the heads")
    heads: int = option(4, COUNT, "heads of each layer")
    dropout: float = option(0.0, BELOW_ONE, "dropout in training")
    steps: int = option(3000, STEPS, "training steps")
    batch: int = option(16, SIZE, "windows of the text per step")
    lr: float = option(2e-3, ABOVE_ZERO, "learning rate")
    clip: float = 1.0
    validate_every: int = option(250, POSITIVE, "steps between two validations")
    seed: int = option(1, NATURAL, "seed of parameters, windows and dropout")

    def __post_init__(self):
        check(self)
        if self.text is not None and os.path.exists(self.text):
            self.text = os.path.abspath(self.text)  # a run goes on in another folder
        self.model(4)  # checks which sizes go together

    def model(self, vocabulary):
        """Return the ``TransformerConfig`` for so many tokens."""
        return TransformerConfig(
            vocabulary,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            dropout=self.dropout,
            positions="rope",
            max_length=self.context,
        )


@dataclass
class CompareConfig:
    """The settings of the experiment. The same settings give the same results."""

    task: str = option("en-de", tuple(GRAMMARS), "the grammar")
    pairs: int = option(500, POSITIVE, "sentences to train on")
    test: int = option(200, POSITIVE, "sentences to test on")
    cell: str = option("gru", tuple(CELLS), "cell of encoder and decoder")
    layers: int = option(1, COUNT, "layers of encoder, and of decoder")
    hidden: int = option(128, SIZE, "width of a state", typed="width")
    embedding: int = option(64, SIZE, "width of a word")
    dropout: float = option(0.4, BELOW_ONE, "dropout in training")
    steps: int = option(600, STEPS, "training steps, at most")
    batch: int = option(50, SIZE, "sentences per step")
    lr: float = option(3e-3, ABOVE_ZERO, "learning rate")
    seed: int = option(1, NATURAL, "the first seed")
    seeds: int = option(3, COUNT, "number of seeds")
    kinds: tuple = option(
        ATTENTIONS,
        names_of(ATTENTIONS, ("none",)),
        "the attentions to compare: none, and one or more others",
        typed="attentions",
    )
    resamples: int = 2000  # for the intervals

    def __post_init__(self):
        check(self)
        if len(self.kinds) < 2:
            raise ValueError(
                "--attentions is 'none' alone; expected another as well: "
                f"{' or '.join(ATTENTIONS[1:])}."
            )
        self.translation(self.kinds[0], self.seed + self.seeds - 1)  # checks the rest

    def translation(self, kind, seed):
        """Return the config of one of the runs."""
        names = {field.name for field in fields(TranslationConfig)}
        shared = {name: value for name, value in vars(self).items() if name in names}
        return TranslationConfig(**{**shared, "attention": kind, "seed": seed})


def task_of(config):
    """Return the task of the config's questions, such as Copy(3, 8), or None.

    Raises ValueError for lengths that do not fit the task, or without questions.
    """
    task, lengths = QUESTIONS.get(config.task), config.lengths
    if lengths is not None and (task is None or len(lengths) != 2):
        found = ",".join(map(str, lengths))
        raise ValueError(
            f"--lengths is {found} with the task {config.task}; expected two numbers, "
            "the least and the most letters, digits or pairs of a question, with "
            f"{', '.join(QUESTIONS)}."
        )
    return task and task(*(lengths or ()))
