"""``translate train``: train a translator, save it, and score it on its test set.

It writes into the folder ``--out``:

    best.safetensors   the model with the least validation loss, with its vocabularies
    results.json       config, versions, losses, and the scores on the test set
    alignment.png      the attention weights of one sentence of the test set
    state/             what ``--resume`` continues from

It learns from the sentences of a grammar, the questions of a task, or a file.
"""

from ...seq2seq import translator
from ...training import best_model
from ..experiments import scoring
from ..experiments import translation as experiment
from ..options import wrapped
from .experiment import BEST, OneRun


class Training(OneRun):
    """The command ``translate train``: one model."""

    name, Config = "translate train", experiment.Config
    figures = ("alignment.png",)

    def load(self):
        """Return the sentences or questions."""
        return experiment.load(self.config)

    @property
    def jobs(self):
        """The only run."""
        return [(self.config.attention, self.config.seed)]

    def opening(self):
        """Return the sizes of the data, and the main options."""
        config, data = self.config, self.data
        parts = (
            f"{experiment.name_of(config)}: {len(data.train)} pairs to train on, "
            f"{len(data.validation)} to validate, {len(data.test)} to test"
        )
        sizes = (
            f"vocabularies of {len(data.source)} and {len(data.target)} tokens; "
            f"attention {config.attention}, cell {config.cell}, seed {config.seed}"
        )
        return wrapped("\n".join(filter(None, (data.report, parts, sizes))))

    def train(self, job, saved, save, progress):
        """Train the model and keep its file up to date."""
        return experiment.train(
            self.config, self.data, saved.get("run"), save, progress, self.keep
        )

    def keep(self, run):
        """Save the best translator of a run so far, with its origin; return it."""
        found = {"ending": self.data.ending, "validation": run.best["loss"]}
        about = self.origin(run, **found)
        best = experiment.translator(best_model(run), self.data, about)
        translator.save(self.out / BEST, best)
        return best

    def examine(self, best, run):
        """Score the best model on the test set."""
        report = scoring.score(best, self.data.test)
        said = [" ".join(words) for words in report.pop("said")]
        return {"test": report, "said": said}

    def conclude(self, runs):
        """Draw an alignment; return the scores."""
        (found,) = runs
        written = "best.safetensors, results.json"
        best = translator.load(self.out / BEST)
        if draw_alignment(self.config, self.data, best, self.out / "alignment.png"):
            written += ", alignment.png"
        return (
            f"best at step {found['step']} of {found['steps']}, with a validation loss "
            f"of {found['validation']:.4g}; {found['seconds']:.0f} s\n\n"
            f"{scoring.table(found['test'])}\n\nwritten to {self.out}:\n{written}"
        ), {}


run = Training.run


def draw_alignment(config, data, model, path):
    """Draw the weights of a test sentence; return False without attention."""
    pair = next((p for p in data.test if len(p.source) >= 8), data.test[0])
    weights = scoring.reference_weights(model, [pair])
    if weights is None:
        return False
    from ...plotting.heatmaps import alignment_heatmap

    title = f"Where does {config.attention} look while it reads the reference?"
    gold = sorted(pair.possible or pair.alignment or ())
    source, target = model.source.marked(pair.source), model.target.marked(pair.target)
    alignment_heatmap(weights[0], source, target, title, path, gold=gold)
    return True
