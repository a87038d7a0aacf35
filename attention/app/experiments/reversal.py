"""The experiment of chapter 38.6: which score function learns to reverse a string?

One encoder GRU, one decoder GRU, four scores. In the preset ``book``, the chapter's
set-up, padding is attended to like any letter; in ``masked`` it is not.

A source batch takes a straight way: ``Batches`` (the task) -> ``Batch`` -> ``Reverser``
(the model) -> ``loss_of``.
"""

import math
from dataclasses import dataclass

import numpy as np

import minigrad as mg
from minigrad import optim

from ...seq2seq.decoding import greedy
from ...seq2seq.metrics import exact_match
from ...seq2seq.reverser import KINDS, Reverser
from ...seq2seq.training import Run, fit
from ...tasks.reversal import PAD, Batches, decode, encode, make_batch, random_batch
from ..options import NATURAL, POSITIVE, POSITIVES, check, names_of, option


@dataclass
class Config:
    """What defines a run; two runs with equal configs have equal numbers."""

    preset: str = option(
        "masked",
        ("masked", "book"),
        "masked: padding is not attended to; book: as in the chapter",
    )
    decoder_init: str = option("zero", ("zero", "encoder"), "the decoder's first state")
    kinds: tuple = option(KINDS, names_of(KINDS), "the scores")
    steps: int = option(2500, POSITIVE, "training steps")
    hidden: int = option(96, POSITIVE, "width of the GRU")
    embedding: int = 32
    batch: int = 64
    min_length: int = 3
    max_length: int = 8
    lr: float = 3e-3
    clip: float = 1.0
    seed: int = option(1, NATURAL, "the first seed")
    seeds: int = option(1, POSITIVE, "number of seeds")
    pad_eval: int | None = option(
        None, POSITIVE, "evaluate on sources padded to N letters (default: unpadded)"
    )
    lengths: tuple = option((3, 5, 7, 10), POSITIVES, "lengths of the evaluation")
    samples: int = 500  # strings for each length of the evaluation

    def __post_init__(self):
        check(self)

    def plan(self):
        """Return (kind, seed) of all runs, in order: every kind with every seed."""
        return [(kind, self.seed + i) for i in range(self.seeds) for kind in self.kinds]


def build(config, kind, seed):
    """Return the ``Run`` before its first step."""
    model = Reverser(
        kind,
        embedding=config.embedding,
        hidden=config.hidden,
        decoder_init=config.decoder_init,
        mask_padding=config.preset == "masked",
        rng=np.random.default_rng(seed),
    )
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    schedule = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    return Run(model, optimizer, schedule, config.clip)


def train(config, kind, seed, state=None, save=None, progress=None):
    """Train one model; return (run, whether it was finished).

    state   a ``Run``'s state to resume from, or None; see ``fit`` for the others
    """
    run = build(config, kind, seed)
    if state is not None:
        run.load_state_dict(state)
    batches = Batches(seed, config.batch, config.min_length, config.max_length)

    def loss_at(i):
        return loss_of(run.model, batches[i])

    finished = fit(
        run, config.steps, loss_at, save, progress,
        # loading the kernels does not count as training time
        prepare=lambda: loss_at(run.steps).backward(),
    )  # fmt: skip
    return run, finished


def loss_of(model, batch):
    """Return the mean cross-entropy of the target letters; PAD does not count."""
    logits = model(batch.source, batch.target_in, batch.lengths)
    return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)


def evaluate(config, model):
    """Return the results by length: {"accuracy": {"3": …}, "exact_match": {"3": …}}.

    accuracy     the share of correct letters, given the right letters before them
    exact_match  the share of strings that greedy decoding reverses, the end included
    """
    report = {"accuracy": {}, "exact_match": {}}
    model.eval()
    for length in config.lengths:
        rng = np.random.default_rng([97, length])  # the same strings for every model
        batch = random_batch(rng, config.samples, length, length, config.pad_eval)
        with mg.no_grad():
            logits = model(batch.source, batch.target_in, batch.lengths)
        letters = logits.numpy()[:, :length].argmax(-1)
        correct = letters == batch.target_out[:, :length]
        report["accuracy"][str(length)] = float(correct.mean())
        decoded = greedy(model, batch.source, batch.lengths, length + 1)
        report["exact_match"][str(length)] = exact_match(decoded.ids, batch.target_out)
    model.train()
    return report


def alignment(model, text="reversal"):
    """Return the attention weights of the model while it reverses ``text`` greedily.

    -> {"weights": (T, S) as lists, "source": S letters, "target": T decoded letters}
    """
    batch = make_batch(encode(text)[None], [len(text)])
    decoded = greedy(model, batch.source, batch.lengths, len(text))
    return {
        "weights": decoded.weights[0].tolist(),
        "source": list(text),
        "target": [decode([i]) or "·" for i in decoded.ids[0]],  # a dot for EOS
    }


def mean_by_kind(runs, what, length):
    """Return {kind: mean over seeds of run[what][length]}."""
    values = {}
    for run in runs:
        values.setdefault(run["kind"], []).append(run[what][str(length)])
    return {kind: math.fsum(v) / len(v) for kind, v in values.items()}
