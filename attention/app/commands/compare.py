"""Train translators without attention and with it, and compare them by length.

It writes into the folder ``--out``:

    results.json    config, versions, each run with its translations, and the summary
    compare.png     BLEU by the length of the source, with intervals
    state/          what ``--resume`` continues from
"""

from ..experiments import compare as experiment
from ..experiments import translation
from ..options import wrapped
from .experiment import Experiment


class Compare(Experiment):
    """The command ``compare``: models without attention and with it."""

    name, Config = "compare", experiment.Config
    figures = ("compare.png",)

    def load(self):
        """Return the data of the task."""
        return translation.load(self.config.translation("none", self.config.seed))

    def opening(self):
        """Return the sizes of the data, and the main options."""
        config, data = self.config, self.data
        seeds = range(config.seed, config.seed + config.seeds)
        return wrapped(
            f"{config.task}: {len(data.train)} pairs to train on, "
            f"{len(data.test)} to test; cell {config.cell}, layers {config.layers}, "
            f"width {config.hidden}, {config.steps} steps, seeds: "
            f"{', '.join(map(str, seeds))}"
        )

    def train(self, job, saved, save, progress):
        """Train a translator with an attention, or without."""
        return translation.train(
            self.config.translation(*job), self.data, saved.get("run"), save, progress
        )

    def result(self, job, run):
        """Return what to keep of a finished run: its scores and its translations."""
        config = self.config.translation(*job)
        return experiment.result(config, self.data, run)

    def found(self, result):
        """Return BLEU by length, the best step and the seconds."""
        lengths = [name for name in result["bleu"] if name != "all"]
        reached = "  ".join(f"{n}: {result['bleu'][n]:.1f}" for n in lengths)
        return (
            f"BLEU at {reached}\nbest at step {result['best_step']}  "
            f"{result['seconds']:.0f} s"
        )

    def conclude(self, runs):
        """Draw BLEU by length; return the tables, and the summary."""
        from ..experiments.compare_figure import bleu_by_length

        config = self.config
        found = experiment.summary(config, runs, self.data)
        bleu_by_length(found, self.out / "compare.png", config.seeds)
        text = (
            "by source length in words: means over the seeds and 95 % intervals of\n"
            f"{config.resamples} resamplings of sentences and seeds\n\n"
            f"{experiment.table(found)}"
        )
        if config.seeds < 3:
            text += "\n\nFewer than 3 seeds: the intervals are not reliable."
        return f"{text}\n\nresults.json, compare.png: in {self.out}", {"summary": found}


run = Compare.run
