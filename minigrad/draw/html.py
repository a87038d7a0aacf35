"""Tables and grids as HTML: what a notebook shows of masks, weights and results."""

from html import escape

import numpy as np

from .colours import BLUE

MOST = 48  # rows and columns of a grid that are drawn
PIXELS = 12  # of a cell; fewer, if there are many


def table(rows, caption=""):
    """Return rows of cells as a table; the first row is its head, numbers are right."""
    lines = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    lines[0] = lines[0].replace("<td", "<th").replace("</td", "</th")
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def pre(text):
    """Return lines in letters of one width; JupyterLab gives <pre> those of prose."""
    return f'<pre style="font-family:monospace">{text}</pre>'


def grid(values, caption):
    """Return a matrix of numbers, none below 0: the largest has the strongest colour.

    values   (L, S): queries down, keys across. Pointing at a cell shows its number
    """
    L, S = values.shape
    values = values[:MOST, :MOST].astype(float)
    largest = values.max(initial=0) or 1
    size = min(PIXELS, max(4, 400 // max(*values.shape, 1)))
    cells = "".join(
        f'<rect x="{j * size}" y="{i * size}" width="{size - 1}" height="{size - 1}" '
        f'fill="{BLUE}" fill-opacity="{0.1 + 0.9 * value / largest:.2f}">'
        f"<title>query {i}, key {j}: {value:.4g}</title></rect>"
        for (i, j), value in np.ndenumerate(values)
    )
    height, width = (n * size for n in values.shape)
    text = f"{caption}. {L} queries run down, {S} keys run across"
    if (L, S) != values.shape:
        text += f"; the first {values.shape[0]} and {values.shape[1]} are shown"
    if largest != 1:
        text += f"; the strongest colour is {largest:.2g}"
    return (
        f"<div>{escape(text)}</div>"
        f'<svg width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(text)}">{cells}</svg>'
    )


def weights(array, name):
    """Return weights (…, L, S) as the grid of their first matrix, or None.

    They are weights of S > 1 keys if they lie between 0 and 1, and each row sums to 1,
    or to 0 for a query without keys. The range comes first: it needs no sum of large
    numbers, which could overflow.
    """
    if array.ndim < 2 or not array.size or array.dtype.kind != "f":
        return None
    if array.shape[-1] < 2 or not (array.min() >= 0 and array.max() <= 1.001):
        return None
    sums = array.sum(-1, dtype=float)
    is_sum = np.isclose(sums, 1, atol=1e-3) | (sums == 0)
    if not is_sum.all() or not sums.any():
        return None
    first = [0] * (array.ndim - 2)
    place = f", entry {first}" if first else ""
    return grid(array[(*first,)], f"{name} {array.shape}{place}: each row sums to 1")


def _cell(value):
    is_number = isinstance(value, (int, float))
    text = f"{value:,}" if is_number else str(value)
    side = "right" if is_number else "left"
    return f'<td style="text-align:{side}">{escape(text)}</td>'
