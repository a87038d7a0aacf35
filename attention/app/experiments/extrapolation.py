"""Which positions work beyond the lengths of the training?

One small decoder for each positional scheme is trained on sequences of up to n tokens
and evaluated at 1 to 4 times n. The task (tasks/bindings.py) is not harder in a long
sequence: what a model loses there, it loses to positions that it has not seen. Only the
last n / 2 tokens are evaluated; at 1.5 n and beyond, no training token had their
positions.

"rope" is trained once and evaluated four times: as it is, and with its rotations slowed
down, which changes no parameter. The learned table has rows for 4 n positions; no
training sequence reaches the last 3 n. T5's last bucket begins within n, so that it is
trained for all larger distances.
"""

import numpy as np

import minigrad as mg
from minigrad import optim

from ...tasks.bindings import NOTHING, Bindings
from ...training import Run, fit
from ...transformer import DecoderOnly
from ...variants.table import evaluations_of
from ..configs import ExtrapolationConfig

Config = ExtrapolationConfig


def model_of(config, scheme, seed=0):
    """Return the model of a scheme before the first step."""
    return DecoderOnly(config.sizes(scheme), np.random.default_rng(seed))


def build(config, scheme, seed):
    """Return the ``Run`` before the first step."""
    model = model_of(config, scheme, seed)
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    after = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    schedule = optim.WarmupLR(optimizer, max(config.steps // 20, 1), after=after)
    return Run(model, optimizer, schedule, config.clip)


def train(config, scheme, seed, state=None, save=None, progress=None):
    """Train one model; return (run, whether it was finished).

    state   the state of a ``Run`` to continue, or None; see ``fit`` for the rest
    """
    run = build(config, scheme, seed)
    finished = fit(
        run, config.steps, lambda i: loss_at(config, run.model, seed, i), save,
        progress, state=state,
    )  # fmt: skip
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
    """Return the mean cross-entropy of targets (B, n), the values after ids (B, n)."""
    return mg.cross_entropy(model(ids), targets, ignore_index=NOTHING)


def evaluate(config, model):
    """Return {"accuracy": {row: {length: share of right values}}, "loss": likewise}.

    The rows are the scheme of the model, and after "rope" the scaled ones. The loss is
    in nats.
    """
    report, scheme = {"accuracy": {}, "loss": {}}, model.config.positions
    rows = {scheme: model.eval()}
    for name in evaluations_of(scheme)[1:]:
        rows[name] = model_of(config, name).eval()
        rows[name].load_state_dict(model.state_dict())
    for name, model in rows.items():
        found = [_evaluate_at(config, model, length) for length in config.lengths]
        for what, values in zip(report, zip(*found)):
            report[what][name] = dict(zip(map(str, config.lengths), values))
    return report


def mean_accuracies(config, runs):
    """Return {row: the accuracy at each length, a mean over the seeds}."""
    means, reached = {}, [run["accuracy"] for run in runs]
    for row in config.rows:
        of_row = [list(each[row].values()) for each in reached if row in each]
        means[row] = np.mean(of_row, axis=0)
    return means


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
