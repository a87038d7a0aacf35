"""Does the last encoder state limit the translation, and does attention help?

Exercise 6.9 of the lessons compares the same encoder-decoder without attention and with
it, trained on 500 pairs of English and German sentences, by their BLEU for each length
of the source. The encoder, the widths, the data, the largest number of steps, the
dropout and the choice of the best parameters by the validation loss are equal. The
sentences are the same for all seeds; the seed determines the parameters, the batches
and the dropout.

    runs = [result(config, data, run), …]        of all trained models
    summary(config, runs, data)                  BLEU, and what attention adds to it,
                                                 with intervals
"""

import numpy as np

from ...training import best_model
from ..configs import CompareConfig
from . import bootstrap, scoring, translation

Config = CompareConfig


def result(config, data, run):
    """Return what to keep of a finished run of a ``TranslationConfig``."""
    best = translation.translator(best_model(run), data)
    report = scoring.score(best, data.test)
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
    """Compute the tables from the translations of all runs.

    -> {"bleu": {bucket: {kind: [mean, low, high]}},
        "advantage": {bucket: {kind: [mean, low, high]}}    over none,
        "aer": {kind: mean}, "aer_uniform": …, "aer_diagonal": …}
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
    found, others = {"bleu": {}, "advantage": {}}, [k for k in counts if k != "none"]
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
        found["advantage"][name] = {
            kind: [
                means[kind] - means["none"],
                *bootstrap.interval(drawn[kind] - drawn["none"]),
            ]
            for kind in others
        }
    aligned = [run for run in runs if run["kind"] != "none"]
    found["aer"] = {
        kind: float(np.mean([run["aer"] for run in aligned if run["kind"] == kind]))
        for kind in others
    }
    for name in ("aer_uniform", "aer_diagonal"):
        found[name] = aligned[0][name]
    return found


def table(found):
    """Format BLEU by length, with intervals, and the alignment error rates."""
    names, lines = [name for name in found["bleu"] if name != "all"], []
    for measure, head in ("bleu", "BLEU"), ("advantage", "beyond no attention"):
        lines += [head, " " * 10 + "".join(f"{name:>21s}" for name in names)]
        for kind in found[measure]["all"]:
            cells = ""
            for name in names:
                mean, low, high = found[measure][name][kind]
                cells += f"{mean:7.1f} [{low:5.1f}, {high:5.1f}]"
            lines.append(f"{kind:10s}{cells}")
        lines.append("")
    rates = [f"{kind} {rate:.3f}" for kind, rate in found["aer"].items()]
    lines += [
        f"alignment error rate: {', '.join(rates)};",
        f"of a uniform alignment {found['aer_uniform']:.3f}, of a diagonal one "
        f"{found['aer_diagonal']:.3f}",
    ]
    return "\n".join(lines)
