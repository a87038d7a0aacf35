"""Figures of attention weights: matrices, one sentence's alignment, all heads.

Every function returns a matplotlib Figure, which a notebook shows, and saves it if it
is given a ``path``. pyplot is not used: there is no window and no list of open figures.
"""

import math
import textwrap
import unicodedata

import numpy as np

from minigrad import Tensor
from minigrad.draw.colours import BLUE

from .figure import new_figure, printable, save, short

CELL_OF_VALUE = 0.34  # inches, of a cell in which a weight fits
GOLD = BLUE  # the outline of a gold alignment, against the reds of the weights


def show_heatmaps(
    matrices,
    xlabel,
    ylabel,
    titles=None,
    figsize=None,
    cmap="Reds",
    path=None,
    *,
    keys=None,
    queries=None,
    values=False,
):
    """Draw a grid of weight matrices on one colour scale, keys across and queries down.

    matrices  (rows, cols, n_queries, n_keys), array or Tensor: one panel for a matrix
    titles    one for each column, or one for each panel, row by row
    keys      n_keys words for the axis, of which all that fit are shown; None: numbers
    queries   n_queries words, likewise
    values    True: write each weight into its cell, an exact 0 as "0", if it fits

    All panels have one scale, so that equal colours are equal weights: 0 to 1, or wider
    if a value lies outside. Returns the Figure, and saves it to ``path``. Raises
    ValueError for matrices that are not 4-D, or too few titles or words.
    """
    matrices = _array(matrices)
    if matrices.ndim != 4 or matrices.size == 0:
        raise ValueError(
            f"show_heatmaps: matrices has shape {matrices.shape}; expected "
            "(rows, cols, n_queries, n_keys), none of them zero. For one matrix m "
            "write m[None, None]."
        )
    rows, cols, n_queries, n_keys = matrices.shape
    if titles is not None and len(titles) not in (cols, rows * cols):
        raise ValueError(
            f"show_heatmaps: titles has {len(titles)} entries; expected {cols}, one "
            f"for each column, or {rows * cols}, one for each panel of a {rows} by "
            f"{cols} grid."
        )
    name, has = "show_heatmaps", f"matrices {matrices.shape} has"
    if keys is not None:
        keys = _words(name, "keys", keys, n_keys, f"{has} keys")
    if queries is not None:
        queries = _words(name, "queries", queries, n_queries, f"{has} queries")
    below, beside = (0.09 * max(map(_width, x or [""])) for x in (keys, queries))
    if figsize is None:
        n = max(n_queries, n_keys)
        cell = np.clip(2.4 / n, CELL_OF_VALUE if values and n <= 12 else 0.08, 0.4)
        width = cols * max(1.3, cell * n_keys) + beside + 1.6
        height = rows * max(0.8, cell * n_queries + 0.3) + below + 0.7
        figsize = (max(3.2, width), max(1.8, height))
    cell = min(
        (figsize[0] - beside - 1.6) / cols / n_keys,
        ((figsize[1] - below - 0.7) / rows - 0.3) / n_queries,
    )
    figure = new_figure(figsize)
    letters = max(6, int((figsize[0] - 1.6) / cols / 0.11))  # in a line of a title
    panels = figure.subplots(rows, cols, sharex=True, sharey=True, squeeze=False)
    scale = _scale(matrices)
    for (i, j), panel in np.ndenumerate(panels):
        image = _draw(panel, matrices[i, j], scale, cmap=cmap)
        _name_cells(panel.xaxis, n_keys, keys, cell)
        _name_cells(panel.yaxis, n_queries, queries, cell)
        if values and cell >= CELL_OF_VALUE:
            _write_values(panel, image, matrices[i, j])
        if i == rows - 1:
            panel.set_xlabel(xlabel)
        if j == 0:
            panel.set_ylabel(ylabel)
        if titles is not None and (len(titles) != cols or i == 0):
            panel.set_title(textwrap.fill(titles[i * cols + j], letters))
    figure.colorbar(image, ax=panels, shrink=0.8, label="attention weight")
    return save(figure, path)


def alignment_heatmap(weights, source, target, title=None, path=None, *, gold=None):
    """Draw which source words each target word attended to.

    weights  (T_target, S_source), array or Tensor; row t belongs to target word t
    source   S_source words, written across the top
    target   T_target words, written down the side
    gold     [(t, s), ...], target and source positions: known alignments, as outlines

    Up to twelve words a side, each cell shows its weight, an exact 0 as "0". Returns
    the Figure, and saves it to ``path``. Raises ValueError if the words or a gold pair
    do not fit the weights, TypeError if a sentence is one string.
    """
    weights = _array(weights)
    if weights.ndim != 2 or weights.size == 0:
        raise ValueError(
            f"alignment_heatmap: weights has shape {weights.shape}; expected one "
            "matrix (T_target, S_source). Take one example, and one head, of a batch."
        )
    rows, columns = weights.shape
    name, has = "alignment_heatmap", f"weights {weights.shape} has"
    source = _words(name, "source", source, columns, f"{has} columns")
    target = _words(name, "target", target, rows, f"{has} rows")
    pairs = [_gold_pair(pair, weights.shape) for pair in ([] if gold is None else gold)]

    small = max(rows, columns) <= 12
    cell = 0.46 if small else max(0.25, 0.46 * 12 / max(rows, columns))
    longest_source, longest_target = max(map(_width, source)), max(map(_width, target))
    upright = longest_source * 0.1 < cell  # the words fit side by side
    beside = 0.09 * longest_target
    above = 0.15 if upright else 0.09 * longest_source
    figure = new_figure(
        (
            max(3.6, cell * columns + beside + 1.7),
            max(2.2, cell * rows + above + 0.9 + 0.3 * (bool(title) + bool(pairs))),
        )
    )
    panel = figure.subplots()
    image = _draw(panel, weights, _scale(weights))
    _words_above(panel, range(columns), source, 0 if upright else 90)
    panel.set_yticks(range(rows), target)
    panel.set_xlabel("source")
    panel.set_ylabel("target")
    _white_lines_between_cells(panel, rows, columns)
    _set_title(figure, title)
    if small:
        _write_values(panel, image, weights)
    if pairs:
        _outline(panel, pairs)
        figure.legend(loc="outside lower center", frameon=False)
    figure.colorbar(image, ax=panel, label="attention weight", aspect=30, pad=0.02)
    return save(figure, path)


def heads_heatmap(weights, words, title=None, path=None):
    """Draw the weights of all heads at one query: a row for each head.

    weights  (layers, H, n), array or Tensor; the heads of a layer are neighbours
    words    the n keys, written across the top; of many, some are left out

    Returns the Figure, and saves it to ``path``. Raises ValueError if the words do not
    fit the weights.
    """
    weights = _array(weights)
    if weights.ndim != 3 or weights.size == 0:
        raise ValueError(
            f"heads_heatmap: weights has shape {weights.shape}; expected "
            "(layers, H, n), none of them zero."
        )
    layers, H, n = weights.shape
    words = _words("heads_heatmap", "words", words, n, f"weights {weights.shape} has keys")
    height, across = np.clip(0.036 * layers * H, 2, 12), np.clip(0.2 * n, 2.4, 9)
    above = 0.09 * max(map(_width, words))
    figure = new_figure((across + 1.9, height + above + 1.0))
    panel = figure.subplots()
    rows = weights.reshape(layers * H, n)
    image = _draw(panel, rows, _scale(rows), aspect="auto")
    shown = range(0, n, -(-n // 45))
    _words_above(panel, shown, [words[j] for j in shown], 90)
    middles = (np.arange(layers) + 0.5) * H - 0.5
    every = -(-layers // int(6 * height))
    panel.set_yticks(middles[::every], range(0, layers, every))
    panel.set_xlabel("token that is read")
    panel.set_ylabel(f"layer, with {H} heads")
    for layer in range(1, layers):
        panel.axhline(layer * H - 0.5, color="0.6", linewidth=0.5)
    _set_title(figure, title)
    figure.colorbar(image, ax=panel, label="attention weight", aspect=40, pad=0.02)
    return save(figure, path)


def _array(values):
    """Return the floats of a Tensor, an array or a list as an array."""
    return np.asarray(values.data if isinstance(values, Tensor) else values, float)


def _draw(panel, matrix, scale, cmap="Reds", **options):
    return panel.imshow(matrix, cmap=cmap, interpolation="nearest", **scale, **options)


def _words_above(panel, places, words, rotation):
    panel.xaxis.tick_top()
    panel.xaxis.set_label_position("top")
    panel.set_xticks(places, words, rotation=rotation, ha="center", va="bottom")
    panel.tick_params(length=0)


def _set_title(figure, title):
    if title is not None:
        letters = int(figure.get_figwidth() / 0.11)  # that fit on one line
        figure.suptitle(textwrap.fill(title, letters))


def _scale(values):
    """Return the limits of the colours: 0 to 1, or wider if a value lies outside."""
    finite = values[np.isfinite(values)]
    return {"vmin": finite.min(initial=0), "vmax": finite.max(initial=1)}


def _name_cells(axis, n, words, cell):
    """Write words along an axis of n cells, or at most eight whole numbers."""
    if words is None:
        axis.set_ticks(range(0, n, -(-n // 8)))
        return
    shown = slice(0, n, math.ceil(0.16 / max(cell, 0.01)))
    axis.set_ticks(range(n)[shown], words[shown])
    if axis.axis_name == "x" and 0.1 * max(map(_width, words)) > cell:
        axis.set_tick_params(rotation=90)


def _words(name, argument, words, n, why):
    if isinstance(words, str):
        raise TypeError(
            f"{name}: {argument} is one string, {words!r}; expected a list "
            f"of {n} words. Write {argument}.split() for words, list({argument}) for "
            "letters."
        )
    words = [printable(str(word)) for word in words]
    if len(words) != n:
        raise ValueError(
            f"{name}: {argument} has {len(words)} words; expected {n}, as "
            f"many as {why}."
        )
    return words


def _width(word):
    """Return the width of a word in letters; a Chinese letter is as wide as two."""
    return sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in word)


def _gold_pair(pair, shape):
    t, s = pair
    if not (0 <= t < shape[0] and 0 <= s < shape[1]):
        raise ValueError(
            f"alignment_heatmap: the gold pair ({t}, {s}) lies outside weights "
            f"{shape}; expected (target position, source position), counted from 0."
        )
    return t, s


def _white_lines_between_cells(panel, rows, columns):
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    panel.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    panel.grid(which="minor", color="white", linewidth=1)
    panel.tick_params(which="minor", length=0)


def _write_values(panel, image, weights):
    for (t, s), weight in np.ndenumerate(weights):
        red, green, blue, _ = image.cmap(image.norm(weight))
        dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        panel.text(
            s,
            t,
            short(weight),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark else "black",
        )


def _outline(panel, pairs):
    from matplotlib.patches import Rectangle

    for n, (t, s) in enumerate(pairs):
        panel.add_patch(
            Rectangle(
                (s - 0.45, t - 0.45),
                0.9,
                0.9,
                fill=False,
                edgecolor=GOLD,
                linewidth=2,
                label="gold alignment" if n == 0 else None,
            )
        )
