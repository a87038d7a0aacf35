"""Does the last encoder state limit the translation, and does attention help?

Exercise 6.9 of the lessons compares the same encoder-decoder without attention and with
it, trained on 500 pairs of English and German sentences, by their BLEU for each length
of the source. The encoder, the widths, the data, the largest number of steps, the
dropout and the choice of the best parameters by the validation loss are equal. The
sentences are the same for all seeds; the seed determines the parameters, the batches
and the dropout.

    runs = [result(config, data, run), …]        of all trained models
    summary(config, runs, data)                  BLEU with intervals, and a sentence
                                                 that states the result
"""

import numpy as np

from ..configs import CompareConfig
from . import bootstrap, scoring, translation

Config = CompareConfig


def result(config, data, run):
    """Return what to keep of a finished run of a ``TranslationConfig``."""
    report = scoring.score(translation.translator_of(data, run), data.test)
    return {
        "kind": config.attention,
        "seed": config.seed,
        "steps": run.steps,
        "best_step": run.best["step"],
        "validation": run.best["loss"],
        "seconds": run.seconds,
        "parameters": run.model.num_parameters(),
        **report,
        "said": [" ".join(words) for words in report["said"]],
    }


def summary(config, runs, data):
    """Compute the table and the sentence from the translations of all runs.

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
        drawn = bootstrap.resampled(here, [config.seed, i], config.resamples)
        found["bleu"][name] = {
            kind: [means[kind], *bootstrap.interval(drawn[kind])]
            for kind in config.kinds
        }
        gains[name] = {
            kind: (means[kind] - means["none"], drawn[kind] - drawn["none"])
            for kind in config.kinds
            if kind != "none"
        }
        found["advantage"][name] = {
            kind: [mean, *bootstrap.interval(gain)]
            for kind, (mean, gain) in gains[name].items()
        }
    names = [name for name in gains if name != "all"]
    for kind in gains["all"]:
        first, drawn_first = gains[names[0]][kind]
        last, drawn_last = gains[names[-1]][kind]
        found["growth"][kind] = [
            last - first, *bootstrap.interval(drawn_last - drawn_first)
        ]  # fmt: skip
    aligned = [run for run in runs if run["kind"] != "none"]
    found["aer"] = {
        kind: float(np.mean([run["aer"] for run in aligned if run["kind"] == kind]))
        for kind in gains["all"]
    }
    for name in ("aer_uniform", "aer_diagonal"):
        found[name] = aligned[0][name]
    return {**found, "statement": statement(found, config.seeds)}


def statement(found, seeds):
    """State the result in one sentence, which follows from the numbers alone."""
    names = [name for name in found["bleu"] if name != "all"]
    first, last = names[0], names[-1]
    bleu = found["bleu"][last]
    parts = []
    for kind, (mean, low, high) in found["advantage"][last].items():
        between = f"BLEU [{low:+.1f}, {high:+.1f}]"
        if low > 0 or high < 0:
            verb = "beats" if low > 0 else "loses to"
            part = f"{verb} no attention by {abs(mean):.1f} {between} ("
        else:
            part = f"does not differ measurably from no attention (by {mean:+.1f} "
            part += f"{between}, "
        parts.append(f"{kind} {part}{bleu[kind][0]:.1f} against {bleu['none'][0]:.1f})")
    growth = []
    for kind, (mean, low, high) in found["growth"].items():
        how = "grows" if low > 0 else "shrinks" if high < 0 else "hardly changes"
        growth.append(f"of {kind} {how} ({mean:+.1f} [{low:+.1f}, {high:+.1f}])")
    over = f"{seeds} seed{'s' * (seeds != 1)}"
    sentence = f"On sources of {last} words, over {over}, {' and '.join(parts)}"
    if first != last:
        sentence += f"; from {first} to {last} words the advantage "
        sentence += " and that ".join(growth)
    return sentence + "."


def table(found, kinds):
    """Format BLEU by length, with intervals, and the alignment error rates."""
    names = [name for name in found["bleu"] if name != "all"]
    lines = [f"{'BLEU':10s}" + "".join(f"{name:>19s}" for name in names)]
    for kind in kinds:
        cells = ""
        for name in names:
            mean, low, high = found["bleu"][name][kind]
            cells += f"{mean:6.1f} [{low:4.1f}, {high:4.1f}]"
        lines.append(f"{kind:10s}{cells}")
    rates = [f"{kind} {rate:.3f}" for kind, rate in found["aer"].items()]
    lines += [
        "",
        f"alignment error rate: {', '.join(rates)};",
        f"of a uniform alignment {found['aer_uniform']:.3f}, of a diagonal one "
        f"{found['aer_diagonal']:.3f}",
    ]
    return "\n".join(lines)
