"""Train four attention scores to reverse strings, and compare them.

The command writes into the folder ``--out``:

    results.json      the config, the versions, and the losses, accuracies and seconds
                      of each run
    loss.png          the losses           accuracy.png   the accuracies by length
    alignment-*.png   the attention weights of each score while it reverses a word
    state/            the states from which ``--resume`` continues

The seconds include the training loop only. If n models are trained at once, the time is
divided by n.
"""

from ..experiments import reversal as experiment
from .experiment import Experiment


class Reversal(Experiment):
    """The command ``reversal``: a model with each attention score."""

    name, Config, module = "reversal", experiment.Config, experiment
    figures = "loss.png", "accuracy.png", "alignment-*.png"

    def opening(self):
        """Return the main options."""
        config = self.config
        return (
            f"preset {config.preset}, decoder-init {config.decoder_init}, "
            f"steps {config.steps}, width {config.hidden}, batch {config.batch}, "
            f"seed {config.seed}"
        )

    def result(self, job, run):
        """Return what is found of each kind, and one alignment."""
        alignment = experiment.alignment(run.model)
        return {**super().result(job, run), "alignment": alignment}

    def found(self, result):
        """Return the last loss, the accuracies by length, and the seconds."""
        reached = "  ".join(f"{n}: {a:.3f}" for n, a in result["accuracy"].items())
        return (
            f"loss {result['losses'][-1]:.4f}  accuracy at {reached}  "
            f"{result['seconds']:.0f} s"
        )

    def conclude(self, runs):
        """Draw losses, accuracies and alignments; return the table."""
        means = experiment.means(self.config, runs)
        draw(self.config, runs, means, self.out)
        files = "results.json, loss.png, accuracy.png, alignment-*.png"
        return f"{table(self.config, means)}\n\n{files}: in {self.out}", {}


run = Reversal.run


def table(config, means):
    """Format accuracy and exact match by length, means over the seeds."""
    padded = ""
    if config.pad_eval:
        padded = f";\nsources padded to {config.pad_eval} letters at least"
    wide = 8 if len(config.lengths) < 5 else 6
    head = "".join(f"{'L=' + str(n):>{wide}s}" for n in config.lengths)
    over = f"{'letter accuracy':<{wide * len(config.lengths)}s}"
    lines = [
        "letter accuracy, teacher-forced, and exact matches of greedy decoding,",
        f"by length; means over the seeds{padded}",
        "",
        f"{'':11s}{over} {'exact match'}",
        f"{'score':9s}{head}   {head}",
    ]
    for kind in config.kinds:
        cells = ""
        for of_kind in means.values():
            cells += "".join(f"{mean:{wide}.3f}" for mean in of_kind[kind].values())
            cells += "   "
        lines.append(f"{kind:9s}{cells}".rstrip())
    return "\n".join(lines)


def draw(config, runs, means, out):
    """Draw losses, accuracies, and for each score the alignment of its first seed."""
    from ...plotting import curves
    from ...plotting import heatmaps as plots

    first = {run["kind"]: run for run in reversed(runs)}
    curves.loss_curves(
        {kind: first[kind]["losses"] for kind in config.kinds}, path=out / "loss.png"
    )
    curves.accuracy_bars(means["accuracy"], path=out / "accuracy.png")
    for kind in config.kinds:
        seen = first[kind]["alignment"]
        plots.alignment_heatmap(
            seen["weights"],
            seen["source"],
            seen["target"],
            title=f"Where does {kind} look, reversing a word?",
            path=out / f"alignment-{kind}.png",
            gold=[(t, len(seen["source"]) - 1 - t) for t in range(len(seen["target"]))],
        )
