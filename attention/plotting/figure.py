"""A figure without pyplot, and the style that all pictures of this package share."""

import functools

from minigrad.files import save_figure


def new_figure(figsize):
    """An empty Figure of (width, height) inches that nobody but the caller knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _notebook_figure()(figsize=figsize, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # inches around everything
    FigureCanvasAgg(figure)
    return figure


def save(figure, path):
    """Write ``figure`` to ``path``, a name or an open file or None; return the figure.

    A file is there whole or not at all. A name without an ending gets .png.
    """
    if path is not None:
        save_figure(figure, path, dpi=150)
    return figure


def check_ending(option, path):
    """Raise ValueError unless ``path`` has the ending of a kind of picture."""
    kinds = "jpg", "pdf", "png", "svg", "webp"  # matplotlib is slow to import
    if path.suffix.lower().removeprefix(".") not in kinds:
        raise ValueError(
            f"{option} is {path}; expected a name that ends with one of "
            f"{', '.join(f'.{kind}' for kind in kinds)}."
        )


def short(value):
    """Two decimals without the zero before the point; an exact zero as "0"."""
    return "0" if value == 0 else f"{value:.2f}".removeprefix("0")


@functools.cache
def _notebook_figure():
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A Figure that a notebook shows although pyplot does not know it."""

        def _repr_png_(self):
            from io import BytesIO

            png = BytesIO()
            self.savefig(png, format="png", dpi=100)
            return png.getvalue()

    return NotebookFigure
