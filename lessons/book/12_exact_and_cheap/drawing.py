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


def quality(forms, ranges, chance, every):
    """Right answers by distance, and during training.

    forms   {form: (shares (seeds, ranges), a curve for each seed)}; bars show the
            lowest and highest of the seeds
    every   the steps between two values of a curve
    """
    runs = len(next(iter(forms.values()))[1])
    title = f"How far back can an answer be found? ({runs} runs of each form)"
    fig, (left, right) = figure(title, columns=2, size=(7.2, 3.6), sharey=True)
    looks = dict(zip(forms, zip((*COLOURS, GREY), "osD^v")))
    x = np.arange(len(ranges))
    for i, (form, (found, curves)) in enumerate(forms.items()):
        colour, mark = looks[form]
        m = found.mean(0)
        bars = [m - found.min(0), found.max(0) - m]
        look = {"color": colour, "marker": mark, "mfc": "none", "capsize": 3}
        left.errorbar(x + (i - 2) * 0.06, m, bars, label=form, **look)
        for curve in curves:
            steps = every * (1 + np.arange(len(curve)))
            right.plot(steps, curve, color=colour, lw=0.8)
    for ax in (left, right):
        ax.axhline(chance, ls=":", color=GREY, label="chance" if ax is left else None)
    left.set_xticks(x, ranges)
    left.set_xlabel("tokens from the question\nback to the answer")
    left.set_ylabel("share of right answers")
    left.set_ylim(0, 1.05)
    right.set_xlabel("training step\n(before the rate falls)")
    fig.legend(loc="outside lower center", ncols=6)
    return fig


def least_of(runs):
    """Return the least time and memory of several runs of a sweep, by variant."""
    found = {}
    for way, first in runs[0].items():
        each = {key: [run[way][key] for run in runs] for key in ("least", "bytes")}
        least = {key: np.min(values, 0).tolist() for key, values in each.items()}
        found[way] = {"n": first["n"], **least}
    return found


def gain(ways, slow, fast, n):
    """Return how many times as fast one variant is as another, with n tokens."""
    slow, fast = (ways[w]["least"][ways[w]["n"].index(n)] for w in (slow, fast))
    return slow / fast


def slopes(measured, least=1024, most=np.inf):
    """{variant: the power of n that its times follow}, for n from least to most."""
    found = {}
    for way, x in measured.items():
        long = [(n, t) for n, t in zip(x["n"], x["least"]) if least <= n <= most]
        found[way] = np.polyfit(*np.log(long).T, 1)[0]
    return found


def gains(recurrence):
    """recurrence {words: (n, the gains of each run)}: how often as fast as a GRU"""
    fig, ax = figure("Is self-attention faster than a GRU?", size=(5.8, 3.4))
    for (words, (n, found)), mark in zip(recurrence.items(), "osD"):
        m = found.mean(0)
        bars = [m - found.min(0), found.max(0) - m]
        ax.errorbar(n, m, bars, marker=mark, mfc="none", capsize=3, label=words)
    ax.axhline(1, ls=":", color=GREY, label="equally fast")
    ax.set(xscale="log", yscale="log", xlabel="tokens n")
    ax.set_ylabel("time of the GRU divided by\nthat of self-attention")
    ax.legend()
    return fig


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
