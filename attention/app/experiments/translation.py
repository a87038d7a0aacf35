"""Learn to translate: the data, the model, its training, and what came of it.

    data = load(config)                     sentences, or questions: translation_data.py
    run, finished = train(config, data)
    score(translator_of(config, data, run), data.test)

Everything a step draws, its batch, its dropout and the words of scheduled sampling,
depends on the seed and on the step alone. So a run that is resumed ends with the same
numbers, and a step that went wrong can be computed again.
"""

import os
from dataclasses import dataclass, fields, replace
from numbers import Real

import numpy as np

import minigrad as mg
from minigrad import optim

from ...checks import whole
from ...seq2seq.config import Seq2SeqConfig
from ...seq2seq.model import Seq2Seq
from ...seq2seq.scheduled_sampling import mixed_inputs
from ...seq2seq.training import Run, Validation, fit
from ...seq2seq.translator import Translator
from ...tasks.batch import PAD
from ...tasks.batching import Batches, in_order
from ...tasks.vocabulary import UNK
from ...variants.coverage import coverage_loss
from .translation_data import (
    FEWEST,
    GRAMMARS,
    QUESTIONS,
    TASKS,
    Data,
    ids_of,
    load,
    moved,
    name_of,
    task_of,
)

__all__ = [
    "FEWEST", "GRAMMARS", "QUESTIONS", "SCHEDULES", "SCORES", "TASKS", "USUAL",
    "Config", "Data", "build", "fresh", "ids_of", "load", "loss_of",
    "name_of", "task_of", "train", "translator_of", "validation_loss",
]  # fmt: skip

SCHEDULES = ("constant", "cosine", "inverse-sqrt")
SCORES = {"bahdanau": "additive", "luong": "general", "none": "additive"}
USUAL = {  # what is usual for sentences, and what for questions
    "pairs": (500, 50_000),
    "dropout": (0.3, 0.0),
    "steps": (600, 2500),
    "batch": (50, 128),
    "lr": (3e-3, 5e-3),
    "validate_every": (50, 100),
}

WHOLE = {  # the least of each
    "pairs": 1, "validation": 1, "test": 1, "data_seed": 0, "min_count": 1, "steps": 1,
    "batch": 1, "warmup": 0, "validate_every": 1, "patience": 1, "seed": 0,
}  # fmt: skip
NUMBERS = ("dropout", "lr", "clip", "smoothing", "sampling", "word_dropout")


@dataclass
class Config:
    """What defines a run; two runs with equal configs have equal numbers.

    None stands for what is usual: by ``USUAL``, SCORES, or the task.
    """

    task: str = "en-de"  # one of TASKS, or a file of source<TAB>target
    target: str | None = None  # a file, if the task is a file of sources alone
    lengths: tuple | None = None  # of questions: the least and the most
    pairs: int | None = None  # to train on, of a grammar or of questions
    validation: int = 100
    test: int = 200  # of a file: a tenth each
    data_seed: int = 0
    keep_case: bool = False  # of a file
    min_count: int = 1  # rarer words are <unk>
    attention: str = "bahdanau"
    score: str | None = None
    cell: str = "gru"
    layers: int = 1
    bidirectional: bool = True
    embedding: int = 64
    hidden: int = 96
    input_feeding: bool = False
    coverage: bool = False
    local: str | None = None
    window: int | None = None
    dropout: float | None = None
    steps: int | None = None
    batch: int | None = None
    lr: float | None = None
    schedule: str = "cosine"
    warmup: int = 0  # steps in which the rate rises
    clip: float = 1.0
    smoothing: float = 0.0  # of the labels
    sampling: float = 0.0  # of its own words that it reads at the end of training
    word_dropout: float = 0.0  # of source words that are read as <unk> in training
    validate_every: int | None = None
    patience: int = 6  # validations without a new least loss
    seed: int = 1

    moved = moved  # its file, or its two, may be elsewhere when one goes on

    def __post_init__(self):
        for name in ("task", "target"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "task"):
                raise TypeError(
                    f"Config: {name} is {value!r}; expected a name, a string."
                )
        if self.score is None:
            self.score = SCORES.get(self.attention, "additive")
        task = task_of(self)
        self.lengths = task and task.lengths
        for name, (of_sentences, of_questions) in USUAL.items():
            if getattr(self, name) is None:
                setattr(self, name, of_questions if task else of_sentences)
        for name in ("task", "target"):  # found again from another folder too
            value = getattr(self, name)
            if value is not None and value not in TASKS and os.path.exists(value):
                setattr(self, name, os.path.abspath(value))
        for name, least in WHOLE.items():
            setattr(self, name, whole("Config", name, getattr(self, name), least))
        for name in NUMBERS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"Config: {name} is {value!r}; expected a number.")
        if not isinstance(self.keep_case, bool):
            raise TypeError(
                f"Config: keep_case is {self.keep_case!r}; expected True or False."
            )
        for name in ("dropout", "smoothing", "word_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"The {name.replace('_', ' ')} is {getattr(self, name)}; expected "
                    "a number from 0 to 1, 1 left out: of nothing, nothing is learned."
                )
        if self.schedule not in SCHEDULES:
            raise ValueError(
                f"There is no schedule {self.schedule!r}; choose from "
                f"{', '.join(SCHEDULES)}."
            )
        self.model(4, 4)  # it checks what goes together

    def model(self, source_vocabulary, target_vocabulary):
        """The ``Seq2SeqConfig`` for vocabularies of these sizes."""
        shared = {field.name for field in fields(Seq2SeqConfig)}
        own = {k: v for k, v in vars(self).items() if k in shared}
        return Seq2SeqConfig(source_vocabulary, target_vocabulary, **own)


def build(config, data):
    """The ``Run`` as it stands before the first step, and its random generator."""
    rng = np.random.default_rng(config.seed)
    sizes = len(data.source), len(data.target)
    model = Seq2Seq(config.model(*sizes), rng)
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    after = None
    left = max(config.steps - config.warmup, 1)
    if config.schedule == "cosine":
        after = optim.CosineAnnealingLR(optimizer, T_max=left)
    elif config.schedule == "inverse-sqrt":
        after = optim.InverseSqrtLR(optimizer, max(config.warmup, 1))
    if config.warmup:
        optimizer.lr = config.lr
        after = optim.WarmupLR(optimizer, config.warmup, after)
    return Run(model, optimizer, after, config.clip), rng


def train(config, data, state=None, save=None, progress=None, record=None, keep=None):
    """Train a model; return (run, whether it was finished).

    What came of it is ``run.best``, the parameters with the least validation loss.
    ``state`` is a Run's state to go on from, ``keep`` is called with the run at each
    new best; see ``fit`` for the rest.
    """
    run, rng = build(config, data)
    if state is not None:
        run.load_state_dict(state)
    batches = Batches(data.ids("train"), config.batch, config.seed)
    held_out = list(in_order(data.ids("validation"), 100))

    def loss_at(i):
        rng.bit_generator.state = fresh(config.seed, i)
        batch = batches[i]
        if config.word_dropout:
            hidden = rng.random(batch.source.shape) < config.word_dropout
            hidden &= batch.source != PAD
            batch = replace(batch, source=np.where(hidden, UNK, batch.source))
        p = config.sampling * i / config.steps
        return loss_of(run.model, batch, config.smoothing, p, rng)

    validation = Validation(
        lambda: validation_loss(run.model, held_out),
        config.validate_every,
        config.patience,
        keep,
    )
    finished = fit(
        run, config.steps, loss_at, save, progress,
        validation=validation, record=record, seed=config.seed,
        # what the kernels take to load is no part of the training time
        prepare=lambda: loss_at(run.step).backward(),
    )  # fmt: skip
    return run, finished


def fresh(seed, step):
    """The state of a generator that depends on the seed and the step alone."""
    return np.random.default_rng([seed, step, 1]).bit_generator.state


def loss_of(model, batch, smoothing=0.0, p=0.0, rng=None):
    """Mean cross-entropy of the target words, in nats; PAD does not count.

    smoothing   of the labels
    p, rng      scheduled sampling: the share of words that are the model's own

    With coverage, what looking twice costs is added.
    """
    fed = mixed_inputs(model, batch, p, rng) if p else batch.target_in
    said = model.forced(batch.source, fed, batch.lengths)
    loss = mg.cross_entropy(
        said.logits, batch.target_out, ignore_index=PAD, label_smoothing=smoothing
    )
    if said.coverages is not None:
        loss = loss + coverage_loss(
            said.weights, said.coverages, target_lens=batch.target_lengths
        )
    return loss


def validation_loss(model, batches):
    """The mean over all words of all batches, without label smoothing."""
    total = words = 0.0
    with mg.no_grad():
        for batch in batches:
            n = int(batch.target_lengths.sum())
            total += loss_of(model, batch).item() * n
            words += n
    return total / words


def translator_of(config, data, run, about=None):
    """The ``Translator`` of the best parameters so far; the run stays as it is."""
    model = Seq2Seq(run.model.config, np.random.default_rng(0)).eval()
    model.load_state_dict(run.best["model"])
    lower = config.task in TASKS or not config.keep_case
    words = data.source, data.target
    characters = data.questions is not None
    return Translator(model, *words, lower, about or {}, characters)
