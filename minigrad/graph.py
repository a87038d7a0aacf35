"""The graph of recorded operations, and the backward pass over it.

Each operation is recorded as a ``Node``. Its ``parents`` are, for each input, the node
that computed the input, or the leaf itself. A leaf is a tensor that no operation
computed, such as a parameter. The ``backward`` of the node maps g = dL/d(output) to the
gradients of the inputs.

A tensor x may be an input of several operations. Its gradient is then the sum of the
gradients that they compute. With one term for each operation u that uses x, the chain
rule is

    dL/dx = sum over u of (du/dx)^T dL/du

A node is recorded after its parents. So the backward pass goes from the last node to
the first: it comes to x after all operations that use x, and dL/dx is then complete.
The code uses loops and no recursion, so a chain of 100 000 operations does not overflow
Python's stack.
"""

import contextlib
import contextvars
import operator

import numpy as np

from .overwriting import check_not_overwritten, clock

_no_grad_depth = contextvars.ContextVar("no_grad_depth", default=0)


class Node:
    """One recorded operation.

    op        the name of the operation, for messages and pictures
    parents   for each input: the Node that computed it, or the leaf; None if the input
              is not a tensor. A leaf with requires_grad=False receives no gradient.
    backward  maps g to one gradient, or to a tuple in the order of ``parents``;
              None after backward() has deleted it
    order     the number of the node on ``clock``: a later node has a larger number
    shape     the shape of the output; a list of shapes for several outputs
    dtype     the dtype of the output; a list of dtypes for several outputs
    value     a weak reference to the output array, for ``minigrad.draw``: the graph
              does not keep the array alive
    slot      None, except for the node of one of several outputs: its index. The only
              parent of this node is the node of the operation.
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

    # A parent may be a Node or a Tensor; both have these attributes.
    requires_grad = True
    _version = 0

    def __init__(self, op, parents, backward, shape, dtype, value=None, slot=None):
        self.op = op
        self.parents = parents
        self.backward = backward
        self.order = next(clock)
        self.shape = shape
        self.dtype = dtype
        self.value = value
        self.slot = slot

    def __repr__(self):
        return f"Node({self.op}, shape={self.shape})"


@np.errstate(all="ignore")  # NaN and infinity propagate without warnings
def backward_pass(root, gradient, free=True, visit=None):
    """Compute dL/dleaf for every leaf from ``gradient`` = dL/droot.

    Returns [(leaf, dL/dleaf), ...].

    free    delete the backward of each node, with its saved arrays, after its use
    visit   a function that is called with (node, g) for every node
    """
    nodes = reachable(root)
    check_not_overwritten(nodes)
    gradients = _Gradients({root: gradient})
    for node in nodes:
        g = gradients.pop_complete(node)  # dL/d(output), or None if nothing needs it
        if g is not None:
            if visit is not None:
                visit(node, g)
            with _ErrorNote(node):
                input_gradients = node.backward(g)  # (du/dx)^T g for each input x
            for parent, d in _parents_with_gradients(node, input_gradients):
                gradients.add(parent, d, node, g)  # the sum over u
        if free:
            node.parents, node.backward = (), None
    return list(gradients.items())  # the nodes were removed; only leaves remain


def reachable(root):
    """Return ``root`` and all nodes that it depends on, in reverse order of recording.

    Raises RuntimeError if an earlier backward() has deleted one of them.
    """
    nodes, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if node.backward is None:
            raise RuntimeError(
                f"backward() reached {node.op}, which an earlier backward() has "
                "deleted with its saved arrays. Pass retain_graph=True to the first "
                "backward(), or compute the value again."
            )
        for parent in node.parents:
            if type(parent) is Node and parent not in nodes:
                nodes.add(parent)
                stack.append(parent)
    return sorted(nodes, key=operator.attrgetter("order"), reverse=True)


def unbroadcast(g, shape):
    """Sum ``g`` over the axes along which an array x of this shape was repeated.

    Broadcasting repeats x along new leading axes and along axes of length one. Each
    copy receives its own gradient. The gradient of x is the sum of the gradients of its
    copies:

        y_{ij} = x_j   for all i      =>      dL/dx_j = sum_i g_{ij}

    Raises ValueError if ``shape`` cannot be broadcast to ``g.shape``.
    """
    new_axes = g.ndim - len(shape)
    if new_axes < 0 or any(n not in (1, m) for n, m in zip(shape, g.shape[new_axes:])):
        raise ValueError(
            f"A gradient of shape {g.shape} cannot belong to a tensor of shape "
            f"{tuple(shape)}: the shape of the tensor cannot be broadcast to the shape "
            "of the gradient."
        )
    repeated_axes = tuple(range(new_axes)) + tuple(
        new_axes + axis
        for axis, n in enumerate(shape)
        if n == 1 and g.shape[new_axes + axis] != 1
    )
    if repeated_axes:
        g = g.sum(axis=repeated_axes, keepdims=True)
    return g.reshape(shape)


def no_grad(function=None):
    """Compute without recording: ``with no_grad(): ...``, or ``@no_grad``.

    The values are the same. The results have ``requires_grad=False`` and no graph.
    Each thread and each asyncio task starts with recording on, and switches it for
    itself only.
    """
    if function is None:
        return _NoGrad()
    if not callable(function):
        raise TypeError(f"no_grad takes a function or nothing; found {function!r}.")
    return _NoGrad()(function)


def is_recording():
    """Return whether operations are recorded in this thread or task."""
    return _no_grad_depth.get() == 0


class _NoGrad(contextlib.ContextDecorator):
    """Count the nested ``no_grad`` blocks of this thread or task."""

    def __enter__(self):
        _no_grad_depth.set(_no_grad_depth.get() + 1)
        return self

    def __exit__(self, *exception):
        _no_grad_depth.set(_no_grad_depth.get() - 1)


class _Gradients(dict):
    """{node or leaf: the sum of the gradients that it has received so far}."""

    def __init__(self, gradients):
        super().__init__(gradients)
        self.new_arrays = set()  # nodes and leaves whose sum is a new array: += is safe

    def pop_complete(self, node):
        """Remove the gradient of ``node`` and return it; None if it received none.

        For a node with several outputs it is a list, with zeros for unused outputs.
        """
        g = self.pop(node, None)
        if type(g) is list:
            return [
                np.zeros(shape, dtype) if d is None else d
                for d, shape, dtype in zip(g, node.shape, node.dtype)
            ]
        return g

    def add(self, parent, d, node, g):
        """Add ``d``, which ``node`` computed from g, to the gradient of ``parent``.

        The first gradient is stored as it is. The second makes a new array, and later
        ones are added to that array in place. A leaf keeps its gradient, so it receives
        a copy if ``d`` is g or a view.
        """
        if node.slot is not None:  # parent has several outputs, and d belongs to one
            if parent not in self:
                number_of_outputs = len(parent.shape)
                self[parent] = [None] * number_of_outputs
            self[parent][node.slot] = d
            return
        d = _match_parent(d, parent, node)
        total = self.get(parent)
        if total is None:
            is_shared = d is g or d.base is not None
            self[parent] = d.copy() if is_shared and type(parent) is not Node else d
        elif parent in self.new_arrays:
            total += d
        else:
            # the sum of two arrays of shape () is a NumPy scalar, not an array
            self[parent] = np.asarray(total + d)
            self.new_arrays.add(parent)


def _parents_with_gradients(node, gradients):
    """Return [(parent, gradient), ...] for the parents that receive a gradient."""
    if type(gradients) is not tuple:
        gradients = tuple(gradients) if type(gradients) is list else (gradients,)
    if len(gradients) != len(node.parents):
        _check_count(node, gradients)
    return [
        (parent, d)
        for parent, d in zip(node.parents, gradients)
        if d is not None and parent is not None and parent.requires_grad
    ]


def _check_count(node, gradients):
    """Raise if there is a gradient without an input, or an input without its gradient.

    A backward may return None for an optional input that the caller left out.
    """
    inputs_without = node.parents[len(gradients) :]
    gradients_without = gradients[len(node.parents) :]
    if any(d is not None for d in gradients_without) or any(
        parent is not None and parent.requires_grad for parent in inputs_without
    ):
        raise ValueError(
            f"The backward of {node.op} returned {len(gradients)} gradients for "
            f"{len(node.parents)} inputs; None means no gradient."
        )


def _match_parent(d, parent, node):
    """Return ``d``, which ``node`` computed, with the shape and dtype of ``parent``."""
    shape, dtype = parent.shape, parent.dtype
    if type(d) is np.ndarray and d.shape == shape and d.dtype == dtype:
        return d
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


class _ErrorNote:
    """Add the name and the output shape of ``node`` to errors of its backward."""

    __slots__ = ("node",)

    def __init__(self, node):
        self.node = node

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, Exception):
            error.add_note(
                f"(in the backward of {self.node.op}, output shape {self.node.shape})"
            )
