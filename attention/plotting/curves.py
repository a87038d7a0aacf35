"""Figures of training runs: losses over steps, and accuracies by length."""

import re
from collections import Counter

import numpy as np

from .figure import new_figure, save, short

# Okabe and Ito's colours, which colour-blind readers can tell apart; one for a score.
COLOURS = {
    "additive": "#0072B2",
    "dot": "#E69F00",
    "general": "#009E73",
    "scaled": "#CC79A7",
}
OTHER_COLOURS = ("#D55E00", "#56B4E9", "#000000", "#999933")
DASHES = ("-", "--", ":", "-.")  # the first run of a score, the second, ...
HATCHES = ("", "//", "..", "xx")


def loss_curves(
    histories,
    path=None,
    *,
    smooth=50,
    title="Which score learns string reversal fastest?",
    ylabel="training loss (nats a token)",
):
    """Draw the loss of each run over its steps, on a logarithmic axis.

    histories  {name: [loss, ...]}; the first word of a name is its score, which chooses
               the colour
    smooth     steps that the strong line averages over, at most a fifth of the run; the
               faint line is every step

    The legend gives the end of each strong line, the lowest first. Returns the Figure,
    and saves it to ``path``. Raises ValueError if a run has no losses.
    """
    if not histories or smooth < 1:
        raise ValueError(
            f"loss_curves: histories has {len(histories)} runs and smooth is {smooth}; "
            "expected one of each or more."
        )
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    colours, dashes = _colours(histories), _by_repetition(histories, DASHES)
    lines = []
    for name, losses in histories.items():
        losses = np.asarray(losses, float)
        if losses.ndim != 1 or losses.size == 0:
            raise ValueError(
                f"loss_curves: the history of {name!r} has shape {losses.shape}; "
                "expected (steps,), one loss for each step."
            )
        lines.append((name, losses, _moving_average(losses, smooth)))
    for name, losses, means in sorted(lines, key=lambda line: line[2][-1]):
        steps = np.arange(1, losses.size + 1)
        panel.plot(steps, losses, color=colours[name], alpha=0.18, linewidth=0.7)
        panel.plot(
            steps[losses.size - means.size :],  # each mean stands at its last step
            means,
            color=colours[name],
            linestyle=dashes[name],
            linewidth=2,
            label=f"{name}: {means[-1]:.2g}",
        )
    panel.set_yscale("log")
    panel.set_xlim(0, max(losses.size for _, losses, _ in lines))
    panel.set_xlabel("training step")
    panel.set_ylabel(ylabel)
    panel.set_title(title)
    panel.legend(frameon=False, title="smoothed loss at the end")
    _remove_frame(panel)
    return save(figure, path)


def accuracy_bars(accuracies, path=None):
    """Draw accuracies by length as groups of bars, one bar for each run.

    accuracies  {name: {length: accuracy}}, accuracies between 0 and 1, lengths numbers
                or their strings (as JSON has them); every run with the same lengths

    The colours are those of ``loss_curves``. Returns the Figure, and saves it to
    ``path``. Raises ValueError if the lengths differ or an accuracy is not in 0 to 1.
    """
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
    colours, hatches = _colours(runs), _by_repetition(runs, HATCHES)
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    width = 0.84 / len(runs)
    for n, (name, by_length) in enumerate(runs.items()):
        bars = panel.bar(
            np.arange(len(lengths)) + (n - (len(runs) - 1) / 2) * width,
            [by_length[length] for length in lengths],
            width * 0.92,
            color=colours[name],
            hatch=hatches[name],
            edgecolor="white",
            label=name,
        )
        if len(runs) * len(lengths) <= 24:  # more would overlap
            panel.bar_label(bars, fmt=short, fontsize=8, padding=1)
    panel.set_xticks(range(len(lengths)), lengths)
    panel.tick_params(axis="x", length=0)
    panel.set_yticks(np.linspace(0, 1, 6))
    panel.set_ylim(0, 1.06)
    panel.set_xlabel("string length")
    panel.set_ylabel("accuracy a token, teacher-forced")
    panel.set_title("Which score reverses strings of every length?")
    figure.legend(loc="outside lower center", ncols=min(len(runs), 4), frameon=False)
    _remove_frame(panel)
    return save(figure, path)


def _moving_average(losses, smooth):
    """Return the means of consecutive losses, of fewer losses in a short run."""
    window = min(smooth, -(-losses.size // 5))
    return np.convolve(losses, np.full(window, 1 / window), "valid")


def _score_of(name):
    """Return the score at the start of a run's name: "scaled_dot, seed 2" -> scaled."""
    return re.split(r"\W|_", name)[0]


def _colours(names):
    """Return a colour for each name: the score's own, or else another one."""
    others = dict.fromkeys(s for s in map(_score_of, names) if s not in COLOURS)
    spare = {s: OTHER_COLOURS[n % len(OTHER_COLOURS)] for n, s in enumerate(others)}
    return {name: (COLOURS | spare)[_score_of(name)] for name in names}


def _by_repetition(names, styles):
    """Return a style for each name; two runs of one score get different styles."""
    seen, chosen = Counter(), {}
    for name in names:
        chosen[name] = styles[seen[_score_of(name)] % len(styles)]
        seen[_score_of(name)] += 1
    return chosen


def _remove_frame(panel):
    """Keep only the parts of the frame and the grid that help to read a value."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_axisbelow(True)
    panel.grid(axis="y", color="0.9", linewidth=0.8)
