"""Draw BLEU against the length of the source."""

from ...plotting.figure import new_figure, remove_frame, save
from ...plotting.palette import looks

MARKERS = {"none": "o", "bahdanau": "s", "luong": "^"}


def bleu_by_length(found, path=None, seeds=3):
    """Draw a ``compare.summary``: points for means, bars for intervals.

    Returns the Figure; saves it to ``path``.
    """
    names = [name for name in found["bleu"] if name != "all"]
    kinds = list(found["bleu"][names[0]])
    figure = new_figure((6, 4.2))
    panel = figure.subplots()
    for n, kind in enumerate(kinds):
        x = [i + 0.06 * (n - (len(kinds) - 1) / 2) for i in range(len(names))]
        mean, low, high = zip(*(found["bleu"][name][kind] for name in names))
        bars = [  # the interval of a resampling may not hold the mean
            [max(0, m - a) for m, a in zip(mean, low)],
            [max(0, b - m) for m, b in zip(mean, high)],
        ]
        drawn = panel.errorbar(
            x,
            mean,
            bars,
            color=looks([kind])[kind]["color"],
            marker=MARKERS[kind],
            capsize=4,
            linewidth=1.2,
            label=kind,
        )
        for artist in drawn.get_children():  # BLEU 0 and 100 are on the frame
            artist.set_clip_on(False)
    panel.set_xticks(range(len(names)), names)
    panel.set_xlim(-0.4, len(names) - 0.6)
    panel.set_ylim(0, 100)
    panel.set_xlabel("words of the source")
    panel.set_ylabel("BLEU")
    panel.set_title("Does attention help with long sentences?")
    remove_frame(panel)
    figure.legend(
        loc="outside lower center", ncols=len(kinds), frameon=False,
        title=f"means over {seeds} seed{'s' * (seeds != 1)}, bars: 95 % intervals",
    )  # fmt: skip
    return save(figure, path)
