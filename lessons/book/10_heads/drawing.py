"""The figures of lesson 10."""

from lessons.classroom.figures import BLUE, GREEN, ORANGE, figure


def losses(curves):
    """curves {name: (steps,)}"""
    fig, ax = figure("Do two equal heads part?", size=(6, 2.6))
    for (name, each), colour in zip(curves.items(), (BLUE, ORANGE, GREEN)):
        ax.semilogy(each, color=colour, label=name)
    ax.set(xlabel="training step", ylabel="squared error")
    ax.legend()
    return fig


def influence(moved):
    """moved {mask: (T, T)}, how far output i moves if token j does"""
    fig, axes = figure("Which inputs move which outputs?", columns=3, size=(7.2, 3.0))
    for ax, (name, m) in zip(axes, moved.items()):
        ax.imshow(m, cmap="Blues", vmin=0)
        ax.set(title=f"mask: {name}", xlabel="token j that is pushed")
        ax.grid(False)
    axes[0].set_ylabel("output i")
    return fig
