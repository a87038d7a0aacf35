"""Draw boxes and arrows on matplotlib axes.

All lengths are inches, all font sizes points, of a picture in its natural size, which
is about eight inches wide at most: 800 pixels at 100 dots an inch.
"""

import math

import numpy as np

from .layering import Arrangement, nearest_ascending

WIDTH, MARGIN = 8.0, 0.22
LINE, PAD, GAP = 0.158, 0.09, 0.24
HEAD = 0.09  # the length of an arrow's head
HEADING, LETTERS = 12.5, 8.3

INK, MUTED, ARROW = "#1f2430", "#868c97", "#5c6470"
GRADIENT, ALARM = "#a04a00", "#d0021b"  # a gradient; NaN or infinity
STYLES = {  # kind: (fill, border, words of the legend)
    "leaf": ("#fdeccb", "#c98a1b", "leaf"),
    "constant": ("#f1f1f1", "#a0a0a0", "constant"),
    "operation": ("#e2edf8", "#4a7fb5", "operation"),
    "result": ("#dbf0df", "#3b8a4e", "result"),
}


class Picture:
    """Boxes and their positions; ``width`` and ``height`` are known before drawing."""

    def __init__(self, boxes, question, remark=""):
        self.boxes = boxes
        self.texts = [_texts(box) for box in boxes]
        self.question, self.notes = question, _notes(boxes, remark)
        widths = [_width(title, lines) for title, lines in self.texts]
        self.widths = widths
        self.heights = [LINE * (1 + len(lines)) + 2 * PAD for _, lines in self.texts]
        inputs = [box.inputs for box in boxes]
        self.plan = Arrangement(inputs, widths, GAP, WIDTH - 2 * MARGIN)
        self._measure()

    def _measure(self):
        """Fix the size of the picture, the height of every row and every middle."""
        plan = self.plan
        heading = _text_width(self.question, HEADING, "bold")
        words = max(_text_width(note, LETTERS) for note in self.notes)
        self.width = max(plan.width, heading, words) + 2 * MARGIN
        shift = (self.width - plan.width) / 2 - plan.left
        self.x = {item: place + shift for item, place in plan.x.items()}
        self.legend = self._lay_out_legend()
        y = MARGIN + 0.30 + 0.17 * len(self.notes) + 0.18
        self.top, self.bottom = [], []  # of every row, measured downwards
        for r, row in enumerate(plan.rows):
            tallest = max((self.heights[v] for v in row if type(v) is int), default=0)
            if r:
                y += self._gap_above(row)
            self.top.append(y)
            y += tallest
            self.bottom.append(y)
        self.height = y + 0.25 + 0.2 * (self.legend[-1][1] + 1) + MARGIN / 2

    def _gap_above(self, row):
        """Return a larger gap where lines go far to the side, so that they are steep."""
        reach = max(
            (abs(self.x[i] - self.x[j]) for i in row for j in self.plan.above[i]),
            default=0,
        )
        return min(0.34 + 0.06 * reach, 0.7)

    def _lay_out_legend(self):
        """[(x, line, kind)]"""
        places, x, line = [], MARGIN, 0
        for kind, (_, _, words) in STYLES.items():
            if any(box.kind == kind for box in self.boxes):
                width = 0.2 + _text_width(words, LETTERS) + 0.25
                if x > MARGIN and x + width > self.width:
                    x, line = MARGIN, line + 1
                places.append((x, line, kind))
                x += width
        return places

    def axes(self):
        """Axes that fill a new figure of the picture's natural size."""
        from matplotlib.figure import Figure

        size = (self.width, self.height)
        return Figure(figsize=size, dpi=100, facecolor="white").add_axes((0, 0, 1, 1))

    def draw(self, ax):
        """Draw on ``ax``, which is emptied; scaled to its size."""
        ax.clear()
        ax.set_axis_off()
        ax.set(xlim=(0, self.width), ylim=(self.height, 0), aspect="equal")
        box = ax.get_window_extent()
        dpi = ax.figure.dpi
        self.scale = min(box.width / dpi / self.width, box.height / dpi / self.height)
        self.ax = ax
        self._text(MARGIN, MARGIN + 0.13, self.question, HEADING, weight="bold")
        for i, note in enumerate(self.notes):
            self._text(MARGIN, MARGIN + 0.39 + 0.17 * i, note, color=MUTED)
        for v, each in enumerate(self.boxes):
            self._draw_arrows(v, each.inputs)
        for v in range(len(self.boxes)):
            self._draw_box(v)
        for x, line, kind in self.legend:
            y = self.bottom[-1] + 0.35 + 0.2 * line
            self._rectangle(x, y - 0.06, 0.14, 0.12, kind, 0.02)
            self._text(x + 0.2, y, STYLES[kind][2], color=MUTED)

    def _draw_box(self, v):
        box, (title, lines) = self.boxes[v], self.texts[v]
        width, height = self.widths[v], self.heights[v]
        left, top = self.x[v] - width / 2, self._box_top(v)
        self._rectangle(left, top, width, height, box.kind, 0.05)
        y = top + PAD + LINE / 2
        self._text(left + PAD, y, title[0], weight="bold")
        self._text(left + width - PAD, y, title[1], color=MUTED, ha="right")
        for name, number, color in lines:
            y += LINE
            self._text(left + PAD, y, name, color=color)
            self._text(left + width - PAD, y, number, color=color, ha="right")

    def _box_top(self, v):
        r = self.plan.row[v]
        return (self.top[r] + self.bottom[r] - self.heights[v]) / 2

    def _draw_arrows(self, v, inputs):
        """One arrow for every input, at the upper edge in the order they come from."""
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        if not inputs:
            return
        paths = [self.plan.path(u, v) for u in inputs]
        paths.sort(key=lambda items: self.x[items[-2]])
        for items, end in zip(paths, self._ends(v, [self.x[p[-2]] for p in paths])):
            points = self._curve(items, end)
            dashed = self.boxes[items[0]].kind == "constant"
            color = MUTED if dashed else ARROW
            codes = [Path.MOVETO, Path.LINETO] + (len(points) - 2) * [Path.CURVE4]
            line = PathPatch(
                Path(points, codes),
                fill=False,
                linewidth=self.scale,
                linestyle=(0, (4, 2.5)) if dashed else "-",
                color=color,
                zorder=1,
            )
            tip, back = self._box_top(v), self._box_top(v) - HEAD
            head = [(end, tip), (end - 0.4 * HEAD, back), (end + 0.4 * HEAD, back)]
            self.ax.add_patch(line)
            self.ax.add_patch(Polygon(head, color=color, linewidth=0, zorder=1))

    def _ends(self, v, starts):
        """Where arrows meet a box: below their starts if possible, and apart."""
        half = 0.42 * self.widths[v]
        apart = np.arange(len(starts)) * min(0.2, 2 * half / max(len(starts) - 1, 1))
        low, high = self.x[v] - half, self.x[v] + half - apart[-1]
        wanted = np.clip(starts - apart, low, high)
        return nearest_ascending(wanted, np.ones(len(starts))) + apart

    def _curve(self, items, end):
        """From under a box, straight past the rows between, to the top of another."""
        u, v = items[0], items[-1]
        x, y = self.x[u], self._box_top(u) + self.heights[u]
        points = [(x, y), (x, self.bottom[self.plan.row[u]])]
        for item in items[1:]:
            last = item == v
            r = self.plan.row[v] if last else item[1]
            x1, y0 = end if last else self.x[item], points[-1][1]
            y1 = self.top[r] - HEAD if last else self.top[r]
            middle = (y0 + y1) / 2
            points += [(x, middle), (x1, middle), (x1, y1)]
            below = self._box_top(v) - HEAD / 2 if last else self.bottom[r]
            points += [(x1, y1), (x1, below), (x1, below)]
            x = x1
        return points

    def _rectangle(self, x, y, width, height, kind, radius):
        from matplotlib.patches import FancyBboxPatch

        fill, border, _ = STYLES[kind]
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

    def _text(self, x, y, text, size=LETTERS, color=INK, weight="normal", ha="left"):
        self.ax.text(
            x,
            y,
            text,
            size=size * self.scale,
            color=color,
            weight=weight,
            ha=ha,
            va="center_baseline",
            family="DejaVu Sans",
            parse_math=False,
            zorder=3,
        )


def _texts(box):
    """Return ((title, shape), [(name, number, colour), ...]) of a box."""
    if isinstance(box.shape, list):
        return (_cut(box.title), f"{len(box.shape)} outputs"), []
    shape = "" if box.shape == () else str(box.shape)
    one = math.prod(box.shape) == 1
    lines = []
    if box.value is None:
        lines.append(("value", "not kept", MUTED))
    else:
        lines.append(("value" if one else "‖value‖", *_number(box.value, INK)))
    if box.gradient is not None:
        lines.append(("grad" if one else "‖grad‖", *_number(box.gradient, GRADIENT)))
    return (_cut(box.title), shape), lines


def _number(x, color):
    return f"{x:.4g}", color if math.isfinite(abs(x)) else ALARM


def _notes(boxes, remark):
    notes = ["Arrows go from inputs to outputs; backward() walks them the other way."]
    if any(math.prod(box.shape) != 1 for box in boxes if type(box.shape) is tuple):
        notes.append("‖value‖ and ‖grad‖ are norms: the root of the sum of squares.")
    if any(box.kind == "constant" for box in boxes):
        notes.append("Dashed: no gradient goes back.")
    if any(box.value is None and type(box.shape) is tuple for box in boxes):
        notes.append("Not kept: the value was freed; backward() does not need it.")
    return [*notes, remark] if remark else notes


def _width(title, lines):
    """Of a box that holds these texts."""
    widths = [_text_width(title[0], LETTERS, "bold") + _text_width(title[1], LETTERS)]
    for name, number, _ in lines:
        widths.append(_text_width(name, LETTERS) + _text_width(number, LETTERS))
    return max(max(widths) + 0.14 + 2 * PAD, 0.9)


def _text_width(text, size, weight="normal"):
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text.strip():
        return 0.0
    text = text.replace("$", r"\$")  # names are no formulas
    font = FontProperties(family="DejaVu Sans", weight=weight)
    # on the grid of pixels letters come out a little wider than in the font's outlines
    return (
        np.ptp(TextPath((0, 0), text, size=size, prop=font).vertices[:, 0]) / 72 * 1.07
    )


def _cut(text, length=24):
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
