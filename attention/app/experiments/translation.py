"""Learn to translate: the data, the model, its training, and the result.

    data = load(config)                     sentences, or questions: translation_data.py
    run, finished = train(config, data)
    score(translator_of(config, data, run), data.test)

Everything that a step draws, its batch, its dropout and the words of scheduled
sampling, depends on the seed and on the step alone. So a run that is resumed ends with
the same numbers, and a step that went wrong can be computed again.
"""

import os
from dataclasses import dataclass, fields, replace

import numpy as np

import minigrad as mg
from minigrad import optim

from ...seq2seq.config import CHOICES, Seq2SeqConfig
from ...seq2seq.model import Seq2Seq
from ...seq2seq.sampling import mixed_inputs
from ...seq2seq.training import Run, Validation, fit
from ...seq2seq.translator import Translator
from ...tasks.batch import PAD
from ...tasks.batching import Batches, in_order
from ...tasks.vocabulary import UNK
from ...variants.coverage import coverage_loss
from ..options import (
    ABOVE_ZERO,
    BELOW_ONE,
    NATURAL,
    POSITIVE,
    POSITIVES,
    SHARE,
    TEXT,
    check,
    option,
    shown,
)
from .translation_data import (
    GRAMMARS,
    QUESTIONS,
    TASKS,
    Data,
    ids_of,
    load,
    name_of,
    task_of,
)

__all__ = [
    "GRAMMARS", "QUESTIONS", "SCORES", "TASKS", "USUAL",
    "Config", "Data", "build", "generator_state", "ids_of", "load", "loss_of",
    "name_of", "task_of", "train", "translator_of", "validation_loss",
]  # fmt: skip

SCORES = {"bahdanau": "additive", "luong": "general", "none": "additive"}
USUAL = {  # defaults for sentences, and for questions
    "pairs": (500, 50_000),
    "dropout": (0.3, 0.0),
    "steps": (600, 2500),
    "batch": (50, 128),
    "lr": (3e-3, 5e-3),
    "validate_every": (50, 100),
}
LENGTHS = "; ".join(
    f"{name} {shown(task().lengths)}" for name, task in QUESTIONS.items()
)


def _usual(name, kind, text):
    """Return an option whose default depends on the task."""
    sentences, questions = USUAL[name]
    text += f" (default: {sentences}; with questions {questions})"
    return option(None, kind, text)


@dataclass
class Config:
    """What defines a run; two runs with equal configs have equal numbers.

    None stands for the default of the task or of the attention.
    """

    task: str = option(
        "en-de",
        TEXT,
        f"sentences of a grammar: {', '.join(GRAMMARS)}; questions: "
        f"{', '.join(QUESTIONS)}; or a file with source<TAB>target on each line",
    )
    target: str | None = option(
        None, TEXT, "a file of targets, where --task is one of sources, line by line"
    )
    lengths: tuple | None = option(
        None,
        POSITIVES,
        "of questions, least and most: letters, digits of a number, pairs of key and "
        f"value (default: {LENGTHS})",
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
    data_seed: int = option(0, NATURAL, "seed of the drawn data, or of a file's parts")
    min_count: int = option(1, POSITIVE, "words of sentences that are rarer are <unk>")
    attention: str = option("bahdanau", CHOICES["attention"], "of the decoder")
    score: str | None = option(
        None,
        CHOICES["score"],
        "of the attention (default: additive, or general with luong)",
    )
    cell: str = option("gru", CHOICES["cell"], "of encoder and decoder")
    layers: int = option(1, POSITIVE, "of encoder, and of decoder")
    bidirectional: bool = option(True, bool, "the encoder reads in both directions")
    input_feeding: bool = option(
        False, bool, "luong's output is an input of the next step"
    )
    coverage: bool = option(False, bool, "the score depends on the earlier weights")
    local: str | None = option(None, ("m", "p"), "attend to a window only")
    window: int | None = option(None, NATURAL, "tokens on either side of its centre")
    embedding: int = option(64, POSITIVE, "width of a word")
    hidden: int = option(96, POSITIVE, "width of a state")
    dropout: float | None = _usual("dropout", BELOW_ONE, "in training")
    steps: int | None = _usual("steps", POSITIVE, "training steps, at most")
    batch: int | None = _usual("batch", POSITIVE, "sentences or questions a step")
    lr: float | None = _usual("lr", ABOVE_ZERO, "learning rate")
    clip: float = option(1.0, ABOVE_ZERO, "largest norm of the gradient")
    sampling: float = option(
        0.0, SHARE, "scheduled sampling: share of the model's own words at the end"
    )
    word_dropout: float = option(
        0.0, BELOW_ONE, "share of source words that become <unk> in training"
    )
    validate_every: int | None = _usual(
        "validate_every", POSITIVE, "steps between two validations"
    )
    patience: int = option(
        6, POSITIVE, "validations without a new least loss that end the training"
    )
    seed: int = option(1, NATURAL, "of parameters, batches and dropout")

    def __post_init__(self):
        check(self)
        if self.score is None:
            self.score = SCORES.get(self.attention, "additive")
        task = task_of(self)
        self.lengths = task and task.lengths
        for name, (of_sentences, of_questions) in USUAL.items():
            if getattr(self, name) is None:
                setattr(self, name, of_questions if task else of_sentences)
        for name in ("task", "target"):  # a run can be resumed from another folder
            value = getattr(self, name)
            if value is not None and value not in TASKS and os.path.exists(value):
                setattr(self, name, os.path.abspath(value))
        self.model(4, 4)  # checks which options go together

    def model(self, source_vocabulary, target_vocabulary):
        """Return the ``Seq2SeqConfig`` for vocabularies of these sizes."""
        shared = {field.name for field in fields(Seq2SeqConfig)}
        own = {k: v for k, v in vars(self).items() if k in shared}
        return Seq2SeqConfig(source_vocabulary, target_vocabulary, **own)


def build(config, data):
    """Return the ``Run`` before the first step, and its random generator."""
    rng = np.random.default_rng(config.seed)
    sizes = len(data.source), len(data.target)
    model = Seq2Seq(config.model(*sizes), rng)
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    schedule = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    return Run(model, optimizer, schedule, config.clip), rng


def train(config, data, state=None, save=None, progress=None, record=None, keep=None):
    """Train a model; return (run, whether it was finished).

    The result is ``run.best``, the parameters with the least validation loss.
    state   of a ``Run``, to continue from
    keep    called with the run at each new best; see ``fit`` for the rest
    """
    run, rng = build(config, data)
    if state is not None:
        run.load_state_dict(state)
    batches = Batches(data.ids("train"), config.batch, config.seed)
    held_out = list(in_order(data.ids("validation"), 100))

    def loss_at(i):
        rng.bit_generator.state = generator_state(config.seed, i)
        batch = batches[i]
        if config.word_dropout:
            is_unk = rng.random(batch.source.shape) < config.word_dropout
            is_unk &= batch.source != PAD
            batch = replace(batch, source=np.where(is_unk, UNK, batch.source))
        p = config.sampling * i / config.steps
        return loss_of(run.model, batch, p, rng)

    validation = Validation(
        lambda: validation_loss(run.model, held_out),
        config.validate_every,
        config.patience,
        keep,
    )
    finished = fit(
        run, config.steps, loss_at, save, progress,
        validation=validation, record=record, seed=config.seed,
        # the time to load the kernels is not counted
        prepare=lambda: loss_at(run.steps).backward(),
    )  # fmt: skip
    return run, finished


def generator_state(seed, step):
    """Return the random state of a step; it depends on the seed and the step alone."""
    return np.random.default_rng([seed, step, 1]).bit_generator.state


def loss_of(model, batch, p=0.0, rng=None):
    """Return the mean cross-entropy of the target words, in nats, without PAD.

    p, rng   scheduled sampling: the share of input words that the model predicted

    A model with coverage adds its coverage loss.
    """
    fed = mixed_inputs(model, batch, p, rng) if p else batch.target_in
    output = model.forced(batch.source, fed, batch.lengths)
    loss = mg.cross_entropy(output.logits, batch.target_out, ignore_index=PAD)
    if output.coverages is not None:
        loss = loss + coverage_loss(
            output.weights, output.coverages, target_lens=batch.target_lengths
        )
    return loss


def validation_loss(model, batches):
    """Return the mean loss of all words of all batches."""
    total = words = 0.0
    with mg.no_grad():
        for batch in batches:
            n = int(batch.target_lengths.sum())
            total += loss_of(model, batch).item() * n
            words += n
    return total / words


def translator_of(config, data, run, about=None):
    """Return a ``Translator`` with the best parameters so far."""
    model = Seq2Seq(run.model.config, np.random.default_rng(0)).eval()
    model.load_state_dict(run.best["model"])
    characters = data.questions is not None
    return Translator(
        model, data.source, data.target, about=about or {}, characters=characters
    )
