"""Which positions work beyond the lengths of the training?

One small decoder for each positional scheme is trained on sequences of up to n tokens
and evaluated at 1 to 4 times n. The task (tasks/bindings.py) is not harder in a long
sequence: what a model loses there, it loses to positions that it has not seen. Only the
last n / 2 tokens are evaluated; at 2 n and beyond, no training token had their
positions.

"rope" is trained once and evaluated four times: as it is, and with its rotations slowed
down, which changes no parameter. The learned table has rows for 4 n positions; no
training sequence reaches the last 3 n. T5's last bucket begins within n, so that it is
trained for all larger distances.
"""

import math
from dataclasses import dataclass

import numpy as np

import minigrad as mg
from minigrad import optim

from ...seq2seq.training import Run, fit
from ...tasks.bindings import NOTHING, Bindings
from ...transformer import SCHEMES, DecoderOnly, TransformerConfig
from ..options import NATURAL, POSITIVE, check, names_of, option

TRAINED = tuple(name for name in SCHEMES if not name.startswith("rope+"))
SCALED = tuple(name for name in SCHEMES if name.startswith("rope+"))


@dataclass
class Config:
    """What defines a run; two runs with equal configs have equal numbers."""

    schemes: tuple = option(
        ("sinusoidal", "learned", "t5", "rope", "alibi"),
        names_of(TRAINED),
        f"out of {', '.join(TRAINED)} (default: sinusoidal,learned,t5,rope,alibi)",
    )
    length: int = option(32, POSITIVE, "n, the length of the training")
    factors: tuple = (1, 1.5, 2, 3, 4)
    steps: int = option(2000, POSITIVE, "training steps")
    batch: int = 32
    width: int = option(32, POSITIVE, "width of the models")
    layers: int = 2
    heads: int = 4
    base: float = 100.0  # at 10 000, most rotations hardly turn within these lengths
    lr: float = 4e-3
    clip: float = 1.0
    seed: int = option(1, NATURAL, "the first seed")
    seeds: int = option(1, POSITIVE, "number of seeds")
    samples: int = 200  # sequences for each length of the evaluation

    def __post_init__(self):
        check(self)
        if self.length % 8:
            raise ValueError(
                f"Config: length is {self.length}; expected a multiple of 8, so that a "
                "quarter of it holds whole pairs."
            )
        for name in self.rows:  # sizes that a run would refuse are refused now
            sizes_of(self, name)

    @property
    def lengths(self):
        """The lengths of the evaluation."""
        return tuple(2 * round(self.length * factor / 2) for factor in self.factors)

    @property
    def rows(self):
        """The rows of the table: all schemes, and the scaled ones after "rope"."""
        rows = []
        for name in self.schemes:
            rows += [name, *SCALED] if name == "rope" else [name]
        return tuple(rows)

    def plan(self):
        """Return the runs, in order: every scheme with every seed."""
        return [
            (name, self.seed + i) for i in range(self.seeds) for name in self.schemes
        ]


def sizes_of(config, scheme):
    """Return the ``TransformerConfig`` of a scheme."""
    return TransformerConfig(
        Bindings().vocabulary,
        width=config.width,
        layers=config.layers,
        heads=config.heads,
        activation="relu",
        positions=scheme,
        base=config.base,
        num_buckets=config.length // 2,
        max_distance=config.length,
        max_length=max(config.lengths) if scheme == "learned" else config.length,
    )


def model_of(config, scheme, seed=0):
    """Return the model of a scheme before the first step."""
    return DecoderOnly(sizes_of(config, scheme), np.random.default_rng(seed))


def build(config, scheme, seed, model=None):
    """Return the model and its optimiser before the first step."""
    model = model_of(config, scheme, seed) if model is None else model
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    after = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    schedule = optim.WarmupLR(optimizer, max(config.steps // 20, 1), after=after)
    return Run(model, optimizer, schedule, config.clip)


def train(config, scheme, seed, state=None, save=None, progress=None, model=None):
    """Train one model; return (run, whether it was finished).

    state   of a ``Run``, to continue from; see ``fit`` for the rest
    model   to train in place of the scheme's own
    """
    run = build(config, scheme, seed, model)
    if state is not None:
        run.load_state_dict(state)
    finished = fit(
        run, config.steps, lambda i: loss_at(config, run.model, seed, i), save, progress
    )
    return run, finished


def loss_at(config, model, seed, step):
    """Return the loss of one batch, which depends on the seed and on the step alone.

    Its length is one to four quarters of n: a model learns the task sooner from short
    sequences, and they are quick.
    """
    rng = np.random.default_rng([seed, step])
    length = config.length // 4 * int(rng.integers(1, 5))
    return loss_of(model, *Bindings().draw(rng, config.batch, length))


def loss_of(model, ids, targets):
    """Return the mean cross-entropy of the values to predict."""
    return mg.cross_entropy(model(ids), targets, ignore_index=NOTHING)


def evaluate(config, scheme, model):
    """Return {"accuracy": {row: {length: share of right values}}, "loss": likewise}.

    The rows are the scheme, and after "rope" the scaled ones; the loss is in nats.
    """
    report = {"accuracy": {}, "loss": {}}
    rows = {scheme: model.eval()}
    for name in SCALED if scheme == "rope" else ():
        rows[name] = model_of(config, name).eval()
        rows[name].load_state_dict(model.state_dict())
    for name, model in rows.items():
        found = [_evaluate_at(config, model, length) for length in config.lengths]
        for what, values in zip(report, zip(*found)):
            report[what][name] = dict(zip(map(str, config.lengths), values))
    return report


def mean_over_seeds(runs, what, row, length):
    """Return the mean of run[what][row][length] over the runs that have this row."""
    values = [run[what][row][str(length)] for run in runs if row in run[what]]
    return math.fsum(values) / len(values)


def _evaluate_at(config, model, length):
    """Return (accuracy, loss) at the last n / 2 tokens of sequences of this length."""
    rng = np.random.default_rng([97, length])  # the same sequences for every model
    ids, targets = Bindings().draw(rng, config.samples, length)
    targets[:, : length - config.length // 2] = NOTHING
    model.extend(length)
    with mg.no_grad():
        logits = model(ids)
        loss = mg.cross_entropy(logits, targets, ignore_index=NOTHING).item()
    counted = targets != NOTHING
    right = logits.numpy().argmax(-1)[counted] == targets[counted]
    return float(right.mean()) if right.size else 0.0, loss
