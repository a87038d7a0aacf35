"""Turn a graph into the boxes of a picture: titles, shapes, values and gradients."""

import dataclasses

import numpy as np

from ..graph import Node, backward_pass, reachable


@dataclasses.dataclass
class Box:
    """An operation, a leaf or a constant, and where its arrows come from.

    kind       "leaf", "constant", "operation" or "result"
    shape      of the output; a list of shapes for an operation with several outputs
    value      a number: the value, or its norm; None for an intermediate result that
               has no name
    gradient   likewise; None where there is none
    inputs     the numbers of boxes, with repetitions
    """

    kind: str
    title: str
    shape: object
    value: object
    gradient: object
    inputs: list


def boxes_of(tensor, names, gradient, limit):
    """Return the boxes of all that ``tensor`` was computed from, inputs first."""
    nodes = nodes_of(tensor, "graph()")
    things = _inputs_first(nodes[0])
    if len(things) > limit:
        raise ValueError(
            f"graph() would have to draw {len(things)} boxes, and more than {limit} "
            "cannot be read. Draw a smaller part, or raise limit=."
        )
    number = {thing: i for i, thing in enumerate(things)}
    called = {each._node or each: name for name, each in names.items()}
    values = {each._node or each: each._data for each in (tensor, *names.values())}
    gradients = _gradients(tensor, gradient)
    boxes = []
    for thing in things:
        if type(thing) is Node:
            kind = "result" if thing is tensor._node else "operation"
            title = thing.op if thing.output_index is None else f"output {thing.output_index}"
            title = f"{called[thing]} = {title}" if thing in called else title
            value = values.get(thing)
            inputs = [number[p] for p in thing.parents if p is not None]
        else:
            kind = "leaf" if thing.requires_grad else "constant"
            title, value, inputs = called.get(thing, kind), thing._data, []
        size = None if value is None else _size(value)
        boxes.append(Box(kind, title, thing.shape, size, gradients.get(thing), inputs))
    return boxes


def nodes_of(tensor, caller):
    """Return all nodes that ``tensor`` was computed from, last recorded first.

    Raises ValueError when there are none, RuntimeError when backward() could not walk
    through them.
    """
    if tensor._node is None:
        raise ValueError(
            f"{caller} needs the graph of a tensor; this one, of shape "
            f"{tensor.shape}, has no graph: it is a leaf, or was computed from "
            "constants or under no_grad."
        )
    try:
        return reachable(tensor._node)
    except RuntimeError as error:
        raise RuntimeError(f"{caller} walks as backward() does. {error}") from None


def _inputs_first(root):
    """Return all nodes and tensors that ``root`` depends on, inputs first."""
    found, stack = {}, [(root, False)]
    while stack:
        thing, complete = stack.pop()
        if complete:
            found[thing] = None
        elif thing not in found:
            stack.append((thing, True))
            if type(thing) is Node:
                parents = [p for p in thing.parents if p is not None]
                stack.extend((p, False) for p in reversed(parents))
    return list(found)


def _gradients(tensor, gradient):
    """Return {node or leaf: size of its gradient}; ``.grad`` and the graph are kept."""
    if gradient is None:
        gradient = np.ones_like(tensor._data)
    gradient = np.asarray(getattr(gradient, "_data", gradient), tensor.dtype)
    if gradient.shape != tensor.shape:
        raise ValueError(
            f"graph() got a gradient of shape {gradient.shape} for a tensor of shape "
            f"{tensor.shape}; the two must be equal."
        )
    sizes = {}

    def note(node, g):
        if type(g) is not list:  # of several outputs, each has its own
            sizes[node] = _size(g)

    for leaf, g in backward_pass(tensor._node, gradient, free=False, visit=note):
        sizes[leaf] = _size(g)
    return sizes


def _size(array):
    """Return the number itself if there is only one, else the norm."""
    if array.size == 1:
        return array.item()
    return float(np.linalg.norm(np.abs(array).astype(np.float64).ravel()))
