"""Compare models fairly: each with its best learning rate, and trained long enough.

    counting = Study(
        "counting", "Which weights can count?", arms=("softmax", "sigmoid"),
        model=Counter, draw=counts, rates=(1e-3, 3e-3, 1e-2), budget=6000,
    )
    record = run(counting, folder)

The models that are compared are the *arms*. Their data are the same, and so are

1. the grid of learning rates. Each arm is trained with each of them, from the seeds
   ``choosing``. The rate with the best validation figure is its own; those runs are
   not reported.
2. the training. The rate rises in ``warmup`` steps and stays until the validation
   figure has reached a plateau, or until ``budget`` steps are taken. Then it falls to
   0, in a fifth as many steps. Only then the model is tested.
3. the seeds of the runs that are reported. A seed draws the same batches for each
   arm, so two arms are compared seed by seed.

A run is saved as it goes. If it is stopped, the same call continues it.
"""

import copy
import functools
import os
from operator import getitem

import numpy as np

import minigrad as mg
from attention.app import study
from attention.app.machine import versions
from attention.training import Diverged, Run, fit
from minigrad import optim
from minigrad.optim.schedule import Schedule

from .verdict import judged, over_seeds, paired

TAIL = 1 / 5  # the steps in which the rate falls to 0, for each step before
FEWEST = 24  # validations before a plateau; fewer do not show what is noise


class Study(study.Study):
    """What is compared, and how: settings, and functions that make models and data.

        Study(name, question, arms=..., model=..., draw=..., budget=...)

    name         of the record
    question     in words
    measure      the figure in words; a larger one is better
    arms         names of the models
    rates        the learning rates that each arm is trained with
    choosing     seeds of the runs that choose a rate
    seeds        seeds of the runs that are reported
    budget       the largest number of steps before the rate falls
    least        the smallest number; ``budget`` where a noisy figure hides a rise
    every        the number of steps between two validations
    chance       the figure of a model that has learned nothing
    trivial      a figure that needs no more than a trivial solution; None: ``chance``
    resolution   a difference of the figure that does not count
    processes    whether runs may be trained at the same time, in processes

    model(arm, rng)     returns a model before its training
    draw(n, *key)       returns n examples: the inputs of the model, then the answers
    inputs              how many are inputs; None: all but the answers, which are last
    ignored             the number of an answer that does not count
    batch               the number of examples of a step, drawn with key (seed, step)
    held_out            the numbers of examples of the validation and of the test
    held_keys           the keys with which ``draw`` makes these two

    A setting or method of the class is replaced by an argument or in a subclass. The
    functions are those of a module, so that processes can find them. A model that is
    validated, tested or watched is in evaluation mode, and records no gradients.
    """

    name = question = ""
    measure = "share of right answers"
    arms = rates = ()
    choosing, seeds = (101,), (1, 2, 3, 4, 5)
    budget, least, every, warmup = 2000, 0, 50, 50
    chance, trivial, resolution = 0.0, None, 0.01
    processes = True
    model = draw = inputs = None
    ignored = -100
    batch, held_out, held_keys = 32, (500, 2000), (10**6, 2 * 10**6)

    def __init__(self, name=None, question=None, **declared):
        if name:
            declared |= {"name": name, "question": question}
        if unknown := declared.keys() - set(dir(self)):
            raise TypeError(f"Study: there is no setting {', '.join(sorted(unknown))}.")
        vars(self).update(declared)

    def build(self, arm, rate, seed):
        """Return a ``Run`` before its first step; its optimizer has this rate."""
        model = self.model(arm, np.random.default_rng(seed))
        return Run(model, optim.Adam(model.parameters(), lr=rate))

    def loss_at(self, arm, run, seed, step):
        """Return the loss of ``run.model`` in the batch of this seed and step."""
        return self.loss(run.model, *self.draw(self.batch, seed, step))

    def loss(self, model, *examples):
        """Return the cross-entropy of the answers."""
        x, y = self.parts(examples)
        return mg.cross_entropy(model(*x), y, ignore_index=self.ignored)

    def figure(self, model, *examples):
        """Return the share of right answers."""
        return float(self.right(model, *examples).mean())

    def right(self, model, *examples):
        """Return which of the answers that count are right."""
        x, y = self.parts(examples)
        return (model(*x).numpy().argmax(-1) == y)[y != self.ignored]

    def parts(self, examples):
        """Return the inputs of the model, and the answers."""
        n = len(examples) - 1 if self.inputs is None else self.inputs
        return examples[:n], examples[n]

    def batches(self, seed):
        """Return what a run of this seed keeps as ``run.batches``, for ``loss_at``."""

    @functools.cached_property
    def held(self):
        """The examples of the validation and of the test."""
        return [self.draw(n, key) for n, key in zip(self.held_out, self.held_keys)]

    def validate(self, arm, model):
        """Return the figure on data for validation."""
        return self.figure(model, *self.held[0])

    def test(self, arm, model):
        """Return {name: number or list} on the test data; "figure" is one of them."""
        return {"figure": self.figure(model, *self.held[1])}

    def watch(self, arm, model):
        """Return {name: number}, kept beside the curve, and before all steps too."""
        return {}

    @property
    def steps(self):
        """The largest number of steps of a run."""
        return self.budget + round(TAIL * self.budget)

    def train(self, job, saved, save, progress):
        """Train one model until a plateau; return (Run, whether it was finished)."""
        arm, rate, seed = job
        run = self.build(arm, rate, seed)
        run.batches, run.diverged = self.batches(seed), False
        run.schedule = Stages(run.optimizer, self.warmup)
        run.curve, found = [], evaluated(self.watch, arm, run.model)
        run.watched = {name: [x] for name, x in found.items()}
        if "run" in saved:
            run.load_state_dict(saved["run"])
            run.curve, run.watched = saved["curve"], saved["watched"]

        def save_all(state):
            save(state, curve=run.curve, watched=run.watched)

        def train_until(step):
            return fit(
                run, step, lambda i: self.loss_at(arm, run, seed, i), save_all,
                progress, seed=seed,
            )  # fmt: skip

        try:
            while run.schedule.falls_at is None:
                if not train_until(self.every * (len(run.curve) + 1)):
                    return run, False
                run.curve.append(float(evaluated(self.validate, arm, run.model)))
                for name, x in evaluated(self.watch, arm, run.model).items():
                    run.watched[name].append(x)
                ends = run.steps >= self.least and self.may_end(run.curve)
                if ends or run.steps >= self.budget:
                    run.schedule.fall_at(run.steps)
            if not train_until(run.schedule.falls_at + run.schedule.tail):
                return run, False
        except Diverged:  # the parameters are those before the step that failed
            run.diverged = True
        return run, True

    def result(self, job, run):
        """Return what the record keeps of a run."""
        arm, rate, seed = job
        return {
            "arm": arm, "rate": rate, "seed": seed, "curve": run.curve,
            "watched": run.watched,
            "validation": float(evaluated(self.validate, arm, run.model)),
            "steps": run.schedule.falls_at or run.steps,
            "plateau": not run.diverged and self.may_end(run.curve),
            "diverged": run.diverged,
            "parameters": run.model.num_parameters(), "seconds": run.seconds,
            **evaluated(self.test, arm, run.model),
        }  # fmt: skip

    def line(self, job, result):
        """Sum up a finished run in a line."""
        end = "plateau" if result["plateau"] else "end of the budget"
        end = "diverged" if result["diverged"] else end
        return (
            f"{result['arm']:<16} rate {result['rate']:g}  seed {result['seed']:<3} "
            f"{result['figure']:.3f}  {end} at step {result['steps']}"
        )

    def quick(self):
        """Return the same study with one seed."""
        small = copy.copy(self)
        small.seeds = self.seeds[:1]
        return small

    def may_end(self, curve):
        """Return whether training may end: the figure has reached a plateau.

        A figure that is no better than a trivial solution may begin to rise later. So
        it is no plateau, and the run takes its whole budget.
        """
        trivial = self.chance if self.trivial is None else self.trivial
        learned = np.mean(curve[-3:]) > trivial + 3 * self.resolution
        return bool(learned and is_plateau(curve, self.resolution))


class Explaining(Study):
    """A study of models that return numbers, trained by the mean squared error."""

    measure = "explained share of the wanted output"

    def loss(self, model, *examples):
        x, y = self.parts(examples)
        return ((model(*x) - y) ** 2).mean()

    def figure(self, model, *examples):
        """Return 1 - (mean squared error) / (variance of the wanted output)."""
        x, y = self.parts(examples)
        return float(1 - ((model(*x).numpy() - y) ** 2).mean() / y.var())


def evaluated(method, arm, model):
    """Return method(arm, model), in evaluation mode and without gradients."""
    model.eval()
    with mg.no_grad():
        found = method(arm, model)
    model.train()
    return found


def is_plateau(curve, resolution):
    """Return whether a curve moved by less than its noise over its last half.

    curve        a figure at equal distances of steps
    resolution   a smaller movement does not count, even without noise

    The movement is the mean of the last quarter minus that of the quarter before, and
    the noise is the standard error of this difference. If single figures scatter by s,
    a mean of m figures scatters by s / sqrt(m), and s^2 is half the mean square of the
    difference of two neighbours, which a slow rise changes little.
    """
    if len(curve) < FEWEST:
        return False
    m = len(curve) // 4
    quarters = np.array(curve[-2 * m :]).reshape(2, m)
    before, last = quarters.mean(1)
    variances = (np.diff(quarters) ** 2).mean(1) / 2  # of single figures
    noise = np.sqrt(variances.sum() / m)
    return bool(abs(last - before) <= max(noise, resolution))


class Stages(Schedule):
    """A rate that rises in ``warmup`` steps, stays, and at last falls to 0."""

    def __init__(self, optimizer, warmup):
        self.warmup, self.falls_at, self.tail = warmup, None, 0
        super().__init__(optimizer)

    def lr_at(self, t):
        """Return the rate of step t."""
        lr = self.base * min((t + 1) / self.warmup, 1)
        if self.falls_at is not None:
            lr *= 1 - (t - self.falls_at) / self.tail
        return lr

    def fall_at(self, t):
        """Let the rate fall from step t on."""
        self.falls_at, self.tail = t, round(TAIL * t)


def run(comparison, folder, chosen=None, log=print):
    """Train the remaining models; return the record, a dict of numbers and strings.

    folder   a ``States``: where runs are saved, and found again
    chosen   {arm: rate}, to train with these rates and without choosing; or None

    Raises KeyboardInterrupt if it was stopped. What was trained is saved.
    """
    c = comparison
    tried = []
    if chosen is None:
        tried = [(a, r, s) for a in c.arms for r in c.rates for s in c.choosing]
    reported = len(c.arms) * len(c.seeds)
    log(
        f"{c.question}\n{len(c.arms)} arms, {len(tried)} runs to choose rates and "
        f"{reported} that are reported, each of {c.steps} steps at most"
    )
    # a script may give each process one thread (OMP_NUM_THREADS)
    workers = (os.cpu_count() or 1) if c.processes else 1
    choices = c.train_all(tried, folder, workers, log)
    if chosen is None:
        chosen = {arm: best_rate(choices, arm) for arm in c.arms}
    # seed by seed, so that a part of the runs is already a comparison
    jobs = [(arm, chosen[arm], seed) for seed in c.seeds for arm in c.arms]
    runs = c.train_all(jobs, folder, workers, log)
    return {
        "question": c.question, "measure": c.measure, "arms": list(c.arms),
        "rates": list(c.rates), "chosen": chosen, "choosing": list(c.choosing),
        "seeds": list(c.seeds), "budget": c.budget, "least": c.least, "every": c.every,
        "chance": c.chance, "trivial": c.trivial, "resolution": c.resolution,
        "versions": versions(), "choices": choices, "runs": runs,
    }  # fmt: skip


def best_rate(choices, arm):
    """Return the rate with the best mean validation figure of an arm; NaN is worst."""
    figures = {}
    for one in choices:
        if one["arm"] == arm:
            figures.setdefault(one["rate"], []).append(one["validation"])
    means = {rate: np.mean(figures[rate]) for rate in figures}
    return max(means, key=lambda rate: (not np.isnan(means[rate]), means[rate]))


def figures(record, arm, what="figure"):
    """Return what each reported run of an arm has measured, by seed.

    what   a key of a run, several keys one in another, or a function of a run
    """
    keys = [what] if isinstance(what, str) else what

    def of(run):
        return what(run) if callable(what) else functools.reduce(getitem, keys, run)

    runs = sorted(record["runs"], key=lambda run: run["seed"])
    return np.array([of(run) for run in runs if run["arm"] == arm])


def steps_without_plateau(record, *arms):
    """Return the budget if a reported run of these arms had no plateau, or None."""
    ended = [run["plateau"] for run in record["runs"] if run["arm"] in arms]
    return None if all(ended) else record["budget"]


def of_arm(record, arm, what="figure"):
    """Return the mean of an arm over its seeds, ``Measured``."""
    values = figures(record, arm, what)
    return over_seeds(values, steps=steps_without_plateau(record, arm))


def difference(record, a, b, what="figure", resolution=None):
    """Return arm a minus arm b, the mean of the differences seed by seed.

    resolution   that of ``what``, if it has another unit than the figure
    """
    x, y = figures(record, a, what), figures(record, b, what)
    resolution = record["resolution"] if resolution is None else resolution
    return paired(x, y, steps_without_plateau(record, a, b), resolution)


def judge(record, *claims):
    """Format claims on the difference of two arms, each with its verdict.

    claims   (words, range, arm, other arm), and what is measured if not the figure
    """
    return "\n".join(
        judged(words, claimed, difference(record, *measured))
        for words, claimed, *measured in claims
    )


COLUMNS = "rate", "numbers", "mean", "every seed", "plateaus"


def table(record, columns=COLUMNS, arms=None):
    """Format a record: a row for each arm.

    columns   some of these names, or "minus", the difference from the first arm; or a
              pair: a head, and what ``figures`` measures, of which the mean is shown,
              or {arm: text}
    """
    heads = [column if isinstance(column, str) else column[0] for column in columns]
    rows = [["", *(f"minus {record['arms'][0]}" if h == "minus" else h for h in heads)]]
    for arm in arms or record["arms"]:
        rows.append([arm, *(_cell(record, arm, column) for column in columns)])
    first, *widths = (max(map(len, column)) for column in zip(*rows))
    lines = [record["measure"]] if "mean" in columns else []
    for arm, *cells in rows:
        shown = (f"{cell:>{width}}" for cell, width in zip(cells, widths))
        lines.append(f"{arm:{first}} {' '.join(shown)}".rstrip())
    return "\n".join(lines)


def _cell(record, arm, column):
    if column == "rate":
        return f"{record['chosen'][arm]:g}"
    if column == "numbers":
        return f"{figures(record, arm, 'parameters')[0]}"
    if column == "every seed":
        return " ".join(f"{x:.3f}" for x in figures(record, arm))
    if column == "plateaus":
        ended = figures(record, arm, "plateau")
        return f"{sum(ended)} of {len(ended)}"
    if column == "minus":
        less = difference(record, arm, record["arms"][0])
        several = bool(np.isfinite(less.low))  # seeds
        return f"{less.value:+.3f}" + f" [{less.low:+.3f}, {less.high:+.3f}]" * several
    what = "figure" if column == "mean" else column[1]
    if isinstance(what, dict):
        return what.get(arm, "")
    return f"{figures(record, arm, what).mean():.3f}"
