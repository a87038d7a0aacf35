"""The graph of recorded operations, and the backward pass over it.

Each operation is recorded as a ``Node``. A leaf is a tensor that no recorded operation
computed, such as a parameter. A node has one parent for each input: the node that
computed the input, or the input itself if it is a leaf. The ``backward`` of the node
maps g = dL/d(output) to the gradients of the inputs.

A tensor x may be an input of several operations. By the chain rule, its gradient is the
sum of the gradients that they compute. Let u run over the outputs of these operations:

    dL/dx_k = sum over u of sum_i dL/du_i du_i/dx_k

The backward of u computes the sum over i. For example, L = 3 x + x^2 has two u, 3 x and
x^2, and dL/dx = 3 + 2 x.

A node is recorded after its parents. So the backward pass goes from the last node to
the first: it comes to x after all operations that use x, and dL/dx is then complete.

In code, g is the gradient of the output of a node, and d is the gradient that its
backward computes for one input.
"""

import operator

import numpy as np

from .broadcasting import fit_to_input
from .overwriting import check_not_overwritten, clock


class Node:
    """One recorded operation.

    op        the name of the operation, for messages and pictures
    parents   for each input: the Node that computed it, or the input itself if it is a
              leaf; None if it is not a tensor
    needs     for each input, whether its gradient is needed
    backward  maps g to one gradient, or to a tuple in the order of ``parents``;
              None after the backward pass has deleted it
    order     a number: larger than that of every node that was recorded before
    shape     the shape of the output
    dtype     the dtype of the output

    ``shape`` and ``dtype`` are set when the output becomes a tensor.

    An operation with several outputs has a node, whose ``shape`` and ``dtype`` are
    lists and whose g is a list. Each output has a node as well: its only parent is the
    node of the operation, and its ``output_index`` is the number of the output (for all
    other nodes, None). Its g is passed on to that node.
    """

    __slots__ = "op parents needs backward order shape dtype output_index".split()

    _version = 0  # overwriting.py: the number of the last write; outputs have none

    def __init__(self, op, parents, needs, backward, output_index=None):
        self.op = op
        self.parents = parents
        self.needs = needs
        self.backward = backward
        self.order = next(clock)  # 1, 2, 3, ...; writes into leaves are counted too
        self.output_index = output_index

    def input_gradients(self, g):
        """Return what ``backward`` computes: for each input its gradient, or None."""
        gradients = self.backward(g)
        if type(gradients) not in (tuple, list):
            gradients = (gradients,)
        if len(gradients) != len(self.parents):
            _check_count(self, gradients)
        return gradients

    def __repr__(self):
        return f"Node({self.op}, shape={self.shape})"


@np.errstate(all="ignore")  # NaN and infinity propagate without warnings
def backward_pass(root, gradient, free=True, visit=None):
    """Compute dL/dleaf for every leaf from ``gradient`` = dL/droot.

    Returns [(leaf, dL/dleaf), ...].

    free    delete the backward of each node, with its saved arrays, after its use
    visit   a function that is called with (node, g) for every node that receives g
    """
    nodes = reachable(root)
    check_not_overwritten(nodes)  # raises if a leaf was changed after its use
    gradients = {root: gradient}  # {node or leaf: the sum so far}
    # The nodes and leaves whose sum may be changed in place. A first gradient may not:
    # for example, ``add`` gives both inputs the same array, g.
    summed = set()
    for node in nodes:
        g = gradients.pop(node, None)  # dL/d(output); None if no backward computed one
        if g is not None:
            if visit is not None:
                visit(node, g)
            if node.output_index is not None:
                _give_to_operation(node, g, gradients)
            else:
                try:
                    _add_to_parents(node, g, gradients, summed)
                except Exception as error:
                    where = f"the backward of {node.op}, output shape {node.shape}"
                    error.add_note(f"(in {where})")
                    raise
        if free:
            node.parents, node.backward = (), None
    return list(gradients.items())  # the nodes were removed; only leaves remain


def _add_to_parents(node, g, gradients, summed):
    """Run the backward of ``node``; add what it computes to the sums of its parents."""
    for parent, needed, d in zip(node.parents, node.needs, node.input_gradients(g)):
        if not needed or d is None:  # None: a constant, such as a mask
            continue
        if (
            type(d) is not np.ndarray
            or d.dtype is not parent.dtype
            or d.shape != parent.shape
        ):
            d = fit_to_input(d, parent)  # unbroadcast, and the dtype converted
        if parent in gradients:  # another operation has used the parent
            _add(d, parent, gradients, summed)
        else:  # .grad of a leaf needs its own memory: a copy, if d is g or a view
            gradients[parent] = d if type(parent) is Node else _owned(d, g)


def reachable(root):
    """Return ``root`` and all nodes that it depends on, in reverse order of recording.

    Raises RuntimeError if an earlier backward() has deleted one of them.
    """
    nodes, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if node.backward is None:
            raise RuntimeError(
                f"An earlier backward() has deleted the node of {node.op}. Pass "
                "retain_graph=True to it, or compute the value again."
            )
        for parent in node.parents:
            if type(parent) is Node and parent not in nodes:
                nodes.add(parent)
                stack.append(parent)
    return sorted(nodes, key=operator.attrgetter("order"), reverse=True)


# ---- A first reading can stop here ----


def _give_to_operation(output, g, gradients):
    """Put g into the list of the operation; the outputs that are not used keep 0."""
    (operation,) = output.parents
    if operation not in gradients:
        zeros = map(np.zeros, operation.shape, operation.dtype)
        gradients[operation] = list(zeros)
    gradients[operation][output.output_index] = g


def _add(d, parent, gradients, summed):
    """Add d to the sum of ``parent``.

    The first gradient was stored as it is, and other objects may use its memory. So the
    second addition makes a new array, and later ones change that array in place.
    """
    total = gradients[parent]
    if parent in summed:
        total += d
    else:
        # the sum of two arrays of shape () is a NumPy scalar, not an array
        gradients[parent] = np.asarray(total + d)
        summed.add(parent)


def _owned(d, g):
    """Return d, or a copy if another array may have its memory: if d is g or a view.

    A leaf stores the result in ``.grad``, which is changed in place.
    """
    return d.copy() if d is g or d.base is not None else d


def _check_count(node, gradients):
    """Raise unless each input that needs a gradient has one, and there are no others.

    None is allowed in addition, for optional inputs that the caller did not pass.
    """
    extra_gradients = gradients[len(node.parents) :]
    inputs_without = node.needs[len(gradients) :]
    if any(inputs_without) or any(d is not None for d in extra_gradients):
        raise ValueError(
            f"found {len(gradients)} gradients for {len(node.parents)} inputs; "
            "expected one for each input, or None."
        )
