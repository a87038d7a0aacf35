"""Weights to draw, and checks of a figure's layout."""

import numpy as np

PNG = b"\x89PNG\r\n\x1a\n"


def weights(*shape, seed=0):
    """Rows of positive numbers that sum to one."""
    w = np.random.default_rng(seed).random(shape)
    return w / w.sum(-1, keepdims=True)


def is_whole(figure):
    """Return whether everything drawn, down to the last label, is inside the figure."""
    figure.canvas.draw()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return 0 <= drawn.x0 and 0 <= drawn.y0 and drawn.x1 <= width and drawn.y1 <= height


def overlap(figure, labels):
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in labels]
    return any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[:n])
