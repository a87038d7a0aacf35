"""Learn to translate: the data, the model, its training, and what came of it.

    data = load(config)                     sentences of a grammar, or of a file
    run, finished = train(config, data)
    score(translator_of(config, data, run), data.test)

Everything a step draws, its batch, its dropout and the words of scheduled sampling,
depends on the seed and on the step alone. So a run that is resumed ends with the same
numbers, and a step that went wrong can be computed again.
"""

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

import minigrad as mg
from minigrad import optim

from ..coverage import coverage_loss
from ..seq2seq.config import Seq2SeqConfig
from ..seq2seq.model import Seq2Seq
from ..seq2seq.scheduled_sampling import mixed_inputs
from ..seq2seq.training import Run, Validation, fit
from ..seq2seq.translator import Translator
from ..tasks.batch import PAD
from ..tasks.batching import Batches, in_order, split
from ..tasks.grammar import Pair, splits
from ..tasks.parallel_text import read_pairs
from ..tasks.vocabulary import UNK, Vocabulary
from ..tasks.words import tokenize

TASKS = {"en-de": "english-german", "en-fr": "english-french"}
SHARE = 0.1  # of a file, to validate on, and as many to test on
FEWEST = next(
    n for n in range(1, 99) if round(SHARE * n)
)  # pairs of a file: for one each
SCHEDULES = ("constant", "cosine", "inverse-sqrt")
SCORES = {"bahdanau": "additive", "luong": "general", "none": "additive"}


@dataclass
class Config:
    """What defines a run; two runs with equal configs have equal numbers."""

    task: str = "en-de"  # or "en-fr", or a file of source<TAB>target
    target: str | None = None  # a file, if the task is a file of sources alone
    pairs: int = 500  # to train on, of a grammar
    validation: int = 100
    test: int = 200  # of a file: a tenth each
    data_seed: int = 0
    keep_case: bool = False  # of a file
    min_count: int = 1  # rarer words are <unk>
    attention: str = "bahdanau"
    score: str | None = None  # None: additive with bahdanau, general with luong
    cell: str = "gru"
    layers: int = 1
    bidirectional: bool = True
    embedding: int = 64
    hidden: int = 96
    input_feeding: bool = False
    coverage: bool = False
    local: str | None = None
    window: int | None = None
    dropout: float = 0.3
    steps: int = 600
    batch: int = 50
    lr: float = 3e-3
    schedule: str = "cosine"
    warmup: int = 0  # steps in which the rate rises
    clip: float = 1.0
    smoothing: float = 0.0  # of the labels
    sampling: float = 0.0  # of its own words that it reads at the end of training
    word_dropout: float = 0.0  # of source words that are read as <unk> in training
    validate_every: int = 50
    patience: int = 6  # validations without a new least loss
    seed: int = 1

    def __post_init__(self):
        if self.score is None:
            self.score = SCORES.get(self.attention, "additive")
        for name in ("task", "target"):  # found again from another folder too
            value = getattr(self, name)
            if value is not None and value not in TASKS and os.path.exists(value):
                setattr(self, name, os.path.abspath(value))
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


@dataclass
class Data:
    """``Pair``s of words, in three parts, and the words that the first one has.

    The alignment of a pair is None where nobody knows it.
    """

    train: Sequence
    validation: Sequence
    test: Sequence
    source: Vocabulary
    target: Vocabulary
    report: str = ""  # of a file: what was read, and what was not

    def ids(self, part):
        """[(source ids, target ids)] of the pairs of a part."""
        return ids_of(self, getattr(self, part))

    @property
    def ending(self):
        """The word that all sources of the training end with, or None."""
        last = {pair.source[-1] for pair in self.train}
        return last.pop() if len(last) == 1 else None

    @property
    def checksum(self):
        """A number that is another one where any word of any part is."""
        pairs = *self.train, *self.validation, *self.test
        words = [(pair.source, pair.target) for pair in pairs]
        return zlib.crc32(repr(words).encode())


def ids_of(vocabularies, pairs):
    """[(source ids, target ids)], for what has ``source`` and ``target``."""
    source, target = vocabularies.source, vocabularies.target
    return [(source.encode(p.source), target.encode(p.target)) for p in pairs]


def load(config):
    """The ``Data`` of a config.

    Raises OSError and ValueError, in a sentence, where they cannot be had.
    """
    report = ""
    if config.task in TASKS:
        if config.target is not None:
            raise ValueError(
                f"The target is {config.target}, and the task {config.task} has its "
                "own; expected one only where the task is a file of sources."
            )
        sizes = config.pairs, config.validation, config.test
        parts = splits(TASKS[config.task], *sizes, seed=config.data_seed)
    else:
        parts, report = _read(config)
    train = parts[0]
    source = Vocabulary.build([p.source for p in train], config.min_count)
    target = Vocabulary.build([p.target for p in train], config.min_count)
    return Data(*parts, source, target, report)


def _read(config):
    """(training, validation and test pairs of a file, what is to be said of it)"""
    if not os.path.exists(config.task):
        raise ValueError(
            f"There is no task and no file {config.task}; expected "
            f"{', '.join(TASKS)}, or a file with source<TAB>target on each line."
        )
    text = read_pairs(config.task, config.target)
    words = [
        tuple(tuple(tokenize(s, not config.keep_case)) for s in pair) for pair in text
    ]
    words = [pair for pair in words if all(pair)]
    if len(words) < FEWEST:
        raise ValueError(
            f"{config.task} holds {len(words)} pair{'s' * (len(words) != 1)}; expected "
            f"{FEWEST} or more: a tenth is to validate on, and another tenth to test "
            "on."
        )
    parts = split(words, config.data_seed, SHARE, SHARE)
    parts = [
        [Pair(s, t, None) for s, t in part]
        for part in (parts.train, parts.validation, parts.test)
    ]
    return parts, text.report()


def name_of(config):
    """The task as it is printed: a file without its folder."""
    return config.task if config.task in TASKS else os.path.basename(config.task)


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

    # once for nothing: what the kernels take to load is no part of the training time
    loss_at(run.step).backward()
    validation = Validation(
        lambda: validation_loss(run.model, held_out),
        config.validate_every,
        config.patience,
        keep,
    )
    finished = fit(
        run, config.steps, loss_at, save, progress,
        validation=validation, record=record, seed=config.seed,
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
    return Translator(model, data.source, data.target, lower, about or {})
