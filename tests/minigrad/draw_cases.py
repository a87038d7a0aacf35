"""Graphs to be drawn, and what stands in their pictures."""

import numpy as np

import minigrad as mg
from minigrad.tensor import Tensor

rng = np.random.default_rng(0)


def leaf(*shape):
    return Tensor(rng.normal(size=shape), requires_grad=True)


def mlp():
    x = Tensor(rng.normal(size=(64, 4)))
    W1, b1, W2, b2 = leaf(4, 16), leaf(16), leaf(16, 3), leaf(3)
    h = mg.tanh(x @ W1 + b1)
    loss = mg.cross_entropy(h @ W2 + b2, rng.integers(0, 3, 64))
    return loss, dict(x=x, W1=W1, b1=b1, W2=W2, b2=b2, h=h)


def diamond():
    x = leaf()
    a = mg.exp(x)
    return a * mg.tanh(x) + a * x, dict(x=x, a=a)


class Seen:
    """What stands in a picture, in pixels."""

    def __init__(self, figure):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.patches import FancyBboxPatch, PathPatch

        renderer = FigureCanvasAgg(figure).get_renderer()
        (ax,) = figure.axes
        self.page = figure.bbox
        all_boxes = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
        extents = [p.get_window_extent(renderer) for p in all_boxes]
        self.boxes = [e for e in extents if e.height > 25]  # the legend's are smaller
        self.lines = [
            p.get_transform()
            .transform_path(p.get_path())
            .to_polygons(closed_only=False)
            for p in ax.patches
            if isinstance(p, PathPatch)
        ]
        self.texts = [(t.get_text(), t.get_window_extent(renderer)) for t in ax.texts]
        self.texts = [(text, where) for text, where in self.texts if text]

    def read(self, title):
        """The texts in the box with this title, without the title."""
        (where,) = [w for text, w in self.texts if text == title]
        (box,) = [b for b in self.boxes if overlap(b, where)]
        return [t for t, w in self.texts if overlap(box, w) and t != title]


def overlap(a, b, by=0.0):
    return (
        min(a.x1, b.x1) - max(a.x0, b.x0) > by
        and min(a.y1, b.y1) - max(a.y0, b.y0) > by
    )
