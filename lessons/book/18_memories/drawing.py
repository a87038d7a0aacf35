"""The figures of lesson 18."""

from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, RED, figure, run_curves

LOOKS = {
    "sum": (GREY, "-"), "RetNet": (ORANGE, "--"), "decay": (ORANGE, "-"),
    "vector": (GREEN, "-"), "delta": (BLUE, "-"), "delta, gate": (BLUE, "--"),
    "softmax": (RED, "-"), "forgetting": (RED, "--"),
}  # fmt: skip


def names(part):
    """Right answers by how often a name was written, and during training."""
    runs = len(part["seeds"])
    title = f"Who returns the last value? ({runs} runs each)"
    fig, (left, right) = figure(title, columns=2, size=(8.6, 3.6), sharey=True)
    for run in part["runs"]:
        colour, style = LOOKS[run["arm"]]
        times = [run["times"][str(i)] for i in range(1, 7)]
        left.plot(range(1, 7), times, style, color=colour, lw=1)
    run_curves(right, part, LOOKS)
    for ax in left, right:
        label = "chance" if ax is right else None
        ax.axhline(part["chance"], color=GREY, ls=":", lw=1, label=label)
    left.set(xlabel="times the name was written\n(6: or more)", title="after training")
    left.set(ylabel="share of right answers", ylim=(0, 1.03))
    right.set(xlabel="training step\n(before the rate falls)", title="all names")
    right.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def clock(time, least, lengths):
    """Time against the number of chosen blocks, and against n.

    least     {case: {way: seconds}} of the left plot
    lengths   {n: {way: seconds}} of the right one
    """
    fig, (left, right) = figure(
        "Does the time fall with k?", columns=2, size=(8.4, 3.3)
    )
    cases = ("alike", "queries alike", BLUE), ("independent", "no two alike", ORANGE)
    for case, label, colour in cases:
        x = least[case]
        ratio = [x[str(n)] / x["tiled"] for n in time["chosen"]]
        left.plot(time["chosen"], ratio, "o-", color=colour, label=label)
    left.axhline(1, color=GREY, ls=":", label="all keys, tiled")
    left.set(xscale="log", xlabel="blocks k that a query reads", ylim=(0, None))
    left.set(ylabel="time / time of tiled", title=f"{time['length']} tokens")
    left.legend()
    ways = (
        ("dense", "dense", RED), ("tiled", "tiled", GREY), ("4", "4 blocks", BLUE),
        ("the choice", "their choice alone", GREEN),
    )  # fmt: skip
    for way, label, colour in ways:
        at = [n for n in lengths if way in lengths[n]]
        ms = [1e3 * lengths[n][way] for n in at]
        right.loglog(at, ms, "o-", color=colour, label=label)
    right.set(xlabel="tokens n", ylabel="ms", title="queries alike")
    right.legend()
    return fig
