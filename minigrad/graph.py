"""The graph of recorded operations, and the walk that carries gradients back over it.

A recorded operation is a ``Node``. Its ``parents`` are the nodes or leaf tensors that
its inputs came from, and its ``backward`` maps dL/d(output) to dL/d(inputs). A node is
recorded after the nodes that it depends on, so the order of recording is a topological
order. A walk from the last node to the first reaches each node after all of its users,
when its gradient is complete:

    dL/dx = sum over users u of x:  (du/dx)^T dL/du

Nothing here recurses: a chain of 100 000 operations needs no deep stack.

Do not overwrite an array between forward and backward: the backward may still read it.
A write through a tensor (``t[i] = v``, ``t.data -= d``) raises an error at backward; a
write through a view, a detached tensor or a NumPy array of the same memory does not.
"""

import contextlib
import contextvars
import functools
import itertools
import operator

import numpy as np

clock = itertools.count(1)  # numbers nodes and writes into tensors, in order
_last_write = 0  # on the clock


class Node:
    """One recorded operation.

    op        the operation's name, for messages and pictures
    parents   where each input's gradient goes: a Node, a leaf, a constant, or None
    backward  g -> one gradient, or a tuple in the order of ``parents``; None once freed
    order     when the operation was recorded, on ``clock``
    shape     of the output; for the node behind several outputs, a list of shapes
    dtype     of the output, likewise
    value     a weak reference to the output array, which the graph does not keep alive
    slot      i if this is output i of the operation in ``parents[0]``, else None
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
    requires_grad, _version = True, 0  # as parents, nodes and tensors are alike

    def __init__(self, op, parents, backward, shape, dtype, value=None, slot=None):
        self.op, self.parents, self.backward = op, parents, backward
        self.order, self.shape, self.dtype = next(clock), shape, dtype
        self.value, self.slot = value, slot

    def __repr__(self):
        return f"Node({self.op}, shape={self.shape})"


@np.errstate(all="ignore")  # NaN and infinity propagate without warnings
def flow(root, gradient, free=True, visit=None):
    """Carry ``gradient`` from ``root`` to the leaves; return [(leaf, dL/dleaf), ...].

    free    drop each node's saved arrays as soon as its backward has used them
    visit   called with (node, g) for every node, when its gradient g is complete
    """
    nodes = reachable(root)
    _refuse_overwritten(nodes)
    gradients = {root: gradient}  # {node or leaf: sum of the gradients received so far}
    sums = set()  # the nodes and leaves whose gradient is an array that we may add to
    for node in nodes:
        g = gradients.pop(node, None)
        if g is not None:
            if visit is not None:
                visit(node, g)
            for parent, d in zip(node.parents, _input_gradients(node, g)):
                if d is not None and parent is not None and parent.requires_grad:
                    _add(gradients, sums, parent, d, node, g)
        if free:
            node.parents, node.backward = (), None
    return list(gradients.items())  # the nodes are gone, the leaves are left


def reachable(root):
    """Return all nodes that ``root`` depends on, itself included, last recorded first.

    Raises RuntimeError if an earlier backward() has freed one of them.
    """
    nodes, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if node.backward is None:
            raise RuntimeError(
                f"backward() reached {node.op}, which an earlier backward() has freed. "
                "Pass retain_graph=True to the first backward(), or compute the value "
                "again."
            )
        for parent in node.parents:
            if type(parent) is Node and parent not in nodes:
                nodes.add(parent)
                stack.append(parent)
    return sorted(nodes, key=operator.attrgetter("order"), reverse=True)


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


class no_grad(contextlib.ContextDecorator):
    """Compute without recording: ``with no_grad(): ...``, or ``@no_grad``.

    Values are the same; results have ``requires_grad=False`` and no graph. Each thread
    and each asyncio task has its own setting, which starts as recording.
    """

    def __new__(cls, function=None):
        if function is not None and not callable(function):
            raise TypeError(f"no_grad takes a function or nothing; found {function!r}.")
        self = super().__new__(cls)
        return self if function is None else self(function)

    def __enter__(self):
        _pauses.set(_pauses.get() + 1)
        return self

    def __exit__(self, *exc):
        _pauses.set(_pauses.get() - 1)


_pauses = contextvars.ContextVar("pauses", default=0)  # no_grad blocks entered


def recording():
    """Return whether operations are recorded here."""
    return not _pauses.get()


def mark_written(tensor):
    """Note a write into ``tensor``: backward() then refuses to use the old values."""
    global _last_write
    tensor._version = _last_write = next(clock)


def kept_arrays(node):
    """Return the arrays that ``node`` keeps for its backward, which its closure holds.

    Searches tuples, lists and dicts, and the functions that the closure calls.
    """
    found, seen, stack = [], set(), [node.backward]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            found.append(item)
        elif isinstance(item, (tuple, list)):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, functools.partial):
            stack.extend((item.func, item.args, item.keywords))
        else:
            for cell in getattr(item, "__closure__", None) or ():
                with contextlib.suppress(ValueError):  # a name never assigned
                    stack.append(cell.cell_contents)
    return found


def _input_gradients(node, g):
    """Call the backward of ``node``; return a tuple with a gradient for each parent."""
    if type(node.shape) is list:  # several outputs; the gradient of unused ones is zero
        g = [
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


def _fit(d, shape, dtype, node):
    """Return the gradient ``d``, from ``node``, as an array of this shape and dtype."""
    if not hasattr(d, "shape"):
        raise TypeError(
            f"The backward of {node.op} returned a {type(d).__name__} for a gradient; "
            "expected an array, or a tuple of arrays and None."
        )
    try:
        return np.asarray(unbroadcast(d, shape), dtype)
    except ValueError:
        raise ValueError(
            f"The backward of {node.op} returned a gradient of shape {d.shape} for an "
            f"input of shape {shape}, which does not broadcast to it."
        ) from None


def _add(gradients, sums, parent, d, node, g):
    """Add ``d``, which ``node`` computed from g, to the gradient of ``parent``.

    The first sum is a new array, and later gradients are added to it in place. Since
    ``d`` may be g itself or a view, a leaf receives a copy, which shares no memory.
    """
    if node.slot is not None:  # one of several outputs, whose gradients form a list
        gradients.setdefault(parent, [None] * len(parent.shape))[node.slot] = d
        return
    shape, dtype = parent.shape, parent.dtype
    if type(d) is not np.ndarray or d.shape != shape or d.dtype is not dtype:
        d = _fit(d, shape, dtype, node)
    total = gradients.get(parent)
    if total is None:
        shared = type(parent) is not Node and (d is g or d.base is not None)
        gradients[parent] = d.copy() if shared else d
    elif parent in sums:
        total += d
    else:
        gradients[parent] = np.asarray(total + d)  # of shape (), a sum is no array
        sums.add(parent)


def _refuse_miscount(node, gradients):
    """Raise unless the surplus is None, or the missing ones are of constants.

    An optional input that was not passed has no parent, and its None is no miscount.
    """
    missing = node.parents[len(gradients) :]
    surplus = gradients[len(node.parents) :]
    if any(d is not None for d in surplus) or any(
        p is not None and p.requires_grad for p in missing
    ):
        raise ValueError(
            f"The backward of {node.op} returned {len(gradients)} gradients for "
            f"{len(node.parents)} inputs; None stands for no gradient."
        )


def _refuse_overwritten(nodes):
    """Raise if a tensor was overwritten after a node recorded that it needs its values.

    The ``order`` of a node and the ``_version`` of a tensor, the time of the last write
    into it, are numbers of the same clock.
    """
    if nodes[-1].order > _last_write:
        return  # as usual in training: no write since the first node
    changed_tensors = {
        parent
        for node in nodes
        for parent in node.parents
        if parent is not None and parent._version > node.order
    }
    for tensor, node in itertools.product(changed_tensors, nodes):
        if tensor._version > node.order and any(
            np.may_share_memory(kept, tensor._data) for kept in kept_arrays(node)
        ):
            raise RuntimeError(
                f"The backward of {node.op} needs a tensor of shape {tensor.shape} "
                f"that was overwritten in place after {node.op} used it. Change a copy "
                "instead, or call backward() before the change."
            )
