"""Which positions carry on beyond the lengths that were trained?

One small decoder for each positional scheme, trained on sequences of up to n tokens and
asked at 1 to 4 times n. The task (tasks/bindings.py) is no harder in a long sequence:
what a model loses there, it loses to positions that it has not seen. Asked are the last
n / 2 tokens, which at 2 n and beyond all stand where no training token stood.

"rope" is trained once and asked four times: as it is, and with its rotations slowed
down, which changes no parameter. The learned table has rows for 4 n, of which no
training sequence ever reached the last 3 n. T5's last bucket begins within n, so that
it has been trained, for all that is farther away.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

import minigrad as mg
from minigrad import optim

from ...seq2seq.training import Run, fit
from ...tasks.bindings import NOTHING, Bindings
from ...transformer import SCHEMES, DecoderOnly, TransformerConfig
from .reversal import versions

__all__ = ["Config", "build", "train", "loss_of", "evaluate", "describe", "versions"]
TRAINED = tuple(name for name in SCHEMES if not name.startswith("rope+"))
SCALED = tuple(name for name in SCHEMES if name.startswith("rope+"))
QUICK = {"steps": 40, "samples": 20}  # to see what it does: nothing is learnt so soon


@dataclass
class Config:
    """What defines a run; two runs with equal configs have equal numbers."""

    schemes: tuple = ("sinusoidal", "learned", "t5", "rope", "alibi")
    length: int = 32  # n
    factors: tuple = (1, 1.5, 2, 3, 4)
    steps: int = 2000
    batch: int = 32
    width: int = 32
    layers: int = 2
    heads: int = 4
    base: float = 100.0  # 10 000 is for thousands of positions: half its hands stand
    lr: float = 4e-3
    clip: float = 1.0
    seed: int = 1
    seeds: int = 1
    samples: int = 200  # sequences for each length of the evaluation

    def __post_init__(self):
        self.schemes, self.factors = tuple(self.schemes), tuple(self.factors)
        wrong = [name for name in self.schemes if name not in TRAINED]
        if wrong or not self.schemes:
            raise ValueError(
                f"There is no scheme {', '.join(wrong) or 'at all'} to train: "
                f"{', '.join(TRAINED)}."
            )
        if self.length % 8 or self.length < 8:
            raise ValueError(
                f"The length is {self.length}; expected a multiple of 8, for quarters "
                "of it hold whole pairs."
            )
        if not self.factors or min(self.factors) < 1:
            raise ValueError(
                f"The factors are {self.factors}; expected numbers of 1 or more."
            )
        for name in self.rows:  # what a run would refuse is refused now
            sizes_of(self, name)

    @property
    def lengths(self):
        """The lengths that are asked."""
        return tuple(2 * round(self.length * factor / 2) for factor in self.factors)

    @property
    def longest(self):
        return max(self.lengths)

    @property
    def rows(self):
        """What the table has a row for: all schemes, and "rope" scaled as well."""
        rows = []
        for name in self.schemes:
            rows += [name, *SCALED] if name == "rope" else [name]
        return tuple(rows)

    def plan(self):
        """The runs to make, in order: every scheme with every seed."""
        return [
            (name, self.seed + i) for i in range(self.seeds) for name in self.schemes
        ]


def sizes_of(config, scheme):
    """The ``TransformerConfig`` of a scheme."""
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
        max_length=config.longest if scheme == "learned" else config.length,
    )


def model_of(config, scheme, seed=0):
    """The model of a scheme, as it stands before the first step."""
    return DecoderOnly(sizes_of(config, scheme), np.random.default_rng(seed))


def build(config, scheme, seed, model=None):
    """The model and its optimiser, as they stand before the first step."""
    model = model_of(config, scheme, seed) if model is None else model
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    after = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    schedule = optim.WarmupLR(optimizer, max(config.steps // 20, 1), after=after)
    return Run(model, optimizer, schedule, config.clip)


def train(config, scheme, seed, state=None, save=None, progress=None, model=None):
    """Train one model; return (run, whether it was finished). As in ``reversal``.

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
    """The loss of one batch, which depends on the seed and on the step alone.

    Its length is one to four quarters of n: the short ones are quick, and from them a
    model finds out sooner what is asked.
    """
    rng = np.random.default_rng([seed, step])
    length = config.length // 4 * int(rng.integers(1, 5))
    return loss_of(model, *Bindings().draw(rng, config.batch, length))


def loss_of(model, ids, targets):
    """Mean cross-entropy of the values that are asked for."""
    return mg.cross_entropy(model(ids), targets, ignore_index=NOTHING)


def evaluate(config, scheme, model):
    """{"accuracy": {row: {length: share of right values}}, "loss": the same in nats}.

    The rows are the scheme's: one, or for "rope" also those of the scaled ones.
    """
    report = {"accuracy": {}, "loss": {}}
    rows = {scheme: model.eval()}
    for name in SCALED if scheme == "rope" else ():
        rows[name] = model_of(config, name).eval()
        rows[name].load_state_dict(model.state_dict())
    for name, asked in rows.items():
        found = [_ask(config, asked, length) for length in config.lengths]
        for what, values in zip(report, zip(*found)):
            report[what][name] = dict(zip(map(str, config.lengths), values))
    return report


def describe(config):
    """The config as plain numbers and strings."""
    return {
        k: list(v) if isinstance(v, tuple) else v for k, v in asdict(config).items()
    }


def mean_over_seeds(runs, what, row, length):
    """The mean of run[what][row][length] over the runs that have this row."""
    values = [run[what][row][str(length)] for run in runs if row in run[what]]
    return math.fsum(values) / len(values)


def _ask(config, model, length):
    """(accuracy, loss) at the last n / 2 tokens of sequences of this length."""
    rng = np.random.default_rng([97, length])  # the same sequences for every model
    ids, targets = Bindings().draw(rng, config.samples, length)
    targets[:, : length - config.length // 2] = NOTHING
    model.extend(length)
    with mg.no_grad():
        logits = model(ids)
        loss = mg.cross_entropy(logits, targets, ignore_index=NOTHING).item()
    there = targets != NOTHING
    right = logits.numpy().argmax(-1)[there] == targets[there]
    return float(right.mean()) if right.size else 0.0, loss
