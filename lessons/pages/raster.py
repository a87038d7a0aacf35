"""Draw a figure that matplotlib wrote as SVG again, as PNG.

A notebook from another machine shows a PNG at once, and an SVG only when its reader
trusts it. This module draws what matplotlib writes: paths, copies of them, images,
rectangles that clip, hatches, and transforms.
"""

import base64
import functools
import io
import math
import re
from xml.etree import ElementTree

import numpy as np

SCALE = 4 / 3  # pixels in a point, as in a browser
LINK = "{http://www.w3.org/1999/xlink}href"
STYLE = {"fill": "#000000", "stroke": "none", "stroke-linejoin": "round"}


@functools.cache  # drawing takes longer than all else in making a notebook
def as_png(svg):
    """Return the PNG of a figure, as bytes."""
    from matplotlib import image

    out = io.BytesIO()
    drawn = _Drawing(ElementTree.fromstring(svg)).agg.buffer_rgba()
    image.imsave(out, np.asarray(drawn), format="png")
    return out.getvalue()


class _Drawing:
    """The pixels of an SVG, whose elements are drawn in their order."""

    def __init__(self, root):
        from matplotlib.backends.backend_agg import RendererAgg

        width, height = (float(x) for x in root.get("viewBox").split()[2:])
        self.agg = RendererAgg(round(SCALE * width), round(SCALE * height), 72 * SCALE)
        self.named = {e.get("id"): e for e in root.iter()}
        # in SVG, y points down
        self.draw(root, _matrix(f"scale({SCALE} -{SCALE}) translate(0 -{height})"))

    def draw(self, element, matrix, style=STYLE):
        """Draw an element and those in it; ``matrix`` maps their points to pixels."""
        kind = element.tag.rpartition("}")[2]
        style = style | dict(re.findall(r"([\w-]+): ([^;]+)", element.get("style", "")))
        if clip := element.get("clip-path"):
            style |= {"clip": _box(self._found(clip)[0], matrix)}
        matrix = matrix @ _matrix(element.get("transform", ""))
        if kind == "path" and element.get("d"):
            self._path(_path(element.get("d")), matrix, style)
        elif kind == "image":
            self._image(element, matrix, style)
        elif kind == "use":
            moved = _matrix(f"translate({element.get('x', 0)} {element.get('y', 0)})")
            self.draw(self._found(element.get(LINK)), matrix @ moved, style)
        elif kind in ("svg", "g"):
            for child in element:
                self.draw(child, matrix, style)

    def _path(self, path, matrix, style):
        from matplotlib.transforms import Affine2D

        context = self._context(style)
        face, line = (_colour(style, what) for what in ("fill", "stroke"))
        context.set_linewidth(float(style.get("stroke-width", 1)) if line else 0)
        context.set_foreground(line or "none", isRGBA=bool(line))
        if style["fill"].startswith("url"):
            hatch = _path(self._found(style["fill"]).find("{*}path").get("d"))
            unit = Affine2D().scale(1 / 72, -1 / 72).translate(0, 1)  # an inch of it
            hatch = unit.transform_path(hatch)
            context.get_hatch_path = lambda density=0: hatch
            context.set_hatch_color(line)
        self.agg.draw_path(context, path, Affine2D(matrix), face)

    def _image(self, element, matrix, style):
        from matplotlib import image

        data = base64.b64decode(element.get(LINK).partition(",")[2])
        values = image.imread(io.BytesIO(data))
        (left, low), (right, high) = np.rint(_box(element, matrix)).astype(int)
        rows, columns = (
            np.arange(pixels) * n // pixels  # the value that each pixel shows
            for pixels, n in zip((high - low, right - left), values.shape)
        )
        # matplotlib writes the lowest row first
        values = np.uint8(255 * values[rows][:, columns])
        self.agg.draw_image(self._context(style), left, low, values)

    def _context(self, style):
        """Return how and where lines are drawn, as matplotlib describes it."""
        from matplotlib.transforms import Bbox

        context, cap = self.agg.new_gc(), style.get("stroke-linecap", "butt")
        context.set_capstyle(cap.replace("square", "projecting"))
        context.set_joinstyle(style["stroke-linejoin"])
        if dashes := style.get("stroke-dasharray"):
            lengths = [float(x) for x in dashes.split(",")]
            context.set_dashes(float(style["stroke-dashoffset"]), lengths)
        if "clip" in style:
            context.set_clip_rectangle(Bbox(style["clip"]))
        return context

    def _found(self, link):
        """Return the element of a link, "#name" or "url(#name)"."""
        return self.named[link.partition("#")[2].rstrip(")")]


@functools.cache
def _path(text):
    """Return the path of an attribute ``d``."""
    from matplotlib.path import Path

    codes = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4}
    vertices, found = [], []
    for letter, numbers in re.findall(r"([MLQCz])([^MLQCz]*)", text):
        points = np.array(numbers.split() or [0, 0], float).reshape(-1, 2)
        vertices.extend(points)
        found += [codes.get(letter, Path.CLOSEPOLY)] * len(points)
    return Path(vertices, found)


@functools.cache
def _matrix(text):
    """Return the matrix (3, 3) of an attribute ``transform``, for columns (x, y, 1)."""
    whole = np.eye(3)
    for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", text):
        numbers, step = [float(x) for x in numbers.split()], np.eye(3)
        if name == "translate":
            step[:2, 2] = numbers
        elif name == "scale":
            step[[0, 1], [0, 1]] = numbers
        else:
            c, s = math.cos(math.radians(*numbers)), math.sin(math.radians(*numbers))
            step[:2, :2] = (c, -s), (s, c)
        whole = whole @ step
    return whole


def _box(rectangle, matrix):
    """Return [[left, low], [right, high]] of a rectangle or an image, in pixels."""
    x, y, w, h = (float(rectangle.get(k)) for k in ("x", "y", "width", "height"))
    corners = matrix @ np.array([(x, x + w), (y, y + h), (1, 1)])
    return np.sort(corners[:2].T, axis=0)


def _colour(style, what):
    """Return the colour and opacity of the fill or the stroke; None: not drawn."""
    from matplotlib.colors import to_rgba

    if not style[what].startswith("#"):
        return None
    opacity = float(style.get("opacity", 1)) * float(style.get(f"{what}-opacity", 1))
    return to_rgba(style[what], opacity)
