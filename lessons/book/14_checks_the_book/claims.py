"""When a claim of lesson 14 holds, and the figure of those that are numbers."""

from lessons.classroom.figures import BLUE, GREY, ORANGE, figure


def verdict(book, ours):
    if isinstance(ours, str):
        return "holds" if ours == book else "no"
    digits = len(book.partition(".")[2])
    off = abs(ours - float(book)) * 10**digits - 1e-9  # in units of the last digit
    holds, near = (0.5, 2) if digits else (0, 0)
    return "holds" if off <= holds else "near" if off <= near else "no"


def account(numbers):
    """numbers [(where, verdict, book, ours)], positive ones"""
    fig, ax = figure("How far off are the numbers?", size=(5.2, 4))
    for word, colour in (("holds", BLUE), ("near", GREY), ("no", ORANGE)):
        xy = [(float(book), ours) for _, said, book, ours in numbers if said == word]
        ax.loglog(*zip(*xy), "o", color=colour, label=word)
    ax.plot([0.03, 1e5], [0.03, 1e5], color=GREY, lw=0.8, ls=":")
    ax.set(xlabel="printed", ylabel="computed")
    ax.legend()
    return fig
