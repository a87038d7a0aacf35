"""The figures of lesson 12."""

import numpy as np

from lessons.pages.figures import BLUE, COLOURS, GREY, ORANGE, figure


def one_of_many(counts, found):
    """The weight on the right key of n, by softmax and by linear attention."""
    fig, ax = figure("Can one key be found among n?", size=(5.6, 3.2))
    ax.loglog(counts, found["softmax"], "o-", color=BLUE, label="softmax")
    ax.loglog(counts, found["linear"], "s-", color=ORANGE, label="linear")
    ax.loglog(counts, 1 / counts, ":", color=GREY, label="1/n, by chance")
    ax.set(xlabel="keys n", ylabel="weight on the right key")
    ax.legend()
    return fig


def by_distance(forms, ranges, chance):
    """forms {form: (seeds, ranges)}, accuracies: means, and bars over all seeds"""
    fig, ax = figure("How far back can an answer be found?", size=(7.2, 3.2))
    x = np.arange(len(ranges))
    for i, (form, found) in enumerate(forms.items()):
        m = found.mean(0)
        bars = [m - found.min(0), found.max(0) - m]
        look = {"color": COLOURS[i], "marker": "osD^"[i], "mfc": "none", "capsize": 3}
        ax.errorbar(x + (i - 1.5) * 0.05, m, bars, label=form, **look)
    ax.axhline(chance, ls=":", color=GREY, label="chance")
    ax.set_xticks(x, ranges)
    ax.set_xlabel("tokens from the question back to the answer")
    ax.set_ylabel("share right:\nmean and range of 3 seeds")
    ax.set_ylim(0, 1.05)
    fig.legend(loc="outside lower center", ncols=5)
    return fig


def slopes(measured, least=1024, most=np.inf):
    """{variant: the power of n that its times follow}, for n from least to most."""
    found = {}
    for way, x in measured.items():
        long = [(n, t) for n, t in zip(x["n"], x["least"]) if least <= n <= most]
        found[way] = np.polyfit(*np.log(long).T, 1)[0]
    return found


def clock(measured):
    """measured {variant: {"n", "least", "bytes"}}, lists"""
    ways = ("dense", "tiled", "window", "bigbird", "linear", "additive")
    colours = dict(zip(ways, (*COLOURS, GREY)))
    # some lines lie on others: with hollow marks of different sizes all can be seen
    marks = dict(zip(ways, zip("osD^x+", (6, 12, 8, 5, 4, 11))))
    title = "What do a longer sequence's time and memory do?"
    fig, axes = figure(title, columns=2)
    for way, x in measured.items():
        n, held = np.array(x["n"]), np.array(x["bytes"], float)
        look = dict(zip(("marker", "ms"), marks[way]), color=colours[way], mfc="none")
        axes[0].loglog(n, np.array(x["least"]) * 1e3, lw=1, label=way, **look)
        axes[1].loglog(n, held / 1e6, lw=1, label=way, **look)
    axes[0].set(xlabel="tokens n", ylabel="time of one call (ms)")
    axes[1].set(xlabel="tokens n", ylabel="memory beside the inputs (MB)")
    axes[1].legend(fontsize=8, ncols=2, loc="upper left")
    axes[1].set_ylim(0.01, 5000)
    return fig
