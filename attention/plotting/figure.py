"""The figures of this package: their layout, their style, and how they are saved."""

import os
import re

from minigrad.draw import figure as notebook
from minigrad.files import write_whole


def new_figure(figsize):
    """Return an empty Figure of (width, height) inches, with space for all labels."""
    figure = notebook.new_figure(figsize, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # inches around everything
    return figure


def save(figure, path):
    """Write ``figure`` to ``path``, a name, an open file or None; return the figure.

    The file appears complete or not at all. A name without an ending gets .png. Words,
    names and titles are shown as they are: a $ in them begins no formula.
    """
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if "$" in text.get_text():  # not yet the numbers of an axis, which are formulas
            text.set_parse_math(False)
        text.set_text(printable(text.get_text()))
    if hasattr(path, "write"):
        figure.savefig(path, dpi=150)
    elif path is not None:
        suffix = os.path.splitext(path)[1]
        kind = suffix[1:].lower() or "png"
        write_whole(
            path if suffix else f"{os.fspath(path)}.png",
            lambda file: figure.savefig(file, format=kind, dpi=150),
            "picture",
        )
    return figure


def printable(text):
    """Return the text with spaces for control characters: no font has a tab."""
    return re.sub(r"[\x00-\t\x0b-\x1f\x7f-\x9f]", " ", text)


def legend(owner, curves, **options):
    """Name the curves of a panel or figure, also if a label begins with "_"."""
    drawn = owner.legend(curves, ["name"] * len(curves), frameon=False, **options)
    for text, curve in zip(drawn.get_texts(), curves):
        text.set_text(curve.get_label())


def remove_frame(panel):
    """Keep only the parts of the frame and the grid that help to read a value."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_axisbelow(True)
    panel.grid(axis="y", color="0.9", linewidth=0.8)


def check_ending(option, path):
    """Raise ValueError unless ``path`` ends like a picture that can be written."""
    kinds = "jpg", "pdf", "png", "svg", "webp"  # matplotlib is slow to import
    if path.suffix.lower().removeprefix(".") not in kinds:
        raise ValueError(
            f"{option} is {path}; expected a name that ends with one of "
            f"{', '.join(f'.{kind}' for kind in kinds)}."
        )


def short(value):
    """Return two decimals without the zero before the point; an exact zero as "0"."""
    return "0" if value == 0 else f"{value:.2f}".removeprefix("0")
