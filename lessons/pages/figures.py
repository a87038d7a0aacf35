"""Figures of the lessons, readable on light and dark pages.

    fig, ax = figure("Does the entropy fall?")
    ax.plot(d, entropy, label="unscaled")
    show(fig, "entropy", alt="Entropy against d: it falls from ... to ...")

A lesson that runs writes its figures to the learner's folder; in a notebook they
appear where they are made. A lesson that is woven writes them to ``figures/`` beside
it.
"""

import base64
import builtins
import contextlib
import contextvars
import io
import pathlib
import re
import sys
from dataclasses import dataclass
from typing import Callable

import numpy as np

from minigrad.draw.colours import BLUE, COLOURS, GREEN, GREY, ORANGE, PURPLE, RED  # noqa: F401
from minigrad.draw.figure import new_figure

from ..classroom.catalogue import work_folder
from ..classroom.terminal import display_path
from .frames import ONE_FRAME, every_frame, hover_data, merged, with_data
from .raster import as_png

SHORTEST_ALT = 30  # letters


def figure(title, rows=1, columns=1, size=None, **options):
    """Return an empty figure and its axes: a question as title, a grid of panels.

    size      (width, height) in inches; 7.2 wide unless said otherwise
    options   as for Figure.subplots: sharex, sharey, squeeze, width_ratios, ...
    """
    neutral_style()
    fig = new_figure(size or (7.2, 0.4 + 2.8 * rows), layout="constrained")
    fig.suptitle(title)
    return fig, fig.subplots(rows, columns, **options)


WIDTH, HEIGHT = 0.8, 0.5  # of a box in a diagram


def diagram(size, x, y):
    """Return a figure of (width, height) inches, and axes without ticks.

    x, y   (least, greatest) of the part of the plane that is shown; one unit is about
           the width of a box
    """
    fig, ax = figure(None, size=size)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set(xlim=x, ylim=y)
    return fig, ax


def box(ax, centre, text, colour=GREY, width=WIDTH, height=HEIGHT, below=""):
    """Draw a rounded box around a text; ``below`` stands under it."""
    from matplotlib.patches import FancyBboxPatch

    x, y = centre
    corner = x - width / 2, y - height / 2
    look = {"boxstyle": "round,pad=0,rounding_size=0.1", "ec": colour, "lw": 1.6}
    ax.add_patch(FancyBboxPatch(corner, width, height, fill=False, **look))
    ax.text(x, y, text, ha="center", va="center", fontsize=10)
    if below:
        ax.text(x, y - height / 2 - 0.12, below, ha="center", va="top", fontsize=10)


def arrow(ax, start, end, colour=GREY, weight=0.3, bend=0.0):
    """Draw an arrow; its width grows with the weight, between 0 and 1."""
    style = {
        "arrowstyle": "-|>", "mutation_scale": 9, "lw": 0.6 + 4 * weight,
        "color": colour, "shrinkA": 0, "shrinkB": 0,
        "connectionstyle": f"arc3,rad={bend}",
    }  # fmt: skip
    ax.annotate("", xy=end, xytext=start, arrowprops=style)


def weight_label(ax, x, y, weight, side):
    """Write a weight at the left (``side`` -1) or right (1) of its arrow."""
    ha = "left" if side > 0 else "right"
    ax.text(x + 0.12 * side, y, f"{weight:.2f}", fontsize=9, ha=ha, va="bottom")


def show(fig, name, alt, frames=None, start=None, hover=None):
    """Put a figure on the page at this place.

    fig      a matplotlib Figure, from ``figure`` or from the library's own plots; with
             frames a function from a value of each parameter to (Figure, sentence), which
             says what this frame shows, with numbers; a third result is its ``hover``
    name     of its file: small letters, digits and hyphens
    alt      a sentence that says, with numbers, what is shown and what to see: the
             caption under the figure, which also serves readers who cannot see it
    frames   {parameter: values}, in words: the sliders on the site
    start    the frame that page, notebook and terminal show, a value of each parameter;
             by default the last
    hover    {axes: (words of the rows, words of the columns, numbers)}: what the site
             reads out; the labels of the axes name rows and columns
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ValueError(
            f"show: the name of a figure is {name!r}; expected small letters, digits "
            "and hyphens."
        )
    alt = " ".join(str(alt).split())
    if len(alt) < SHORTEST_ALT or set(alt) & set("[]"):
        raise ValueError(
            f"show: the alt text of figure {name!r} is {alt!r}; expected a sentence of "
            f"{SHORTEST_ALT} letters or more, without square brackets, that describes "
            "the figure."
        )
    _check_motion(fig, name, frames, start, hover or {})
    moving = None
    if frames:
        values = every_frame(frames)
        moving = Moving(fig, frames, values.index(start or values[-1]))
        fig, *_ = fig(*values[moving.start])
        alt += moving.note()
    gallery = _current.get()
    if gallery is None and hasattr(builtins, "display"):  # a notebook shows it
        for data in as_outputs(render(fig).decode(), alt):
            builtins.display(data, raw=True)
        return
    if gallery is None:
        script = pathlib.Path(sys._getframe(1).f_globals.get("__file__", "lesson.py"))
        gallery = Gallery(readers_figures(script.resolve().parent))
    gallery.take(fig, name, alt, moving, hover)


def _check_motion(fig, name, frames, start, hover):
    """Raise ValueError if the frames, the start or the cells do not fit the figure."""

    def refuse(found, expected):
        raise ValueError(f"show: figure {name!r} has {found}; expected {expected}.")

    if callable(fig) != bool(frames):
        found = "a function without frames=" if callable(fig) else "frames= of a Figure"
        refuse(found, "a Figure alone, or a function with frames=")
    if start is not None and not frames:
        refuse("start= without frames=", "both or none")
    if start is not None and start not in (values := every_frame(frames)):
        refuse(f"start={start!r}", f"the values of a frame, such as {values[-1]}")
    if frames and hover:
        refuse("frames= and hover=", "one of the two")
    for rows, columns, numbers in hover.values():
        words, shape = (len(rows), len(columns)), np.shape(numbers)
        if words != shape:
            found = f"hover= with numbers {shape} and words for {words}"
            refuse(found, "as many words as rows and columns")


def run_curves(ax, record, looks):
    """Draw the figure of each run of a comparison against its steps.

    record   of ``fair.run``
    looks    {arm: (colour, line style)}, the arms to draw; each has one label, and one
             without runs is left out
    """
    for arm, (colour, style) in looks.items():
        for run in (run for run in record["runs"] if run["arm"] == arm):
            steps = record["every"] * np.arange(1, len(run["curve"]) + 1)
            label = arm if run["seed"] == record["seeds"][0] else None
            ax.plot(steps, run["curve"], style, color=colour, lw=1, label=label)


def as_outputs(svg, caption):
    """Return what a notebook shows: a figure, also as PNG, and below it the caption."""
    png = base64.b64encode(as_png(svg)).decode()
    return (
        {"image/svg+xml": svg, "image/png": png, "text/plain": "(a figure)"},
        {"text/markdown": f"*{caption}*", "text/plain": caption},
    )


def neutral_style():
    """Draw from now on, in the library too, in colours for light and dark pages."""
    import matplotlib.style

    gallery = _current.get()
    if gallery is None:
        matplotlib.style.use(_style())
    elif not gallery.styled:
        gallery.styled = True
        gallery.undo.enter_context(matplotlib.style.context(_style()))


def readers_figures(folder):
    """Return the folder for the figures of a reader's own runs of a lesson."""
    return work_folder() / "figures" / folder.name


@dataclass
class Picture:
    """A figure as it was shown; ``svg`` is None if it was not drawn."""

    name: str
    title: str  # the question above it, or its name
    caption: str
    svg: bytes | None


@dataclass
class Moving:
    """A figure of several frames: its function, its parameters, the frame it shows."""

    draw: Callable
    parameters: dict
    start: int

    def note(self):
        """Return the end of the caption, for readers who see one frame."""
        values = every_frame(self.parameters)[self.start]
        here = (f"{name}: {value}" for name, value in zip(self.parameters, values))
        return ONE_FRAME.format(", ".join(here))

    def render(self):
        """Return one SVG with all frames, their sentences and the words of sliders."""
        drawn = [self.draw(*values) for values in every_frame(self.parameters)]
        svg = merged([render(fig).decode() for fig, *_ in drawn], self.start)
        words = [[k, [*map(str, values)]] for k, values in self.parameters.items()]
        counts = [len(values) for values in self.parameters.values()]
        start = np.unravel_index(self.start, counts)
        sentences = [" ".join(said.split()) for _, said, *_ in drawn]
        data = {"sliders": words, "start": [*map(int, start)], "sentences": sentences}
        cells = [hover_data(fig, *hover)[0] for fig, _, *hover in drawn if hover]
        if cells:
            data["hover"] = [cells[self.start] | {"name": ""}]  # not of all frames
            data["values"] = [[*map(" ".join, each["values"])] for each in cells]
        return with_data(svg, data).encode()


class Gallery:
    """The figures of one run of a lesson.

    folder   write each figure there at once and print its path; None: keep them
    draw     make the SVG
    """

    def __init__(self, folder=None, draw=True):
        self.folder, self.draw = folder, draw
        self.pictures = {}
        self.styled, self.undo = False, contextlib.ExitStack()

    def __enter__(self):
        token = _current.set(self)
        self.undo.callback(_current.reset, token)
        return self

    def __exit__(self, *exc):
        self.undo.close()

    def take(self, fig, name, caption, moving=None, hover=None):
        if name in self.pictures:
            raise ValueError(f"show: there are two figures named {name!r}.")
        svg = None
        if moving and self.draw and not self.folder:
            svg = moving.render()
        elif self.draw or self.folder:
            svg = render(fig)
            if hover:
                data = {"hover": hover_data(fig, hover)}
                svg = with_data(svg.decode(), data).encode()
        title = fig.get_suptitle() or name.replace("-", " ")
        self.pictures[name] = Picture(name, title, caption, svg)
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{name}.svg"
            path.write_bytes(svg)
            print(f"figure: {display_path(path)}")


_current = contextvars.ContextVar("gallery", default=None)


def render(fig):
    """Return the figure as SVG: no date, no version, the same ids each time."""
    import matplotlib.style

    out = io.BytesIO()
    with matplotlib.style.context(_style()):
        fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    lines = out.getvalue().decode().splitlines()
    return ("\n".join(line.rstrip() for line in lines) + "\n").encode()


def svg_of(make, *arguments):
    """Return the figure that ``make`` draws, as SVG; restore the style afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        return render(make(*arguments))


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
