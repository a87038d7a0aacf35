"""Learn to translate: the data, the model, its training, and the result.

    data = load(config)                     sentences, or questions: translation_data.py
    run, finished = train(config, data)
    scoring.score(translator(best_model(run), data), data.test)

Everything that a step draws, its batch, its dropout and the words of scheduled
sampling, depends on the seed and on the step alone. So a run that is resumed ends with
the same numbers, and a step that went wrong can be computed again.
"""

from dataclasses import replace

import numpy as np

import minigrad as mg
from minigrad import optim

from ...decoding.sampling import mixed_inputs
from ...seq2seq.model import Seq2Seq
from ...seq2seq.translator import Translator
from ...tasks.batch import PAD
from ...tasks.batching import Batches, in_order
from ...tasks.vocabulary import UNK
from ...training import Run, Validation, fit
from ...variants.coverage import coverage_loss
from ..configs import TranslationConfig
from .translation_data import ids_of, load, name_of, task_of  # noqa: F401

Config = TranslationConfig


def build(config, data):
    """Return the ``Run`` before the first step, and its random generator."""
    rng = np.random.default_rng(config.seed)
    sizes = len(data.source), len(data.target)
    model = Seq2Seq(config.model(*sizes), rng)
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    schedule = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    return Run(model, optimizer, schedule, config.clip), rng


def train(config, data, state=None, save=None, progress=None, keep=None):
    """Train a model; return (run, whether it was finished).

    The result is ``run.best``, the parameters with the least validation loss.

    state   the state of a ``Run`` to continue, or None
    keep    called with the run at each new best; see ``fit`` for the rest
    """
    run, rng = build(config, data)
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
        state=state, validation=validation, seed=config.seed, prepare=True,
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


def translator(model, data, about=None):
    """Return a ``Translator`` of a model and the vocabularies of its data."""
    characters = data.questions is not None
    about = about or {}
    return Translator(
        model, data.source, data.target, about=about, characters=characters
    )
