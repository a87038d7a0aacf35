"""Draw boxes and arrows on matplotlib axes.

All lengths are inches and all font sizes points, in the picture's natural size.
"""

import math

import numpy as np

from .figure import new_figure
from .layering import Arrangement, nearest_ascending

MARGIN, LINE, PAD, GAP = 0.22, 0.158, 0.09, 0.24
ROW_GAP = 0.42
HEAD = 0.09  # the length of an arrow's head
HEADING, LETTERS = 12.5, 8.3
TITLE = "The operations that backward() uses"

INK, MUTED, ARROW = "#1f2430", "#868c97", "#5c6470"
GRADIENT, ALARM = "#a04a00", "#d0021b"  # a gradient; NaN or infinity
STYLES = {  # kind: (fill, border)
    "leaf": ("#fdeccb", "#c98a1b"),
    "constant": ("#f1f1f1", "#a0a0a0"),
    "operation": ("#e2edf8", "#4a7fb5"),
    "result": ("#dbf0df", "#3b8a4e"),
}


class Picture:
    """Boxes and their positions; ``width`` and ``height`` are known before drawing."""

    def __init__(self, boxes, remark=""):
        self.boxes = boxes
        self.lines = [_lines(box) for box in boxes]
        self.notes = _notes(boxes, remark)
        self.kinds = [kind for kind in STYLES if any(b.kind == kind for b in boxes)]
        self.widths = [_width(lines) for lines in self.lines]
        self.heights = [LINE * len(lines) + 2 * PAD for lines in self.lines]
        plan = Arrangement([box.inputs for box in boxes], self.widths, GAP)
        self.plan = plan

        texts = [(note, LETTERS) for note in self.notes] + [(TITLE, HEADING)]
        content = max(plan.width, *(_text_width(*text) for text in texts))
        self.width = content + 2 * MARGIN
        left = (self.width - plan.width) / 2
        self.x = {item: x + left for item, x in plan.x.items()}
        y = MARGIN + 0.48 + 0.17 * len(self.notes)
        self.top, self.bottom = [], []  # of every row, measured downwards
        for row in plan.rows:
            self.top.append(y)
            y += max((self.heights[v] for v in row if type(v) is int), default=0)
            self.bottom.append(y)
            y += ROW_GAP
        self.height = y + MARGIN

    def axes(self):
        """Return axes that fill a new figure of the picture's natural size."""
        figure = new_figure((self.width, self.height), dpi=100, facecolor="white")
        return figure.add_axes((0, 0, 1, 1))

    def draw(self, ax):
        """Draw on ``ax``, which is emptied; scaled to its size."""
        ax.clear()
        ax.set_axis_off()
        ax.set(xlim=(0, self.width), ylim=(self.height, 0), aspect="equal")
        space = ax.get_window_extent()
        scale = min(space.width / self.width, space.height / self.height)
        self.ax, self.scale = ax, scale / ax.figure.dpi
        self._text(MARGIN, MARGIN + 0.13, TITLE, HEADING, weight="bold")
        for i, note in enumerate(self.notes):
            self._text(MARGIN, MARGIN + 0.39 + 0.17 * i, note, color=MUTED)
        for v in range(len(self.boxes)):
            self._draw_arrows(v)
            self._draw_box(v)
        y = self.bottom[-1] + 0.35
        for i, kind in enumerate(self.kinds):
            x = MARGIN + 0.95 * i
            self._rectangle(x, y - 0.06, 0.14, 0.12, kind, 0.02)
            self._text(x + 0.2, y, kind, color=MUTED)

    def _draw_box(self, v):
        left, y = self.x[v] - self.widths[v] / 2, self.top[self.plan.row[v]]
        kind = self.boxes[v].kind
        self._rectangle(left, y, self.widths[v], self.heights[v], kind, 0.05)
        right = left + self.widths[v] - PAD
        y += PAD + LINE / 2
        for i, (name, text, first, second) in enumerate(self.lines[v]):
            weight = "normal" if i else "bold"
            mono = {"family": "DejaVu Sans Mono"}
            self._text(left + PAD, y, name, color=first, weight=weight, **mono)
            self._text(right, y, text, color=second, ha="right", **mono)
            y += LINE

    def _draw_arrows(self, v):
        """Draw an arrow for every input, sorted by the position where it starts."""
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        if not self.boxes[v].inputs:
            return
        paths = [self.plan.path(u, v) for u in self.boxes[v].inputs]
        paths.sort(key=lambda path: self.x[path[-2]])
        top = self.top[self.plan.row[v]]
        for path, end in zip(paths, self._ends(v, [self.x[p[-2]] for p in paths])):
            dashed = self.boxes[path[0]].kind == "constant"
            color = MUTED if dashed else ARROW
            points, codes = self._curve(path, end)
            line = PathPatch(
                Path(points, codes),
                fill=False,
                linewidth=self.scale,
                linestyle=(0, (4, 2.5)) if dashed else "-",
                color=color,
                zorder=1,
            )
            back, side = top - HEAD, 0.4 * HEAD
            head = [(end, top), (end - side, back), (end + side, back)]
            self.ax.add_patch(line)
            self.ax.add_patch(Polygon(head, color=color, linewidth=0, zorder=1))

    def _ends(self, v, starts):
        """Return the x where each arrow reaches the box.

        It is below the start of the arrow if possible, with a distance between arrows.
        """
        half = 0.42 * self.widths[v]
        apart = np.arange(len(starts)) * min(0.2, 2 * half / max(len(starts) - 1, 1))
        low, high = self.x[v] - half, self.x[v] + half - apart[-1]
        wanted = np.clip(starts - apart, low, high)
        return nearest_ascending(wanted, np.ones(len(starts))) + apart

    def _curve(self, path, end):
        """Return points and codes of a line from under a box to the top of another.

        It curves between two rows and runs straight down within a row.
        """
        from matplotlib.path import Path

        x, r = self.x[path[0]], self.plan.row[path[0]]
        points = [(x, self.top[r] + self.heights[path[0]]), (x, self.bottom[r])]
        codes = [Path.MOVETO, Path.LINETO]
        for item in path[1:]:
            y, r = self.bottom[r], r + 1
            last = item == path[-1]
            x1, y1 = (end, self.top[r] - HEAD) if last else (self.x[item], self.top[r])
            points += [(x, (y + y1) / 2), (x1, (y + y1) / 2), (x1, y1)]
            points += [(x1, y1 if last else self.bottom[r])]
            codes += 3 * [Path.CURVE4] + [Path.LINETO]
            x = x1
        return points, codes

    def _rectangle(self, x, y, width, height, kind, radius):
        from matplotlib.patches import FancyBboxPatch

        fill, border = STYLES[kind]
        self.ax.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle=f"round,pad=0,rounding_size={radius}",
                facecolor=fill,
                edgecolor=border,
                linewidth=(1.6 if kind == "result" else 1.0) * self.scale,
                zorder=2,
            )
        )

    def _text(self, x, y, text, size=LETTERS, family="DejaVu Sans", **options):
        options = {"color": INK, "va": "center_baseline", **options}
        size *= self.scale
        self.ax.text(
            x, y, text, size=size, family=family, parse_math=False, zorder=3, **options
        )


def _lines(box):
    """Return the lines of a box: (left, right, colour of left, colour of right)."""
    if isinstance(box.shape, list):
        return [(_cut(box.title), f"{len(box.shape)} outputs", INK, MUTED)]
    shape = "" if box.shape == () else str(box.shape)
    value, grad = "value", "grad"
    if math.prod(box.shape) != 1:
        value, grad = "‖value‖", "‖grad‖"
    lines = [(_cut(box.title), shape, INK, MUTED)]
    if box.value is None:
        lines.append(("value", "not kept", MUTED, MUTED))
    else:
        lines.append((value, *_number(box.value, INK)))
    if box.gradient is not None:
        lines.append((grad, *_number(box.gradient, GRADIENT)))
    return lines


def _number(x, color):
    color = color if math.isfinite(abs(x)) else ALARM
    return f"{x:.4g}", color, color


def _notes(boxes, remark):
    notes = ["Arrows go from inputs to outputs; backward() goes the other way."]
    arrays = [box for box in boxes if type(box.shape) is tuple]
    if any(math.prod(box.shape) != 1 for box in arrays):
        notes.append("‖value‖ and ‖grad‖ are norms: the root of the sum of squares.")
    if any(box.kind == "constant" for box in boxes):
        notes.append("Dashed: no gradient goes back.")
    if any(box.value is None for box in arrays):
        notes.append("Not kept: an intermediate result without a name, see names=.")
    return [*notes, remark] if remark else notes


def _width(lines):
    texts = max(len(left) + len(right) for left, right, _, _ in lines)
    return max(_text_width("m" * (texts + 2), LETTERS) + 2 * PAD, 0.9)


def _text_width(text, size):
    """Return inches: each letter of DejaVu Sans Mono takes 0.602 of the font's size.

    Sentences in DejaVu Sans are narrower than that.
    """
    return 0.602 * size / 72 * len(text)


def _cut(text, length=24):
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
