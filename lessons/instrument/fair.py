"""Compare models fairly: each with its best learning rate, and trained long enough.

    counting = Study(
        "counting", "Which weights can count?", arms=("softmax", "sigmoid"),
        model=Counter, draw=counts, rates=(1e-3, 3e-3, 1e-2), budget=6000,
    )
    record = run(counting, folder)

The models that are compared are the *arms*. Their data are the same, and so are

1. the grid of learning rates. Each arm is trained with each of them, from the three
   seeds ``choosing``; those runs are not reported. Of the rates whose mean validation
   figure is within ``resolution`` of the best, the smallest is the arm's own. While the
   best is at an end of the grid, ahead of the rate beside it by more than that, and
   the arm has not solved the task, the grid grows.
2. the training. The rate rises in ``warmup`` steps and stays for ``budget`` steps. Then
   it falls to 0, in a fifth as many. Only then the model is tested. After half of the
   budget a copy of the model is taken through such a fall and tested, too. So a record
   says what the second half of the steps added, and the verdicts ask it. A copy that
   has solved the task ends the run.
3. the seeds of the runs that are reported. A seed draws the same batches for each
   arm, so two arms are compared seed by seed.

A run is saved as it goes. If it is stopped, the same call continues it.
"""

import copy
import functools
import itertools
import os
from operator import getitem, itemgetter

import numpy as np

import minigrad as mg
from attention.app import study
from attention.app.machine import versions
from attention.training import Diverged, Run, fit
from minigrad import optim
from minigrad.optim.schedule import Schedule

from .verdict import counts, judged, over_seeds, paired, verdict

TAIL = 1 / 5  # the steps in which the rate falls to 0, for each step before
GROWS = 3  # the largest number of rates that are added at an end of the grid


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
    budget       the number of steps before the rate falls
    every        the number of steps between two validations
    chance       the figure of a model that has learned nothing
    trivial      a figure that needs no more than a trivial solution, to be printed
    ceiling      the largest figure
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
    choosing, seeds = (101, 102, 103), (1, 2, 3, 4, 5)
    budget, every, warmup = 2000, 50, 50
    chance, trivial, ceiling, resolution = 0.0, None, 1.0, 0.01
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

    def is_solved(self, figure):
        """Return whether a validation figure is at the ceiling."""
        return figure >= self.ceiling - self.resolution / 2

    def begun(self, job):
        """Return the ``Run`` of a job before its first step, with its schedule."""
        arm, rate, seed = job
        run = self.build(arm, rate, seed)
        run.batches, run.schedule = self.batches(seed), Stages(run.optimizer, self.warmup)
        return run

    def train(self, job, saved, save, progress):
        """Train one model for its budget; return (Run, whether it was finished)."""
        arm, _, seed = job
        run = self.begun(job)
        run.curve, found = [], evaluated(self.watch, arm, run.model)
        run.watched = {name: [x] for name, x in found.items()}
        run.half, run.diverged = None, False
        if "run" in saved:
            run.load_state_dict(saved["run"])
            # a state of an earlier version has no half
            run.curve, run.watched, run.half = (saved.get(name) for name in MORE)

        def save_all(state):
            save(state, **{name: getattr(run, name) for name in MORE})

        def train_until(step, run, *saving):
            return fit(
                run, step, lambda i: self.loss_at(arm, run, seed, i), *saving, seed=seed
            )

        try:
            while run.schedule.falls_at is None:
                if run.half is None and 2 * run.steps >= self.budget:
                    half = self.begun(job)
                    half.load_state_dict(run.state_dict())
                    if not train_until(half.schedule.fall_at(run.steps), half):
                        save_all(run.state_dict())
                        return run, False
                    run.half = evaluated(self.test, arm, half.model)
                    if self.is_solved(evaluated(self.validate, arm, half.model)):
                        for name in (*MORE, "diverged"):
                            setattr(half, name, getattr(run, name))
                        return half, True
                if run.steps >= self.budget:
                    run.schedule.fall_at(run.steps)
                    break
                if not train_until(
                    self.every * (len(run.curve) + 1), run, save_all, progress
                ):
                    return run, False
                run.curve.append(float(evaluated(self.validate, arm, run.model)))
                for name, x in evaluated(self.watch, arm, run.model).items():
                    run.watched[name].append(x)
            if not train_until(run.schedule.ends_at, run, save_all, progress):
                return run, False
        except Diverged:  # the parameters are those before the step that failed
            run.diverged = True
        return run, True

    def result(self, job, run):
        """Return what the record keeps of a run."""
        arm, rate, seed = job
        found = evaluated(self.test, arm, run.model)
        return {
            "arm": arm, "rate": rate, "seed": seed, "curve": run.curve,
            "watched": run.watched,
            "validation": float(evaluated(self.validate, arm, run.model)),
            "steps": run.schedule.falls_at or run.steps, "half": run.half or found,
            "diverged": run.diverged,
            "parameters": run.model.num_parameters(), "seconds": run.seconds, **found,
        }  # fmt: skip

    def line(self, job, result):
        """Sum up a finished run in a line."""
        end = "  diverged" if result["diverged"] else ""
        return (
            f"{result['arm']:<16} rate {result['rate']:g}  seed {result['seed']:<3} "
            f"{result['figure']:.3f}  {result['steps']} steps{end}"
        )

    def quick(self):
        """Return the same study with one seed."""
        small = copy.copy(self)
        small.seeds = self.seeds[:1]
        return small


MORE = "curve", "watched", "half"  # what is saved beside the state of a run


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
        """Let the rate fall from step t on; return the step at which it is 0."""
        self.falls_at, self.tail = t, round(TAIL * t)
        return self.ends_at

    @property
    def ends_at(self):
        """The step at which the rate is 0."""
        return self.falls_at + self.tail


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
        while more := beyond_the_grid(c, choices):
            choices += c.train_all(more, folder, workers, log)
        chosen = {arm: best_rate(choices, arm, c.resolution) for arm in c.arms}
    # seed by seed, so that a part of the runs is already a comparison
    jobs = [(arm, chosen[arm], seed) for seed in c.seeds for arm in c.arms]
    runs = c.train_all(jobs, folder, workers, log)
    return {
        "question": c.question, "measure": c.measure, "arms": list(c.arms),
        "rates": list(c.rates), "chosen": chosen, "choosing": list(c.choosing),
        "seeds": list(c.seeds), "budget": c.budget, "every": c.every,
        "chance": c.chance, "trivial": c.trivial, "resolution": c.resolution,
        "versions": versions(), "choices": [short(run) for run in choices], "runs": runs,
    }  # fmt: skip


def short(run):
    """Return what the record keeps of a run that chose a rate."""
    return {name: x for name, x in run.items() if name not in ("half", "watched")}


def by_rate(choices, arm):
    """Return {rate: mean validation figure} of an arm; NaN counts as -inf."""
    found = {}
    for one in choices:
        if one["arm"] == arm:
            found.setdefault(one["rate"], []).append(one["validation"])
    means = {rate: np.mean(found[rate]) for rate in sorted(found)}
    return {rate: -np.inf if np.isnan(x) else float(x) for rate, x in means.items()}


def tied_rates(choices, arm, resolution):
    """Return the rates of an arm within the resolution of its best, smallest first."""
    means = by_rate(choices, arm)
    return [rate for rate in means if means[rate] >= max(means.values()) - resolution]


def best_rate(choices, arm, resolution=0.0):
    """Return the smallest rate whose validation figure is as good as the best."""
    return tied_rates(choices, arm, resolution)[0]


def beyond_the_grid(comparison, choices):
    """Return the jobs of further rates, of arms whose best is at an end.

    It is better than the rate beside it by more than the resolution.
    """
    c, jobs = comparison, []
    for arm in c.arms:
        means = by_rate(choices, arm)
        rates, best = list(means), max(means, key=means.get)
        if len(rates) < 2 or c.is_solved(means[best]):
            continue
        below = sum(rate < min(c.rates) for rate in rates)
        above = sum(rate > max(c.rates) for rate in rates)
        ends = (rates[0], rates[1], below), (rates[-1], rates[-2], above)
        for end, neighbour, added in ends:
            matters = means[end] > means[neighbour] + c.resolution
            if best == end and matters and added < GROWS:
                rate = float(f"{end * end / neighbour:.3g}")
                jobs += [(arm, rate, seed) for seed in c.choosing]
    return jobs


def figures(record, arm, what="figure", of="runs", rate=None):
    """Return what each reported run of an arm has measured, by seed.

    arm    or a number, such as that of a trivial solution, for each seed
    what   a key of a run, several keys one in another, or a function of a run
    of     "choices": of the runs that chose the rates, those with this rate; "half": of
           the reported runs after half of their steps
    """
    if not isinstance(arm, str):
        return np.full(len(record["choosing" if of == "choices" else "seeds"]), arm)
    keys = [what] if isinstance(what, str) else what
    runs = record["choices" if of == "choices" else "runs"]
    runs = sorted(runs, key=itemgetter("seed"))
    mine = [run for run in runs if run["arm"] == arm]
    if rate is not None:
        mine = [run for run in mine if run["rate"] == rate]
    if of == "half":
        mine = [run | run["half"] for run in mine]
    return np.array(
        [what(x) if callable(what) else functools.reduce(getitem, keys, x) for x in mine]
    )


def of_arm(record, arm, what="figure"):
    """Return the mean of an arm over its seeds, ``Measured``."""
    half = figures(record, arm, what, "half") if _has_halves(record) else None
    return over_seeds(figures(record, arm, what), half=half)


def difference(record, a, b, what="figure", resolution=None):
    """Return arm a minus arm b, the mean of the differences seed by seed.

    resolution   that of ``what``, if it has another unit than the figure
    """
    x, y = (figures(record, arm, what) for arm in (a, b))
    halves = None
    if _has_halves(record):
        halves = [figures(record, arm, what, "half") for arm in (a, b)]
    resolution = record["resolution"] if resolution is None else resolution
    return paired(x, y, resolution, halves)


def _has_halves(record):
    """Return whether there was a second look; a learner's older record has none."""
    return all("half" in run for run in record["runs"])


def judge(record, *claims, beyond=False):
    """Format claims on the difference of two arms, each with its verdict.

    claims   (words, range, arm, other arm), and what is measured if not the figure
    beyond   it was measured beyond the trained range, where the rate was not chosen: a
             verdict has to be the same at all rates that the trained range cannot tell
             apart
    """
    lines = []
    for words, claimed, *measured in claims:
        found, word, others = difference(record, *measured), None, ""
        if beyond:
            word, others = _at_all_rates(record, claimed, verdict(claimed, found), *measured)
        lines.append(judged(words, claimed, found, word) + others)
    return "\n".join(lines)


def _at_all_rates(record, claimed, word, a, b, what="figure"):
    """Return a verdict, undecided if another rate gives another one, and a line on it."""
    choices, resolution = record["choices"], record["resolution"]
    rates = [
        tied_rates(choices, arm, resolution) if isinstance(arm, str) else [None]
        for arm in (a, b)
    ]
    others = []
    for mine, other in itertools.product(*rates):
        x = figures(record, a, what, "choices", mine)
        y = figures(record, b, what, "choices", other)
        others.append(paired(x, y, resolution=resolution))
    if any(verdict(claimed, found) != word for found in others):
        word = "undecided, it depends on the rate"
    values = [found.value for found in others]
    return word, f"\n    at other rates {min(values):+.3f} to {max(values):+.3f}"


def at_every_rate(record, what="figure"):
    """Format what the choosing runs have measured: a row for each arm, by rate."""
    rates = sorted({run["rate"] for run in record["choices"]})
    rows = [["", *(f"{rate:g}" for rate in rates)]]
    for arm in record["arms"]:
        mine = [figures(record, arm, what, "choices", rate) for rate in rates]
        rows.append([arm, *(f"{x.mean():.3f}" if len(x) else "" for x in mine)])
    return _columns(rows)


COLUMNS = "rate", "numbers", "mean", "every seed", "doubling"


def table(record, columns=COLUMNS, arms=None):
    """Format a record: a row for each arm.

    columns   some of these names ("doubling" is what the second half of the steps added
              to the mean), or "minus", the difference from the first arm; or a
              pair: a head, and what ``figures`` measures, of which the mean is shown,
              or {arm: text}
    """
    heads = [column if isinstance(column, str) else column[0] for column in columns]
    rows = [["", *(f"minus {record['arms'][0]}" if h == "minus" else h for h in heads)]]
    for arm in arms or record["arms"]:
        rows.append([arm, *(_cell(record, arm, column) for column in columns)])
    return "\n".join([record["measure"]] * ("mean" in columns) + [_columns(rows)])


def _columns(rows):
    first, *widths = (max(map(len, column)) for column in zip(*rows))
    lines = []
    for name, *cells in rows:
        shown = (f"{cell:>{width}}" for cell, width in zip(cells, widths))
        lines.append(f"{name:{first}} {' '.join(shown)}".rstrip())
    return "\n".join(lines)


def _cell(record, arm, column):
    if column == "rate":
        return f"{record['chosen'][arm]:g}"
    if column == "numbers":
        return f"{figures(record, arm, 'parameters')[0]}"
    if column == "every seed":
        return " ".join(f"{x:.3f}" for x in figures(record, arm))
    if column == "doubling":
        return f"{of_arm(record, arm).added:+.3f}"
    if column == "minus":
        less = difference(record, arm, record["arms"][0])
        several = bool(np.isfinite(less.low))  # seeds
        return f"{less.value:+.3f}" + f" [{less.low:+.3f}, {less.high:+.3f}]" * several
    what = "figure" if column == "mean" else column[1]
    if isinstance(what, dict):
        return what.get(arm, "")
    measured = figures(record, arm, what)
    groups = counts(measured, record["resolution"]) if column == "mean" else ""
    return groups or f"{measured.mean():.3f}"
