"""The figures of lesson 13."""

import numpy as np

from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure

COLOURS = {
    "none": GREY, "attention": ORANGE, "additive": ORANGE, "GRU": ORANGE, "dot": BLUE,
    "Transformer": BLUE, "general": GREEN,
}  # fmt: skip
MARKS = {GREY: "v", ORANGE: "o", BLUE: "s", GREEN: "^"}


def by_length(bleu, by_word):
    """Draw BLEU by length: each seed, and the means.

    bleu      {pairs: {name: {words of the source: (seeds,)}}}
    by_word   {pairs: BLEU of the translator word by word, of all lengths}
    """
    title = "Does attention help more, the longer the sentence?"
    fig, axes = figure(title, columns=len(bleu), sharey=True)
    for ax, (size, models) in zip(axes, bleu.items()):
        for i, (name, each) in enumerate(models.items()):
            y = np.array(list(each.values())).T  # (seeds, parts)
            x, look = np.arange(y.shape[1]), {"color": COLOURS[name]}
            mark = {"marker": MARKS[COLOURS[name]], "ms": 3, "lw": 0, "alpha": 0.6}
            ax.plot(x + (i - 0.5) * 0.1, y.T, **look, **mark)
            ax.plot(x, y.mean(0), **look, label=name)
        ax.axhline(by_word[size], ls=":", color=GREY, label="word by word, all lengths")
        ax.set_xticks(x, each)
        ax.set(title=f"{size} pairs, {len(y)} seeds", xlabel="words of the source")
    axes[0].set(ylabel="BLEU", ylim=(0, 104))
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def learning(title, panels, by_word):
    """Draw the curve of each run, and at its end the BLEU of the test sentences.

    panels    {title: (steps between two validations, {name: runs})}
    by_word   BLEU of the translator word by word
    """
    fig, axes = figure(title, columns=len(panels), sharey=True, squeeze=False)
    for ax, (above, (every, runs)) in zip(axes[0], panels.items()):
        for name, some in runs.items():
            colour = COLOURS[name]
            for run in some:
                x = every * np.arange(1, len(run["curve"]) + 1)
                label = name if run is some[0] else None
                each = slice(0, None, 1 + len(x) // 80)  # fewer points: a smaller file
                look = {"color": colour, "lw": 0.9, "label": label}
                ax.plot(x[each], run["curve"][each], **look)
                end = {"marker": MARKS[colour], "ms": 5, "color": colour}
                ax.plot(1.2 * x[-1], run["figure"], **end)
        ax.axhline(by_word, ls=":", color=GREY, label="word by word")
        ax.set(title=above, xlabel="steps")
    axes[0, 0].set(ylabel="BLEU", ylim=(0, 104))
    handles = axes[0, 0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=5)
    return fig


def writing(grammar, of, pairs, model):
    """Draw the shares by temperature, and the curves of each run at temperature 1.

    grammar, pairs   shares of right sentences
    of               {temperature: {"right", "new": (seeds,)}}
    model            the comparison, see ``fair.run``
    """
    title = "What does a language model write?"
    fig, (ax, steps) = figure(title, columns=2, sharey=True)
    x = list(of)
    looks = (("right", "right", ORANGE, "o"), ("new", "right and not read", BLUE, "s"))
    for key, label, colour, marker in looks:
        y = np.array([of[t][key] for t in x])
        bars = [y.mean(1) - y.min(1), y.max(1) - y.mean(1)]
        look = {"marker": marker, "capsize": 4, "color": colour, "label": label}
        ax.errorbar(x, y.mean(1), bars, **look)
    for run in model["runs"]:
        at = model["every"] * np.arange(1, len(run["curve"]) + 1)
        steps.plot(at, run["curve"], color=ORANGE, lw=0.9)
        steps.plot(at, run["watched"]["new"][1:], color=BLUE, lw=0.9)
    for each in (ax, steps):
        each.axhline(grammar, ls="--", color=GREY, label="the grammar's own sentences")
        each.axhline(pairs, ls=":", color=GREY, label="a table of word pairs")
    n = len(model["runs"])
    ax.set(xlabel="temperature", ylim=(0, 1.05))
    ax.set_ylabel(f"share of the sentences,\nmean and range of {n} seeds")
    steps.set(xlabel="steps, at temperature 1")
    handles = ax.get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=4, fontsize=8)
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
