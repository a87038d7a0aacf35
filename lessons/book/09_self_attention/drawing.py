"""Two of the figures of lesson 09; the third is the library's ``alignment_heatmap``."""

import numpy as np

from lessons.classroom.figures import BLUE, GREY, ORANGE, figure


def diagonal(found):
    """found {name: (weight on itself, weights (T, T))}"""
    fig, axes = figure("Where does each position look?", columns=3, size=(7.2, 2.7))
    for ax, (name, (_, p)) in zip(axes, found.items()):
        image = ax.imshow(p, cmap="Blues", vmin=0, vmax=1)
        ax.set(title=name, xlabel="key j", xticks=range(0, len(p), 2))
        ax.grid(False)
    axes[0].set_ylabel("query i")
    fig.colorbar(image, ax=axes, shrink=0.7)
    return fig


def temperature(taus, curves):
    """curves {name: (entropy, size of the gradient)}, each as long as taus"""
    title = "From a hard lookup to a mean: where is the gradient?"
    fig, axes = figure(title, columns=2)
    for (name, (H, J)), colour in zip(curves.items(), (ORANGE, BLUE)):
        axes[0].semilogx(taus, H, color=colour, label=name)
        axes[1].semilogx(taus, J, color=colour, label=name)
    axes[0].axhline(np.log(8), color=GREY, lw=0.8, ls=":")
    axes[0].set(xlabel="temperature", ylabel="entropy (nats)")
    axes[1].set(xlabel="temperature", ylabel="median of |dp/de|")
    axes[0].legend()
    return fig
