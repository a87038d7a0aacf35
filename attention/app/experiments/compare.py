"""Is the last state of the encoder a bottleneck, and does attention widen it?

Exercise 6.9: the same encoder-decoder without attention and with it, 500 pairs of
English and German, BLEU by the length of the source. All else is equal: encoder,
widths, data, steps, dropout, and how the best parameters are chosen, by the validation
loss. The sentences are the same for all seeds; a seed draws the parameters, the batches
and the dropout.

    run = train(config, kind, seed, data)        for each of ``plan``
    summary(config, runs, data)                  BLEU with intervals, and the sentence
"""

from dataclasses import dataclass

import numpy as np

from . import bootstrap, scoring, translation

KINDS = ("none", "bahdanau", "luong")
ABREAST = 3  # columns of the table on a line of 80; those that are left go below
QUICK = {
    "hidden": 64, "embedding": 48, "dropout": 0.2, "steps": 300, "seeds": 1,
}  # fmt: skip


@dataclass
class Config:
    """What defines the experiment; two of equal configs have equal numbers."""

    task: str = "en-de"
    target: str | None = None  # a file, if the task is a file of sources alone
    pairs: int = 500
    test: int = 200
    cell: str = "gru"
    layers: int = 1
    hidden: int = 128
    embedding: int = 64
    dropout: float = 0.4
    steps: int = 600
    batch: int = 50
    lr: float = 3e-3
    seed: int = 1
    seeds: int = 3
    kinds: tuple = KINDS
    resamples: int = 2000  # for the intervals

    moved = translation.moved

    def __post_init__(self):
        if self.task in translation.QUESTIONS:
            raise ValueError(
                f"The task is {self.task}, and what is compared is BLEU, which says "
                "little of answers to questions; expected "
                f"{', '.join(translation.GRAMMARS)}, or a file."
            )
        self.kinds = tuple(self.kinds)
        wrong = [kind for kind in self.kinds if kind not in KINDS]
        if wrong or "none" not in self.kinds or len(self.kinds) < 2:
            raise ValueError(
                f"The kinds are {', '.join(self.kinds)}; expected none, and one or "
                f"more of {', '.join(KINDS[1:])}."
            )
        for kind in self.kinds:  # what a run would refuse is refused now
            own = self.translation(kind, self.seed)
        self.task, self.target = own.task, own.target

    def plan(self):
        """The runs to make, in order: every kind with every seed."""
        return [(kind, self.seed + i) for i in range(self.seeds) for kind in self.kinds]

    def translation(self, kind, seed):
        """The config of one of the runs."""
        shared = {
            name: value
            for name, value in vars(self).items()
            if name in translation.Config.__dataclass_fields__
        }
        return translation.Config(**{**shared, "attention": kind, "seed": seed})


def train(config, kind, seed, data, state=None, save=None, progress=None):
    """Train one model; return (Run, whether it was finished)."""
    own = config.translation(kind, seed)
    return translation.train(own, data, state, save, progress)


def result(config, kind, seed, data, run):
    """What there is to keep of a finished run, as plain numbers and strings."""
    best = translation.translator_of(config.translation(kind, seed), data, run)
    report = scoring.score(best, data.test)
    return {
        "kind": kind,
        "seed": seed,
        "steps": run.step,
        "best_step": run.best["step"],
        "validation": run.best["loss"],
        "seconds": run.seconds,
        "parameters": run.model.num_parameters(),
        **report,
        "said": [" ".join(words) for words in report["said"]],
    }


def summary(config, runs, data):
    """All that is said in the end, computed from what the runs have said.

    -> {"bleu": {bucket: {kind: [mean, low, high]}},
        "advantage": {bucket: {kind: [mean, low, high]}}    over none,
        "growth": {kind: [mean, low, high]}    of it, from the first bucket to the last
        "aer": {kind: mean}, "aer_uniform": …, "aer_diagonal": …, "statement": …}
    """
    wanted = [list(pair.target) for pair in data.test]
    counts = {
        kind: np.stack(
            [
                bootstrap.counts([s.split() for s in run["said"]], wanted)
                for run in runs
                if run["kind"] == kind
            ]
        )
        for kind in config.kinds
    }
    found = {"bleu": {}, "advantage": {}, "growth": {}}
    gains = {}
    for i, (name, rows) in enumerate(
        scoring.buckets([len(pair.source) for pair in data.test]).items()
    ):
        here = {kind: c[:, rows] for kind, c in counts.items()}
        means = {k: float(bootstrap.bleu(c.sum(1)).mean()) for k, c in here.items()}
        again = bootstrap.resampled(here, [config.seed, i], config.resamples)
        found["bleu"][name] = {
            kind: [means[kind], *bootstrap.interval(again[kind])]
            for kind in config.kinds
        }
        gains[name] = {
            kind: (means[kind] - means["none"], again[kind] - again["none"])
            for kind in config.kinds
            if kind != "none"
        }
        found["advantage"][name] = {
            kind: [mean, *bootstrap.interval(drawn)]
            for kind, (mean, drawn) in gains[name].items()
        }
    names = [name for name in gains if name != "all"]
    for kind in gains["all"]:
        (first, drawn_first), (last, drawn_last) = (
            gains[name][kind] for name in (names[0], names[-1])
        )
        found["growth"][kind] = [
            last - first, *bootstrap.interval(drawn_last - drawn_first)
        ]  # fmt: skip
    looking = [run for run in runs if run["aer"] is not None]
    found["aer"] = {
        kind: float(np.mean([run["aer"] for run in looking if run["kind"] == kind]))
        for kind in gains["all"]
        if looking
    }
    for name in ("aer_uniform", "aer_diagonal"):
        found[name] = looking[0][name] if looking else None
    return {**found, "statement": statement(found, config.seeds)}


def statement(found, seeds):
    """What came out, in one sentence; it follows from the numbers alone."""
    names = [name for name in found["bleu"] if name != "all"]
    first, last = names[0], names[-1]
    bleu = found["bleu"][last]
    parts = []
    for kind, (mean, low, high) in found["advantage"][last].items():
        between = f"BLEU [{low:+.1f}, {high:+.1f}]"
        if low > 0 or high < 0:
            verb = "beats" if low > 0 else "loses to"
            part = f"{verb} none by {abs(mean):.1f} {between} ("
        else:
            part = f"does not differ measurably from none (by {mean:+.1f} {between}, "
        parts.append(f"{kind} {part}{bleu[kind][0]:.1f} against {bleu['none'][0]:.1f})")
    growth = []
    for kind, (mean, low, high) in found["growth"].items():
        how = "grows" if low > 0 else "shrinks" if high < 0 else "hardly changes"
        growth.append(f"of {kind} {how} ({mean:+.1f} [{low:+.1f}, {high:+.1f}])")
    over = f"{seeds} seed{'s' * (seeds != 1)}"
    said = f"On sources of {last} words, over {over}, {' and '.join(parts)}"
    if first != last:
        said += f"; from {first} to {last} words the advantage "
        said += " and that ".join(growth)
    return said + "."


def table(found, kinds):
    """BLEU by length, with intervals, and the alignment error rates, as text."""
    lengths, lines = [name for name in found["bleu"] if name != "all"], []
    for start in range(0, len(lengths), ABREAST):
        names = lengths[start : start + ABREAST]
        lines += [""] * bool(lines)
        lines.append(f"{'BLEU':10s}" + "".join(f"{name:>19s}" for name in names))
        for kind in kinds:
            cells = ""
            for name in names:
                mean, low, high = found["bleu"][name][kind]
                cells += f"{mean:6.1f} [{low:4.1f}, {high:4.1f}]"
            lines.append(f"{kind:10s}{cells}")
    if found["aer_uniform"] is not None:
        rates = [f"{kind} {rate:.3f}" for kind, rate in found["aer"].items()]
        lines += [
            "",
            f"alignment error rate: {', '.join(rates)};",
            f"of a uniform alignment {found['aer_uniform']:.3f}, of a diagonal one "
            f"{found['aer_diagonal']:.3f}",
        ]
    return "\n".join(lines)
