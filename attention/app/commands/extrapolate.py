"""Train each positional encoding on lengths up to n, and evaluate it up to 4 n.

It writes into the folder ``--out``:

    results.json        config, versions, and of each run losses, accuracies, seconds
    extrapolation.png   the accuracies by length        loss.png   the training losses
    state/              what ``--resume`` continues from
"""

from ..experiments import extrapolation as experiment
from .experiment import Experiment

SUMMARY = ("length", "steps", "width", "layers", "batch", "seed")


class Extrapolation(Experiment):
    """The command ``extrapolate``: a model with each positional encoding."""

    name, Config, module = "extrapolate", experiment.Config, experiment
    figures = "extrapolation.png", "loss.png"

    def opening(self):
        """Return the main options."""
        return ", ".join(f"{k} {getattr(self.config, k)}" for k in SUMMARY)

    def found(self, result):
        """Return the accuracies by length, and the seconds."""
        reached = result["accuracy"][result["kind"]]
        found = "  ".join(f"{n}: {a:.2f}" for n, a in reached.items())
        return f"accuracy at {found}  {result['seconds']:.0f} s"

    def conclude(self, runs):
        """Draw losses and accuracies; return the table of accuracies."""
        means = experiment.mean_accuracies(self.config, runs)
        draw(self.config, runs, means, self.out)
        files = "results.json, extrapolation.png, loss.png"
        return f"{table(self.config, means)}\n\n{files}: in {self.out}", {}


run = Extrapolation.run


def table(config, means):
    """Format the accuracy by length: a row for each scheme, means over the seeds."""
    n, names = config.length, max(12, *map(len, config.rows))
    head = "".join(f"{f'L={length}':>9s}" for length in config.lengths)
    times = "".join(f"{f'{factor:g} n':>9s}" for factor in config.factors)
    lines = [
        f"accuracy at the last {n // 2} tokens, trained on lengths up to n = {n};",
        f"by chance: {1 / experiment.Bindings().values:.3f}; means over the seeds",
        "",
        f"{'scheme':{names}s}{head}",
        f"{'':{names}s}{times}",
    ]
    for row in config.rows:
        cells = "".join(f"{mean:9.3f}" for mean in means[row])
        lines.append(f"{row:{names}s}{cells}")
    return "\n".join(lines)


def draw(config, runs, means, out):
    """Draw accuracy against length, and the losses of the first seed."""
    from ...plotting.curves import loss_curves
    from ...plotting.figure import new_figure, remove_frame, save
    from ...plotting.palette import looks

    first = {run["kind"]: run["losses"] for run in reversed(runs)}
    fastest, works = (
        "Which positional encoding is learned fastest?",
        "Which positional encodings work beyond the trained length?",
    )
    if len(config.rows) == 1:
        (name,) = config.rows
        fastest = f"How fast is a model with {name} trained?"
        works = f"Does {name} work beyond the trained length?"
    loss_curves(
        {name: first[name] for name in config.kinds},
        path=out / "loss.png",
        title=fastest,
        ylabel="training loss (nats a value)",
    )
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    look = looks(config.rows)
    for row in config.rows:
        panel.plot(config.lengths, means[row], label=row, markersize=5, **look[row])
    chance = 1 / experiment.Bindings().values
    panel.axhline(chance, color="0.6", linewidth=0.8, label="by chance")
    panel.axvline(config.length, color="0.6", linewidth=0.8, linestyle=":")
    panel.set_xticks(config.lengths)
    panel.set_ylim(0, 1.03)
    panel.set_xlabel(f"sequence length (trained on up to {config.length}, dotted)")
    panel.set_ylabel("accuracy at the last tokens")
    panel.set_title(works)
    remove_frame(panel)
    panel.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, out / "extrapolation.png")
