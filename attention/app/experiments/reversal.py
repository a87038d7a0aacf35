"""Which score function learns to reverse a string, and what decides it?

The experiment of chapter 38.6: one encoder GRU, one decoder GRU, four scores. Preset
``book`` is the chapter's own set-up, in which padding is attended to like any letter;
preset ``masked`` changes that one thing. Everything else is shared.
"""

import importlib.metadata
import math
import platform
from dataclasses import asdict, dataclass

import numpy as np

import minigrad as mg
from minigrad import optim

from ...seq2seq.reverser import KINDS, Reverser
from ...seq2seq.training import Run, fit
from ...tasks.reversal import PAD, Batches, decode, encode, make_batch, random_batch

PRESETS = {
    "masked": {"mask_padding": True, "decoder_init": "zero"},
    "book": {"mask_padding": False, "decoder_init": "zero"},
}


@dataclass
class Config:
    """What defines a run; two runs with equal configs have equal numbers."""

    preset: str = "masked"
    decoder_init: str | None = None  # None: the preset's
    kinds: tuple = KINDS
    steps: int = 2500
    hidden: int = 96
    embedding: int = 32
    batch: int = 64
    min_length: int = 3
    max_length: int = 8
    lr: float = 3e-3
    clip: float = 1.0
    seed: int = 1
    seeds: int = 1
    pad_eval: int | None = None  # evaluate on sources padded to this width
    lengths: tuple = (3, 5, 7, 10)
    samples: int = 500  # strings for each length of the evaluation

    def __post_init__(self):
        if self.preset not in PRESETS:
            raise ValueError(f"There is no preset {self.preset!r}: {list(PRESETS)}.")
        if self.decoder_init is None:
            self.decoder_init = PRESETS[self.preset]["decoder_init"]
        self.kinds, self.lengths = tuple(self.kinds), tuple(self.lengths)

    def plan(self):
        """The runs to make, in order: every kind with every seed."""
        return [(kind, self.seed + i) for i in range(self.seeds) for kind in self.kinds]


def build(config, kind, seed):
    """The model and its optimiser, as they stand before the first step."""
    model = Reverser(
        kind,
        embedding=config.embedding,
        hidden=config.hidden,
        decoder_init=config.decoder_init,
        mask_padding=PRESETS[config.preset]["mask_padding"],
        rng=np.random.default_rng(seed),
    )
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    schedule = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    return Run(model, optimizer, schedule, config.clip)


def train(config, kind, seed, state=None, save=None, progress=None):
    """Train one model; return (run, whether it was finished).

    ``state`` is a ``Run``'s state to go on from; see ``fit`` for the rest.
    """
    run = build(config, kind, seed)
    if state is not None:
        run.load_state_dict(state)
    batches = Batches(seed, config.batch, config.min_length, config.max_length)

    def loss_at(i):
        return loss_of(run.model, batches[i])

    finished = fit(
        run, config.steps, loss_at, save, progress,
        # what the kernels take to load is no part of the training time
        prepare=lambda: loss_at(run.step).backward(),
    )  # fmt: skip
    return run, finished


def loss_of(model, batch):
    """Mean cross-entropy of the target letters, teacher-forced; PAD does not count."""
    logits = model(batch.source, batch.target_in, batch.lengths)
    return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)


def evaluate(config, model):
    """Accuracy by length: {"accuracy": {"3": …}, "exact_match": {"3": …}}.

    accuracy     the share of letters that are right, given those before them
    exact_match  the share of strings that greedy decoding gets right, the end included
    """
    report = {"accuracy": {}, "exact_match": {}}
    model.eval()
    for length in config.lengths:
        rng = np.random.default_rng([97, length])  # the same strings for every model
        batch = random_batch(rng, config.samples, length, length, config.pad_eval)
        with mg.no_grad():
            logits = model(batch.source, batch.target_in, batch.lengths)
        letters = logits.numpy()[:, :length].argmax(-1)
        right = letters == batch.target_out[:, :length]
        report["accuracy"][str(length)] = float(right.mean())
        said = model.greedy(batch.source, batch.lengths, steps=length + 1)
        whole = said == batch.target_out[:, : length + 1]
        report["exact_match"][str(length)] = float(whole.all(1).mean())
    model.train()
    return report


def alignment(model, text="reversal"):
    """Where the model looks while it reverses ``text`` greedily.

    -> {"weights": (T, S) as lists, "source": S letters, "target": T letters it says}
    """
    batch = make_batch(encode(text)[None], [len(text)])
    said, weights = model.greedy(
        batch.source, batch.lengths, steps=len(text), return_weights=True
    )
    return {
        "weights": weights[0].tolist(),
        "source": list(text),
        "target": [decode([i]) or "·" for i in said[0]],  # a dot for SOS, EOS and PAD
    }


def versions():
    """What the numbers depend on beside the config."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "numba"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def describe(config):
    """The config as plain numbers and strings."""
    return {
        k: list(v) if isinstance(v, tuple) else v for k, v in asdict(config).items()
    }


def mean_by_kind(runs, what, length):
    """{kind: mean over seeds of run[what][length]}."""
    values = {}
    for run in runs:
        values.setdefault(run["kind"], []).append(run[what][str(length)])
    return {kind: math.fsum(v) / len(v) for kind, v in values.items()}
