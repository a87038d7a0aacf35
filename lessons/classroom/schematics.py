"""Diagrams of models, drawn with matplotlib in the colours of the book.

    fig, ax = diagram((7.2, 3))
    box(ax, (0, 0), "h1", BLUE)
    arrow(ax, (0, 0.25), (2, 1.5), weight=0.8)

Coordinates are free: one unit is about the width of a box. A function at the end of the
file draws each diagram that a lesson shows.
"""

import numpy as np

from .figures import BLUE, GREEN, GREY, ORANGE, PURPLE, figure

WIDTH, HEIGHT = 0.8, 0.5  # of a box


def diagram(size):
    """Return a figure of (width, height) inches and its axes, without ticks."""
    fig, ax = figure(None, size=size)
    ax.set_axis_off()
    ax.set_aspect("equal")
    return fig, ax


def box(ax, centre, text, colour=GREY, width=WIDTH, height=HEIGHT, below=""):
    """Draw a rounded box around a text; ``below`` stands under it."""
    from matplotlib.patches import FancyBboxPatch

    x, y = centre
    corner = x - width / 2, y - height / 2
    style = "round,pad=0,rounding_size=0.1"
    ax.add_patch(
        FancyBboxPatch(
            corner, width, height, boxstyle=style, fill=False, ec=colour, lw=1.6
        )
    )
    ax.text(x, y, text, ha="center", va="center", fontsize=10)
    if below:
        ax.text(x, y - height / 2 - 0.12, below, ha="center", va="top", fontsize=10)


def arrow(ax, start, end, colour=GREY, weight=0.3, bend=0.0, text=""):
    """Draw an arrow; its width grows with the weight, between 0 and 1."""
    style = {
        "arrowstyle": "-|>",
        "mutation_scale": 9,
        "lw": 0.6 + 4 * weight,
        "color": colour,
        "shrinkA": 0,
        "shrinkB": 0,
        "connectionstyle": f"arc3,rad={bend}",
    }
    ax.annotate("", xy=end, xytext=start, arrowprops=style)
    if text:
        x, y = (np.add(start, end)) / 2
        ax.text(x, y, text, ha="center", va="center", fontsize=9)


def fit(ax, left, right, bottom, top):
    """Show this part of the plane."""
    ax.set(xlim=(left, right), ylim=(bottom, top))


def attention_step(words, weights, state, answer):
    """Draw one step of a decoder that attends to its source.

    words     of the source, one for each encoder state h_j
    weights   alpha_j, one for each word; they set the widths of the arrows
    state     the words that the decoder has written
    answer    the word that it writes next
    """
    fig, ax = diagram((7.2, 3.0))
    n = len(words)
    centre = (n - 1) * 1.2 / 2
    for j, (word, weight) in enumerate(zip(words, weights)):
        x = 1.2 * j
        if j:
            arrow(ax, (x - 1.2 + WIDTH / 2, 0), (x - WIDTH / 2, 0))
        box(ax, (x, 0), f"$h_{j + 1}$", BLUE, below=word)
        arrow(ax, (x, HEIGHT / 2), (centre, 1.75), BLUE, weight)
        side = -1 if x < centre else 1  # beside the arrow, not on it
        ha = "right" if side < 0 else "left"
        ax.text(x + 0.12 * side, 0.36, f"{weight:.2f}", fontsize=9, ha=ha, va="bottom")
    box(ax, (centre, 2), "$c$", ORANGE)
    ax.text(centre - 0.55, 2, "context:\nthe weighted average", ha="right", va="center")
    right = 1.2 * n + 0.9
    box(ax, (right, 0), "$s$", GREEN, below=f'has written "{state}"')
    arrow(ax, (right - WIDTH / 2, 0.1), (centre + 1.25, 0.95), GREEN, bend=0.12)
    ax.text(right - 0.15, 1.1, "query: which\nword now?", ha="right", va="center")
    box(ax, (right, 2), f'"{answer}"', PURPLE, width=1.1)
    arrow(ax, (centre + WIDTH / 2, 2), (right - 0.55, 2), ORANGE)
    arrow(ax, (right, HEIGHT / 2), (right, 1.75), GREEN)
    fit(ax, -0.9, right + 1.2, -0.7, 2.35)
    return fig
