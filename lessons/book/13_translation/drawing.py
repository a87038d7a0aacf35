"""The figures of lesson 13."""

import numpy as np

from lessons.classroom.figures import BLUE, GREY, ORANGE, figure

COLOURS = {"none": GREY, "bahdanau": ORANGE, "luong": BLUE}


def by_length(bleu, parts):
    """bleu {pairs: {words of the source: {kind: (mean, low, high)}}}"""
    fig, axes = figure("What does BLEU do with the length?", columns=2, sharey=True)
    for ax, (size, told) in zip(axes, bleu.items()):
        for i, (kind, colour) in enumerate(COLOURS.items()):
            m, low, high = np.array([told[part][kind] for part in parts]).T
            at = np.arange(len(parts)) + (i - 1) * 0.06
            ax.errorbar(at, m, [m - low, high - m], color=colour, label=kind, capsize=3)
        ax.set_xticks(range(len(parts)), parts)
        ax.set(title=f"{size} pairs", xlabel="words of the source")
    axes[0].set(ylabel="BLEU", ylim=(0, 104))
    axes[0].legend(loc="center left")
    return fig


def heatmaps(chosen, weights):
    """weights [(T, S)] of the pairs ``chosen``, and their right links as squares"""
    fig, axes = figure("Where does it look?", columns=len(chosen), size=(9, 3.6))
    for ax, pair, w in zip(axes, chosen, weights):
        ax.imshow(w, cmap="Blues", vmin=0, vmax=1)
        t, s = np.array(sorted(pair.alignment)).T
        ax.plot(s, t, "s", mfc="none", mec=ORANGE, ms=7, mew=1.2)
        ax.set_xticks(range(len(pair.source)), pair.source, rotation=90)
        ax.set_yticks(range(len(pair.target)), pair.target)
        ax.grid(False)
    return fig
