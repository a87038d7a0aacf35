"""The figures of this package: their layout, their style, and how they are saved."""

from minigrad.draw import figure as notebook
from minigrad.files import save_figure


def new_figure(figsize):
    """Return an empty Figure of (width, height) inches, with space for all labels."""
    figure = notebook.new_figure(figsize, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # inches around everything
    return figure


def save(figure, path):
    """Write ``figure`` to ``path``, a name, an open file or None; return the figure.

    The file appears complete or not at all. A name without an ending gets .png.
    """
    if path is not None:
        save_figure(figure, path, dpi=150)
    return figure


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
