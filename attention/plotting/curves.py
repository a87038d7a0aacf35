"""Training runs as pictures: losses over steps, accuracies by length."""

import re
from collections import Counter

import numpy as np

from .figure import new_figure, save, short

# Okabe and Ito's colours, which stay apart for colour-blind readers; one for a score.
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

    The legend gives the end of each strong line, the lowest first. Returns the Figure;
    saves it to ``path``.

    Raises ValueError when there is no run, a run is no list of numbers, or smooth < 1.
    """
    if not histories:
        raise ValueError("loss_curves: histories is empty; expected {name: losses}.")
    if smooth < 1:
        raise ValueError(f"loss_curves: smooth is {smooth}; expected 1 step or more.")
    runs = {name: np.asarray(losses, float) for name, losses in histories.items()}
    for name, losses in runs.items():
        if losses.ndim != 1 or losses.size == 0:
            raise ValueError(
                f"loss_curves: the history of {name!r} has shape {losses.shape}; "
                "expected (steps,), one loss for each step."
            )
    smoothed = {name: _moving_average(losses, smooth) for name, losses in runs.items()}
    colours, dashes = _colours(runs), _by_repetition(runs, DASHES)
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    for name in sorted(runs, key=lambda name: smoothed[name][-1]):
        losses, means = runs[name], smoothed[name]
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
    panel.set_xlim(0, max(losses.size for losses in runs.values()))
    panel.set_xlabel("training step")
    panel.set_ylabel(ylabel)
    panel.set_title(title)
    panel.legend(frameon=False, title="smoothed loss at the end")
    _calm(panel)
    return save(figure, path)


def accuracy_bars(
    accuracies,
    path=None,
    *,
    title="Which score reverses strings of every length?",
    xlabel="string length",
    ylabel="accuracy a token, teacher-forced",
):
    """Draw accuracies by length as groups of bars, one bar for each run.

    accuracies  {name: {length: accuracy}}, accuracies between 0 and 1, lengths numbers
                or their strings (as JSON has them); every run with the same lengths

    The colours are those of ``loss_curves``. Returns the Figure; saves it to ``path``.

    Raises ValueError when there is nothing to draw, when the runs have different
    lengths, or when an accuracy is not between 0 and 1.
    """
    runs = {
        name: {int(length): float(a) for length, a in by_length.items()}
        for name, by_length in accuracies.items()
    }
    lengths = sorted(next(iter(runs.values()), {}))
    if not lengths:
        raise ValueError(
            "accuracy_bars: accuracies holds nothing; expected "
            "{name: {length: accuracy}}."
        )
    for name, by_length in runs.items():
        if sorted(by_length) != lengths:
            raise ValueError(
                f"accuracy_bars: {name!r} has lengths {sorted(by_length)}; expected "
                f"{lengths}, as the first run has."
            )
        for length, accuracy in by_length.items():
            if not 0 <= accuracy <= 1:
                raise ValueError(
                    f"accuracy_bars: {name!r} has accuracy {accuracy} at length "
                    f"{length}; expected a number between 0 and 1."
                )
    colours, hatches = _colours(runs), _by_repetition(runs, HATCHES)
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    width = 0.84 / len(runs)
    for n, (name, by_length) in enumerate(runs.items()):
        left = np.arange(len(lengths)) + (n - (len(runs) - 1) / 2) * width
        bars = panel.bar(
            left,
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
    panel.set_xlabel(xlabel)
    panel.set_ylabel(ylabel)
    panel.set_title(title)
    figure.legend(loc="outside lower center", ncols=min(len(runs), 4), frameon=False)
    _calm(panel)
    return save(figure, path)


def _moving_average(losses, smooth):
    """The mean of every ``window`` losses in a row, fewer of them in a short run."""
    window = min(smooth, -(-losses.size // 5))
    return np.convolve(losses, np.full(window, 1 / window), "valid")


def _kind(name):
    """The score that a run's name begins with: 'scaled_dot, seed 2' is scaled."""
    return re.split(r"\W|_", name)[0]


def _colours(names):
    """A colour for each name: the score's own, or else the next of the others."""
    others = [kind for kind in dict.fromkeys(map(_kind, names)) if kind not in COLOURS]
    spare = {k: OTHER_COLOURS[n % len(OTHER_COLOURS)] for n, k in enumerate(others)}
    return {name: (COLOURS | spare)[_kind(name)] for name in names}


def _by_repetition(names, styles):
    """A style for each name, so that two runs of one score can be told apart."""
    seen, chosen = Counter(), {}
    for name in names:
        chosen[name] = styles[seen[_kind(name)] % len(styles)]
        seen[_kind(name)] += 1
    return chosen


def _calm(panel):
    """Keep of the frame and the grid only what helps to read a value."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_axisbelow(True)
    panel.grid(axis="y", color="0.9", linewidth=0.8)
