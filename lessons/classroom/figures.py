"""Figures of the lessons: neutral on light and dark, and the same at every weaving.

    fig, ax = figure("Does the entropy fall?")
    ax.plot(d, entropy, label="unscaled")
    show(fig, "entropy", alt="Entropy against d: it falls from ... to ...")

Run by itself, a lesson writes its figures to the learner's folder. Woven, they go to
``figures/`` beside it, and ``digest.json`` keeps what was plotted: for each curve the
number of values, their range, and a hash of them rounded to six digits of the largest.
It is this that is compared with a later run, never pixels.
"""

import contextlib
import contextvars
import hashlib
import io
import pathlib
import re
import sys
from dataclasses import dataclass

import numpy as np

from .paths import shown, work_folder

GREY = "#7d8590"  # words and axes: readable on white and on near black
BLUE, ORANGE, GREEN, PURPLE, RED = (
    "#3f8fd2", "#d9771a", "#35a162", "#a371e0", "#dc4c4c",
)  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED)
SHORTEST_ALT = 30  # letters


def figure(title, rows=1, columns=1, size=None, **options):
    """An empty figure and its axes: a question as ``title``, and a grid of panels.

    size      (width, height) in inches; 7.2 wide unless said otherwise
    options   as for Figure.subplots: sharex, sharey, squeeze, width_ratios, ...
    """
    neutral_style()
    from matplotlib.figure import Figure

    fig = Figure(figsize=size or (7.2, 0.4 + 2.8 * rows), layout="constrained")
    fig.suptitle(title)
    return fig, fig.subplots(rows, columns, **options)


def show(fig, name, alt):
    """Put a figure on the page, here.

    fig    a matplotlib Figure, from ``figure`` or from the library's own plots
    name   of its file: small letters, digits and hyphens
    alt    what is to be seen, for those who do not see it: a sentence with the numbers
           that matter
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ValueError(
            f"show: a figure is named in small letters, digits and hyphens, and not "
            f"{name!r}."
        )
    alt = " ".join(str(alt).split())
    if len(alt) < SHORTEST_ALT or set(alt) & set("[]"):
        raise ValueError(
            f"show: the alt text of figure {name!r} is {alt!r}; expected a sentence of "
            f"{SHORTEST_ALT} letters or more, without square brackets, that says what "
            "is to be seen."
        )
    gallery = _current.get()
    if gallery is None:
        script = pathlib.Path(sys._getframe(1).f_globals.get("__file__", "lesson.py"))
        gallery = Gallery(readers_figures(script.resolve().parent))
    gallery.take(fig, name, alt)


def neutral_style():
    """Make what is drawn from now on, by the library too, neutral on light and dark."""
    import matplotlib.style

    gallery = _current.get()
    if gallery is None:
        matplotlib.style.use(_style())
    elif not gallery.dressed:
        gallery.dressed = True
        gallery.undo.enter_context(matplotlib.style.context(_style()))


def readers_figures(folder):
    """Where a reader's own runs of the lesson in ``folder`` put its figures."""
    work = work_folder()
    work.mkdir(parents=True, exist_ok=True)
    if not (work / ".gitignore").exists():  # whatever is in there, git does not see it
        (work / ".gitignore").write_text("*\n")
    return work / "figures" / folder.name


@dataclass
class Picture:
    """A figure as it was shown. ``svg`` is None where nothing was to be drawn."""

    name: str
    alt: str
    digest: dict
    svg: bytes | None


class Gallery:
    """Takes the figures of one run of a lesson.

    folder   write each figure there at once and say so; None: keep them
    draw     make the SVG, or only the digest
    """

    def __init__(self, folder=None, draw=True):
        self.folder, self.draw = folder, draw
        self.pictures = {}
        self.dressed, self.undo = False, contextlib.ExitStack()

    def __enter__(self):
        token = _current.set(self)
        self.undo.callback(_current.reset, token)
        return self

    def __exit__(self, *exc):
        self.undo.close()

    def take(self, fig, name, alt):
        if name in self.pictures:
            raise ValueError(f"show: there are two figures named {name!r}.")
        svg = render(fig) if self.draw or self.folder else None
        self.pictures[name] = Picture(name, alt, digest(fig), svg)
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{name}.svg"
            path.write_bytes(svg)
            print(f"figure: {shown(path)}")


_current = contextvars.ContextVar("gallery", default=None)


def render(fig):
    """The figure as SVG: no date, no version, the same ids each time."""
    import matplotlib.style

    out = io.BytesIO()
    with matplotlib.style.context(_style()):
        fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    lines = out.getvalue().decode().splitlines()
    return ("\n".join(line.rstrip() for line in lines) + "\n").encode()


def rendered(make, *arguments):
    """What ``make`` draws of the arguments, as SVG; its style ends with it."""
    import matplotlib

    with matplotlib.rc_context():
        return render(make(*arguments))


def digest(fig):
    """{what: "n values, least to largest, hash"} of all that is plotted, in order."""
    found = {}
    for a, ax in enumerate(fig.axes):
        if ax.get_label() == "<colorbar>":
            continue
        for kind, artist, arrays in _artists(ax):
            label = artist.get_label()
            label = "" if str(label).startswith("_") else f" {label!r}"
            key = f"panel {a}, {kind}{label}"
            while key in found:
                key += "'"
            found[key] = "; ".join(summary(each) for each in arrays)
    return found


def summary(array):
    """Length, range and hash of an array, rounded to six digits of its largest."""
    array = np.ma.filled(np.ma.asarray(array, float), np.nan)
    largest = np.abs(array[np.isfinite(array)]).max(initial=0)
    digits = 6 - int(np.ceil(np.log10(largest))) if largest else 6
    rounded = np.round(array, digits) + 0.0  # no minus before a zero
    rounded[np.isnan(rounded)] = np.nan  # one NaN, of the many there are
    code = hashlib.sha256(rounded.astype("<f8").tobytes()).hexdigest()[:12]
    finite = rounded[np.isfinite(rounded)]
    if not finite.size:
        return f"{array.size} values, {code}"
    return f"{array.size} values, {finite.min():.5g} to {finite.max():.5g}, {code}"


def _artists(ax):
    """(kind, artist, arrays) of everything in a panel that shows numbers."""
    for line in ax.lines:
        yield "line", line, line.get_xydata().T
    for image in ax.images:
        yield "image", image, [image.get_array()]
    for patch in ax.patches:
        path = patch.get_patch_transform().transform_path(patch.get_path())
        yield "shape", patch, [path.vertices]
    for collection in ax.collections:
        paths = [path.vertices for path in collection.get_paths()]
        arrays = [collection.get_offsets(), *paths]
        if collection.get_array() is not None:
            arrays.append(collection.get_array())
        yield "marks", collection, arrays


def _style():
    from matplotlib import cycler

    grey = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color",
         "ytick.color", "grid.color", "legend.labelcolor"), GREY,
    )  # fmt: skip
    clear = dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none")
    return [
        "default",
        grey
        | clear
        | {
            "savefig.transparent": True,
            "svg.fonttype": "path",
            "svg.hashsalt": "lessons",
            "font.size": 9,
            "axes.titlesize": 9.5,
            "figure.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "lines.markersize": 4.5,
            "axes.prop_cycle": cycler(color=COLOURS),
        },
    ]
