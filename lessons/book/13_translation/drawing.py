"""The figures of lesson 13."""

import numpy as np

from lessons.pages.figures import BLUE, GREY, ORANGE, figure

COLOURS = {"none": GREY, "bahdanau": ORANGE, "luong": BLUE}


def by_length(bleu, parts):
    """bleu {pairs: {words of the source: {kind: (mean, low, high)}}}"""
    fig, axes = figure("What does BLEU do with the length?", columns=2, sharey=True)
    for ax, (size, scores) in zip(axes, bleu.items()):
        for i, (kind, colour) in enumerate(COLOURS.items()):
            m, low, high = np.array([scores[part][kind] for part in parts]).T
            at = np.arange(len(parts)) + (i - 1) * 0.06
            ax.errorbar(at, m, [m - low, high - m], color=colour, label=kind, capsize=3)
        ax.set_xticks(range(len(parts)), parts)
        ax.set(title=f"{size} pairs", xlabel="words of the source")
    axes[0].set(ylabel="BLEU, with 95 % intervals", ylim=(0, 104))
    axes[0].legend(loc="center left")
    return fig


def two_models(bleu, parts):
    """bleu {words of the source: {name: (mean, low, high)}}"""
    fig, ax = figure("Does a Transformer translate better?", size=(7.2, 3))
    x = np.arange(len(parts))
    for i, (name, colour) in enumerate((("GRU", ORANGE), ("Transformer", BLUE))):
        m, low, high = np.array([bleu[part][name] for part in parts]).T
        bars = {"marker": "os"[i], "capsize": 4, "color": colour, "label": name}
        ax.errorbar(x + (i - 0.5) * 0.06, m, [m - low, high - m], **bars)
    ax.set_xticks(x, parts)
    ax.set(xlabel="words of the source", ylabel="BLEU, with 95 % intervals")
    ax.set_ylim(0, 104)
    ax.legend(loc="lower left")
    return fig


def writing(grammar, of, pairs):
    """of {temperature: {"right", "new": (seeds,)}}; grammar, pairs: shares of right"""
    fig, ax = figure("What does a language model write?", size=(7.2, 3))
    x = list(of)
    looks = (("right", "right", ORANGE, "o"), ("new", "right and not read", BLUE, "s"))
    for key, label, colour, marker in looks:
        y = np.array([of[t][key] for t in x])
        bars = [y.mean(1) - y.min(1), y.max(1) - y.mean(1)]
        look = {"marker": marker, "capsize": 4, "color": colour, "label": label}
        ax.errorbar(x, y.mean(1), bars, **look)
    ax.axhline(grammar, ls="--", color=GREY, label="the grammar's own sentences")
    ax.axhline(pairs, ls=":", color=GREY, label="a table of word pairs")
    ax.set(xlabel="temperature", ylim=(0, 1.05))
    ax.set_ylabel("share of the sentences,\nmean and range of 3 seeds")
    fig.legend(loc="outside lower center", ncols=4, fontsize=8)
    return fig


def by_score(summary):
    """summary {order: {"bleu": {score: (mean, low, high)}}}"""
    fig, ax = figure("Does the dot product match additive?", size=(7.2, 3))
    for i, (score, colour) in enumerate((("additive", ORANGE), ("dot", BLUE))):
        found = [order["bleu"][score] for order in summary.values()]
        m, low, high = np.array(found).T
        at = np.arange(len(m)) + (i - 0.5) * 0.1
        bars = {"fmt": "os"[i], "capsize": 4, "color": colour, "label": score}
        ax.errorbar(at, m, [m - low, high - m], **bars)
    ax.set_xticks(range(len(m)), [f"{order.title()}'s order" for order in summary])
    ax.set(ylabel="BLEU, with 95 % intervals", ylim=(0, 100), xlim=(-0.5, 1.5))
    ax.legend(loc="lower right")
    return fig


def heatmaps(title, panels):
    """Draw weights side by side.

    panels   (name, source, target, weights (T, S), links or None): the right links
             are squares
    """
    fig, axes = figure(title, columns=len(panels), size=(7.2, 3.6))
    for ax, (name, source, target, w, links) in zip(axes, panels):
        image = ax.imshow(w, cmap="Blues", vmin=0, vmax=1)
        if links is not None:
            t, s = np.array(sorted(links)).T
            squares = {"mfc": "none", "mec": ORANGE, "ms": 7, "mew": 1.2}
            ax.plot(s, t, "s", label="right link", **squares)
        ax.set_xticks(range(len(source)), source, rotation=90)
        ax.set_yticks(range(len(target)), target)
        ax.set(title=name, xlabel="source word: key")
        ax.grid(False)
    axes[0].set_ylabel("target word: query")
    fig.colorbar(image, ax=axes, shrink=0.7, label="weight")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left")
    return fig
