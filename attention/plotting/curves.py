"""Figures of training runs: losses over steps, and accuracies by length."""

import numpy as np

from minigrad.arguments import instance

from .figure import legend, new_figure, remove_frame, save, short
from .palette import DASHES, looks

HATCHES = ("", "//", "..", "xx")


def loss_curves(
    histories,
    path=None,
    *,
    smooth=50,
    title=None,
    ylabel="training loss (nats a token)",
):
    """Draw the loss of each run over its steps, on a logarithmic axis.

    histories  {name: [loss, ...]}; the first word of a name is its score, which chooses
               the colour
    smooth     steps that the strong line averages over, at most a fifth of the run; a
               mean stands in the middle of its steps. The faint line is every step
    title      None: a question about the scores that learn string reversal

    The legend gives the end of each strong line, the lowest first. Returns the Figure,
    and saves it to ``path``. Raises ValueError if a run has no losses.
    """
    instance("loss_curves", "histories", histories, dict, "{'dot': losses}")
    if not histories or smooth < 1:
        raise ValueError(
            f"loss_curves: histories has {len(histories)} runs and smooth is {smooth}; "
            "expected one of each or more."
        )
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    look = looks(histories)
    lines = []
    for name, losses in histories.items():
        losses = np.asarray(losses, float)
        if losses.ndim != 1 or losses.size == 0:
            raise ValueError(
                f"loss_curves: the history of {name!r} has shape {losses.shape}; "
                "expected (steps,), one loss for each step."
            )
        lines.append((name, losses, _moving_average(losses, smooth)))
    curves = []
    lines.sort(key=lambda line: (np.isnan(line[2][-1]), line[2][-1]))  # NaN last
    for name, losses, means in lines:
        steps = np.arange(1, losses.size + 1)
        panel.plot(steps, losses, color=look[name]["color"], alpha=0.18, linewidth=0.7)
        curves += panel.plot(
            steps[: means.size] + (losses.size - means.size) / 2,  # in the middle
            means,
            **look[name] | {"marker": None},
            linewidth=2,
            label=f"{name}: {means[-1]:.2g}",
        )
    panel.set_yscale("log")
    panel.set_xlim(0, max(losses.size for _, losses, _ in lines))
    panel.set_xlabel("training step")
    panel.set_ylabel(ylabel)
    if title is None:
        title = "Which score learns string reversal fastest?"
        if len(lines) == 1:
            title = f"How fast does {lines[0][0]} learn string reversal?"
    panel.set_title(title)
    many = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}  # beside the curves
    place = many if len(lines) > len(DASHES) else {}
    legend(panel, curves, title="smoothed loss at the end", **place)
    remove_frame(panel)
    return save(figure, path)


def accuracy_bars(accuracies, path=None):
    """Draw accuracies by length as groups of bars, one bar for each run.

    accuracies  {name: {length: accuracy}}, accuracies between 0 and 1, lengths numbers
                or their strings (as JSON has them); every run with the same lengths

    The colours are those of ``loss_curves``. Returns the Figure, and saves it to
    ``path``. Raises ValueError if the lengths differ or an accuracy is not in 0 to 1.
    """
    example = "{'dot': {10: 0.9, 20: 0.8}}"
    instance("accuracy_bars", "accuracies", accuracies, dict, example)
    for name, by_length in accuracies.items():
        instance("accuracy_bars", f"the entry {name!r}", by_length, dict, "{10: 0.9}")
    runs = {
        name: {int(length): float(a) for length, a in by_length.items()}
        for name, by_length in accuracies.items()
    }
    lengths = sorted(next(iter(runs.values()), {}))
    for name, by_length in runs.items():
        if sorted(by_length) != lengths:
            raise ValueError(
                f"accuracy_bars: {name!r} has lengths {sorted(by_length)}; expected "
                f"{lengths}, as the first run has."
            )
        wrong = [a for a in by_length.values() if not 0 <= a <= 1]
        if wrong:
            raise ValueError(
                f"accuracy_bars: {name!r} has accuracy {wrong[0]}; expected a number "
                "between 0 and 1."
            )
    if not lengths:
        raise ValueError(
            "accuracy_bars: accuracies is empty; expected {name: {length: accuracy}}."
        )
    look, hatches = looks(runs), dict(zip(DASHES, HATCHES))
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    width, groups = 0.84 / len(runs), []
    for n, (name, by_length) in enumerate(runs.items()):
        bars = panel.bar(
            np.arange(len(lengths)) + (n - (len(runs) - 1) / 2) * width,
            [by_length[length] for length in lengths],
            width * 0.92,
            color=look[name]["color"],
            hatch=hatches[look[name]["linestyle"]],
            edgecolor="white",
            label=name,
        )
        groups.append(bars)
        if len(runs) * len(lengths) <= 24:  # more would overlap
            panel.bar_label(bars, fmt=short, fontsize=8, padding=1)
    panel.set_xticks(range(len(lengths)), lengths)
    panel.tick_params(axis="x", length=0)
    panel.set_yticks(np.linspace(0, 1, 6))
    panel.set_ylim(0, 1.06)
    panel.set_xlabel("string length")
    panel.set_ylabel("accuracy a token, teacher-forced")
    one, *others = runs
    title = "Which score reverses strings of every length?"
    panel.set_title(title if others else f"How well does {one} reverse strings?")
    place = {"loc": "outside lower center", "ncols": min(len(runs), 4)}
    legend(figure, groups, **place)
    remove_frame(panel)
    return save(figure, path)


def _moving_average(losses, smooth):
    """Return the means of consecutive losses, of fewer losses in a short run."""
    window = min(smooth, -(-losses.size // 5))
    return np.convolve(losses, np.full(window, 1 / window), "valid")
