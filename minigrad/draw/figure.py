"""A matplotlib Figure that needs no pyplot and that a notebook shows by itself."""

import functools
import warnings

from . import fonts


def new_figure(figsize, **options):
    """Return an empty Figure of (width, height) inches that pyplot does not know."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _notebook_figure()(figsize=figsize, **options)
    FigureCanvasAgg(figure)
    return figure


@functools.cache
def _notebook_figure():
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def draw(self, renderer):
            with warnings.catch_warnings():
                if fonts.add_fonts(self):  # one warning is enough
                    warnings.filterwarnings("ignore", "Glyph .* missing")
                super().draw(renderer)

        def _repr_png_(self):
            from io import BytesIO

            png = BytesIO()
            self.savefig(png, format="png", dpi=100)
            return png.getvalue()

    return NotebookFigure
