"""The tape: what is recorded while values are computed, and how gradients flow back.

Every recorded operation is a ``Node``. Its ``backward`` maps dL/d(output) to
dL/d(inputs), and its ``parents`` say where those belong: another node, or a leaf
tensor. A node is made after all nodes that it depends on, so the order of making is a
topological order, and walking it backwards meets every node after all of its users. At
that moment its gradient is complete:

    dL/dx = sum over users u of x:  (du/dx)^T dL/du

Nothing here recurses: a chain of 100 000 operations needs no deep stack.
"""

import contextlib
import functools
import itertools

import numpy as np

clock = itertools.count(1)  # numbers nodes and in-place changes, in order of happening


class Node:
    """One recorded operation.

    op        the operation's name, for messages and pictures
    parents   where the gradients go: a Node, a leaf, a constant tensor, or None
    backward  g -> one gradient, or a tuple in the order of ``parents``; None once freed
    order     when it was recorded, on ``clock``
    shape     of the output; a list of shapes for the node behind several outputs
    dtype     of the output; likewise
    value     a weak reference to the output array: alive while somebody keeps it
    slot      i when this is output i of the operation in ``parents[0]``, else None
    """

    __slots__ = (
        "op",
        "parents",
        "backward",
        "order",
        "shape",
        "dtype",
        "value",
        "slot",
    )

    def __init__(
        self, op, parents, backward, order, shape, dtype, value=None, slot=None
    ):
        self.op, self.parents, self.backward, self.order = op, parents, backward, order
        self.shape, self.dtype, self.value, self.slot = shape, dtype, value, slot

    def __repr__(self):
        return f"Node({self.op}, shape={self.shape})"


class GradMode:
    """Whether operations are recorded. There is one, ``recording``."""

    __slots__ = ("on",)

    def __init__(self):
        self.on = True


recording = GradMode()


class no_grad(contextlib.ContextDecorator):
    """Compute without recording: ``with no_grad(): ...``, or ``@no_grad``.

    Values are the same; results have ``requires_grad=False`` and keep nothing.
    """

    def __new__(cls, function=None):
        self = super().__new__(cls)
        self._before = []  # a stack: one object may be entered within itself
        if function is not None and not callable(function):
            raise TypeError(f"no_grad takes a function or nothing, not {function!r}.")
        return self if function is None else self(function)

    def __enter__(self):
        self._before.append(recording.on)
        recording.on = False
        return self

    def __exit__(self, *exc):
        recording.on = self._before.pop()


def kept_arrays(node):
    """The arrays that ``node`` keeps for its backward: those its closure refers to.

    Looks into tuples, lists and dicts, and into the functions that the closure calls.
    """
    found, seen, stack = [], set(), [node.backward]
    while stack:
        thing = stack.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            found.append(thing)
        elif isinstance(thing, (tuple, list)):
            stack.extend(thing)
        elif isinstance(thing, dict):
            stack.extend(thing.values())
        elif isinstance(thing, functools.partial):
            stack.extend((thing.func, thing.args, thing.keywords))
        elif getattr(thing, "__closure__", None):
            for cell in thing.__closure__:
                try:
                    stack.append(cell.cell_contents)
                except ValueError:  # a name that was never assigned
                    pass
    return found


def reachable(root):
    """All nodes that ``root`` depends on, itself included, last recorded first.

    Raises RuntimeError where the walk meets a freed node, or a tensor that was
    overwritten in place although a node of this graph still needs its value.
    """
    nodes, seen, stack, changed = [], {root}, [root], set()
    while stack:
        node = stack.pop()
        nodes.append(node)
        if node.backward is None:
            raise RuntimeError(
                f"backward() reached {node.op}, which an earlier backward() has freed. "
                "Pass retain_graph=True to the first backward(), or compute the value "
                "anew."
            )
        for parent in node.parents:
            if parent is None:
                continue
            if type(parent) is Node:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
            else:
                if parent not in seen:  # a checksum once a walk, not once a use
                    seen.add(parent)
                    parent.last_change()
                if parent._changed > node.order:
                    changed.add(parent)
    nodes.sort(key=_order, reverse=True)
    for tensor in changed:
        _refuse_if_needed(nodes, tensor)
    return nodes


def _order(node):
    return node.order


def _refuse_if_needed(nodes, tensor):
    """Raise if a node recorded before ``tensor`` was overwritten keeps that memory."""
    for node in nodes:
        if tensor._changed > node.order and any(
            np.may_share_memory(kept, tensor._data) for kept in kept_arrays(node)
        ):
            raise RuntimeError(
                f"The backward of {node.op} needs a tensor of shape {tensor.shape} "
                f"that was overwritten in place after {node.op} used it. Change a copy "
                "instead, or call backward() before the change."
            )


@np.errstate(all="ignore")  # NaN and infinity give what they give
def flow(root, gradient, free=True, visit=None):
    """Carry ``gradient`` from ``root`` down; return [(leaf, dL/dleaf), ...].

    Each node is met once, when its own gradient is complete, and hands its inputs their
    share. ``free`` lets go of a node's saved arrays as soon as they have served.
    ``visit(node, g)`` is called for every node on the way, to look at its gradient.
    """
    nodes = reachable(root)
    arrived = {root: gradient}  # gradients that have come in so far
    summed = set()  # those that are sums made here: they may be added to in place
    leaves = {}
    for node in nodes:
        g = arrived.pop(node, None)
        if g is not None:
            if visit is not None:
                visit(node, g)
            if node.slot is not None:  # one of several outputs: fill its place
                joint = node.parents[0]
                arrived.setdefault(joint, [None] * len(joint.shape))[node.slot] = g
            else:
                for parent, d in zip(node.parents, _gradients(node, g)):
                    if parent is None or d is None:
                        continue
                    if type(parent) is Node:
                        shape, dtype = parent.shape, parent.dtype
                    elif parent.requires_grad:
                        shape, dtype = parent._data.shape, parent._data.dtype
                        leaves[id(parent)] = parent
                    else:
                        continue
                    if getattr(d, "shape", None) != shape:
                        d = _fit(d, shape, node.op)
                    if d.dtype is not dtype:
                        d = d.astype(dtype)
                    sofar = arrived.get(parent)
                    if sofar is None:
                        # g itself, or a view, may be others' memory: a leaf has its own
                        if type(parent) is not Node and (d is g or d.base is not None):
                            d = d.copy()
                        arrived[parent] = np.asarray(d)
                    elif parent in summed:
                        sofar += d
                    else:
                        arrived[parent] = np.asarray(sofar + d)
                        summed.add(parent)
        if free:
            node.backward, node.parents = None, ()
    return [(leaf, arrived[leaf]) for leaf in leaves.values()]


def _gradients(node, g):
    """The gradients that ``node`` sends to its parents, as a tuple."""
    if type(node.shape) is list:
        g = [  # several outputs: those that nobody used have gradient zero
            np.zeros(shape, dtype) if each is None else each
            for each, shape, dtype in zip(g, node.shape, node.dtype)
        ]
    try:
        gradients = node.backward(g)
    except Exception as error:
        error.add_note(f"(in the backward of {node.op}, output shape {node.shape})")
        raise
    if type(gradients) is not tuple:
        gradients = tuple(gradients) if type(gradients) is list else (gradients,)
    if len(gradients) != len(node.parents):
        _refuse_miscount(node, gradients)
    return gradients


def _refuse_miscount(node, gradients):
    """Raise, unless the inputs that were left out want no gradient.

    An optional input that was not passed has no parent; the None for it is no miscount.
    """
    left_out = node.parents[len(gradients) :]
    too_many = gradients[len(node.parents) :]
    if any(d is not None for d in too_many) or any(
        type(p) is Node or getattr(p, "requires_grad", False) for p in left_out
    ):
        raise ValueError(
            f"The backward of {node.op} returned {len(gradients)} gradients for "
            f"{len(node.parents)} inputs; None stands for no gradient."
        )


def _fit(d, shape, op):
    """The gradient ``d``, which ``op`` returned, summed down to its input's shape."""
    if not hasattr(d, "shape"):
        raise TypeError(
            f"The backward of {op} returned a {type(d).__name__} for a gradient; it "
            "returns an array, or a tuple of arrays and None."
        )
    try:
        return unbroadcast(d, shape)
    except ValueError:
        raise ValueError(
            f"The backward of {op} returned a gradient of shape {d.shape} for an input "
            f"of shape {shape}, which does not broadcast to it."
        ) from None


def unbroadcast(g, shape):
    """Sum ``g`` down to ``shape``: the adjoint of broadcasting is summing.

    g (broadcast shape)  ->  (shape)

    Broadcasting repeats x along new leading axes and along axes of length one. Each
    copy receives its own gradient, and x, being one thing, receives their sum:

        y_{ij} = x_j   for all i      =>      dL/dx_j = sum_i g_{ij}

    Raises ValueError when ``shape`` does not broadcast to ``g.shape``.
    """
    lead = g.ndim - len(shape)
    repeated = tuple(range(lead)) + tuple(
        lead + axis
        for axis, n in enumerate(shape)
        if n == 1 and lead >= 0 and g.shape[lead + axis] != 1
    )
    out = g.sum(axis=repeated, keepdims=True) if repeated else g
    if lead < 0 or out.shape[lead:] != tuple(shape):
        raise ValueError(
            f"A gradient of shape {g.shape} cannot belong to a tensor of shape "
            f"{tuple(shape)}: that shape does not broadcast to it."
        )
    return out.reshape(shape)
