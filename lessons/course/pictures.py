"""Figures that a learner's functions draw: what they contain, and where they are."""

import re

import numpy as np

from ..classroom.catalogue import find, work_folder
from ..classroom.journal import write
from ..classroom.terminal import display_path
from ..pages import figures
from .outcome import CheckFailed
from minigrad.draw.figure import new_figure

new_figure((1, 1))  # loads matplotlib, before the clock of a check starts


def drawn(my, name, size, *args):
    """Call the learner's function ``name``(fig, …) with an empty figure; return it."""
    fig = new_figure(size, layout="constrained")
    getattr(my.only, name)(fig, *args)
    my.holds(
        name,
        any(ax.has_data() for ax in fig.axes),
        "a drawing in the figure that is the argument fig",
        "none: fig.subplots() returns axes of this figure",
        "empty-figure",
    )
    return fig


def keep(my, fig, ending=""):
    """Write a figure into the learner's folder, and print where."""
    exercise = find(my.id)
    if my.path == str(exercise.work):
        path = work_folder() / "figures" / f"{exercise.stem}{ending}.svg"
        write(path, figures.render(fig))
        print(f"look at {display_path(path)}")


def panels(fig):
    """Return the axes of a figure, without those of colour bars."""
    return [ax for ax in fig.axes if ax.get_label() != "<colorbar>"]


def lines(fig):
    """Return (x, y, label) of all curves in a figure, also of horizontal lines.

    The label is what the legend shows; where it shows a curve twice or not at all, it
    is the label of the curve.
    """
    found = []
    for ax in panels(fig):
        legend = ax.get_legend()
        rows = zip(legend.legend_handles, legend.get_texts()) if legend else ()
        shown = [(_look(handle), text.get_text()) for handle, text in rows]
        looks = [look for look, _ in shown]
        texts = {look: text for look, text in shown if looks.count(look) == 1}
        for line in ax.lines:
            x, y = (np.asarray(v, float) for v in line.get_data())
            found.append((x, y, texts.get(_look(line), line.get_label())))
    return found


def _look(line):
    names = "color", "linestyle", "marker"
    return tuple(str(getattr(line, f"get_{name}", str)()) for name in names)


def images(fig):
    """Return (array, (least, largest) of its colours, title) of each image."""
    found = []
    for ax in panels(fig):
        for image in ax.images:
            array = np.asarray(image.get_array(), float)
            found.append((array, image.get_clim(), ax.get_title()))
        for mesh in ax.collections:  # of pcolormesh
            array = mesh.get_array()
            if array is not None and np.ndim(array) == 2:
                found.append((np.asarray(array), mesh.get_clim(), ax.get_title()))
    return found


def has_curve(fig, x, y, what, words=""):
    """Fail unless a curve has these points, and a label that contains ``words``."""
    for a, b, label in lines(fig):
        if a.shape == np.shape(x) and np.allclose(a, x) and np.allclose(b, y):
            if re.search(words, label.lower()):
                return
            text = f"expected a label that names the curve of {what}", f"found {label!r}"
            raise CheckFailed("unlabelled", *text)
    for a, b, _ in lines(fig):
        if a.shape == np.shape(y) and np.allclose(a, y) and np.allclose(b, x):
            text = "found it with the two axes exchanged"
            raise CheckFailed("axes-exchanged", f"expected a curve of {what}", text)
    raise CheckFailed("curves", f"expected a curve of {what}", _found(fig))


def has_level(fig, y, what):
    """Fail unless the figure has a horizontal line at y."""
    if not any(np.allclose(b, y) and len(b) > 1 for _, b, _ in lines(fig)):
        text = f"expected a horizontal line at {what}", _found(fig)
        raise CheckFailed("no-level", *text)


def is_labelled(fig, x, y, scales=None):
    """Fail unless the axes of curves have labels, and the curves a legend.

    x, y     patterns of which the labels contain one
    scales   of both axes: ("log", "linear")
    """
    for ax in panels(fig):
        if not ax.lines:
            continue
        if not (re.search(x, ax.get_xlabel(), 2) and re.search(y, ax.get_ylabel(), 2)):
            text = f"found {ax.get_xlabel()!r} and {ax.get_ylabel()!r}"
            names = "expected labels that name what both axes show"
            raise CheckFailed("unlabelled", names, text)
        if len(ax.lines) > 1 and ax.get_legend() is None:
            raise CheckFailed("unlabelled", "expected a legend", "found none")
        found = ax.get_xscale(), ax.get_yscale()
        if scales and found != scales:
            text = f"expected the axes x and y to be {' and '.join(scales)}"
            raise CheckFailed("scales", text, f"found {' and '.join(found)}")


def has_image(fig, array, what):
    """Return (limits of colour, title) of the image of an array; fail without one.

    Of several that are close to it, as two with nearly all weight on the diagonal are,
    it is the closest.
    """
    found = images(fig)
    same = [each for each in found if each[0].shape == array.shape]
    if near := [each for each in same if np.allclose(each[0], array)]:
        _, limits, title = min(near, key=lambda each: np.abs(each[0] - array).max())
        return limits, title
    for shown, _, _ in found:
        if shown.shape == array.T.shape and np.allclose(shown, array.T):
            text = f"expected an image of {what}", "found it transposed"
            raise CheckFailed("transposed", *text)
    text = f"expected an image of {what}", f"found {len(found)} others"
    raise CheckFailed("no-image", *text)


def _found(fig):
    names = []
    for _, y, label in lines(fig):
        is_level = len(y) and np.all(y == y[0])
        what = f"a level at {y[0]:.4g}" if is_level else f"{len(y)} points"
        names.append(f"{label!r}, {what}")
    return f"found {'; '.join(names) or 'no curve'}"
