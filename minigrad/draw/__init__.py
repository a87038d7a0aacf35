"""Draw the graph of a tensor, and count the bytes that it keeps for its backward.

    draw.graph(loss, "loss.png", names={"W": W, "b": b})
    print(draw.saved_bytes(loss))

The picture is made in three steps: ``boxes`` reads the graph, ``layering`` computes a
position for every box, ``picture`` draws them. matplotlib is imported when a picture is
drawn, not before.
"""

from ..files import save_figure
from .boxes import boxes_of
from .picture import Picture
from .saved_bytes import saved_bytes

__all__ = ["graph", "saved_bytes"]


def graph(tensor, path=None, ax=None, names=None, gradient=None, limit=60):
    """Draw what ``tensor`` was computed from; return the matplotlib Figure.

    path       a file to save the picture to, whole or not at all; its suffix decides
               the format. Or a file that is open for writing bytes
    ax         matplotlib axes to draw on, emptied before, instead of a new figure
    names      {"W": W}: the names of tensors in the picture, usually of leaves
    gradient   the gradient for backward(); None for ones
    limit      the largest number of boxes

    Every box is an operation, a leaf or a constant; arrows lead from inputs to
    outputs. A box shows the shape, the value and the gradient: the number itself
    where there is only one, else the norm, sqrt(sum of squares). The value of an
    intermediate result that ``names`` does not have is "not kept". The gradients come
    from a backward pass made for the picture alone: it leaves ``.grad`` and the graph
    as they were.

    Raises ValueError when nothing was recorded, when there are more than ``limit``
    boxes, or when the gradient has another shape; RuntimeError when backward() freed
    the graph.
    """
    boxes = boxes_of(tensor, names or {}, gradient, limit)
    remark = ""
    if gradient is None and tensor.size != 1:
        remark = f"The gradient begins as ones of shape {tensor.shape}."
    picture = Picture(boxes, remark)
    ax = picture.axes() if ax is None else ax
    picture.draw(ax)
    if path is not None:
        save_figure(ax.figure, path)
    return ax.figure
