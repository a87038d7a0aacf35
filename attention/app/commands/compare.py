"""Translate without attention and with it: the bottleneck of exercise 6.9.

It writes into the folder ``--out``:

    results.json    config, versions, each run with its translations, and the summary
    compare.png     BLEU by the length of the source, with intervals
    state.npz       what ``--resume`` goes on from
"""

import argparse

from ..experiments import compare as experiment
from ..experiments import translation
from .options import above_zero, below_one, natural, positive, wrapped
from .study import Study

TRAINS = True  # see attention/__main__.py


def kinds(text):
    """'none,luong' -> ('none', 'luong')"""
    names = tuple(name for name in text.split(",") if name)
    wrong = [name for name in names if name not in experiment.KINDS]
    if wrong or "none" not in names or len(set(names)) < max(len(names), 2):
        raise argparse.ArgumentTypeError(
            f"{text!r} should be none and others, out of {','.join(experiment.KINDS)}"
        )
    return names


FIELDS = {
    "task": (str, "en-de, en-fr, or a file with source<TAB>target on each line"),
    "target": (str, "a file of targets, where --task is one of sources, line by line"),
    "pairs": (positive, "sentences of the grammar to train on"),
    "test": (positive, "sentences of the grammar to test on"),
    "cell": (("gru", "lstm"), "of encoder and decoder"),
    "layers": (positive, "of encoder, and of decoder"),
    "hidden": (positive, "width of a state"),
    "embedding": (positive, "width of a word"),
    "dropout": (below_one, "in training"),
    "steps": (positive, "of training, at most"),
    "batch": (positive, "sentences a step"),
    "lr": (above_zero, "learning rate"),
    "seed": (natural, "the first seed"),
    "seeds": (positive, "how many seeds"),
    "kinds": (kinds, f"none and others (default: {','.join(experiment.KINDS)})"),
}


class Compare(Study):
    name, config, fields = "compare", experiment.Config, FIELDS
    files = ("compare.png",)
    quick = experiment.QUICK, "one seed, smaller models: under a minute"

    def load(self, config):
        own = config.translation("none", config.seed)
        data = translation.load(own, tasks=translation.GRAMMARS)
        return data, data.checksum

    def opening(self, config, data):
        last = config.seed + config.seeds - 1
        said = (
            f"{translation.name_of(config)}: {len(data.train)} pairs to train on, "
            f"{len(data.test)} to test; cell {config.cell}, layers {config.layers}, "
            f"hidden {config.hidden}, {config.steps} steps, seeds {config.seed} to "
            f"{last}"
        )
        lines = [data.report, said] if data.report else [said]
        return wrapped("\n".join(lines))

    def train(self, *arguments):
        return experiment.train(*arguments)

    def result(self, *arguments):
        return experiment.result(*arguments)

    def line(self, config, result):
        lengths = [name for name in result["bleu"] if name != "all"]
        reached = "  ".join(f"{n}:\xa0{result['bleu'][n]:.1f}" for n in lengths)
        said = (
            f"BLEU at\xa0{reached}  best\xa0at\xa0step\xa0{result['best_step']}  "
            f"{result['seconds']:.0f}\xa0s"
        )
        return wrapped(said, 68).replace("\xa0", " ")  # what belongs together stays so

    def conclude(self, config, data, runs, out):
        from ..experiments.compare_figure import bleu_by_length

        found = experiment.summary(config, runs, data)
        bleu_by_length(found, out / "compare.png", config.seeds)
        text = (
            "by the words of the source, means over the seeds and 95 % intervals, of\n"
            f"{config.resamples} resamplings of sentences and seeds\n\n"
            f"{experiment.table(found, config.kinds)}\n\n"
            f"{wrapped(found['statement'])}"
        )
        if config.seeds < 3:
            text += "\n\nFewer than 3 seeds: this is a look, and no result."
        return f"{text}\n\nresults.json, compare.png: in {out}", {"summary": found}


add_arguments, run = Compare().add_arguments, Compare().run
