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
There is no recursion, so a long chain of operations does not overflow Python's stack.
"""

import operator
import sys

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
              None after backward() has deleted it
    order     the number that ``clock`` gave: a later node has a larger number
    shape     the shape of the output; a list of shapes for several outputs. It and
              dtype are set when the output becomes a tensor
    dtype     the dtype of the output; a list of dtypes for several outputs
    slot      for a node of an operation: None. An operation with several outputs has
              one more node for each output; its slot is the index of the output, and
              its only parent is the node of the operation
    """

    __slots__ = "op parents needs backward order shape dtype slot".split()

    _version = 0  # as a tensor that was never overwritten (overwriting.py)

    def __init__(self, op, parents, needs, backward, slot=None):
        self.op = op
        self.parents = parents
        self.needs = needs
        self.backward = backward
        self.order = next(clock)
        self.slot = slot

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
    check_not_overwritten(nodes)
    gradients = {root: gradient}  # {node or leaf: the sum so far}
    new_arrays = set()  # nodes and leaves whose sum is a new array: += is safe
    for node in nodes:
        g = gradients.pop(node, None)  # dL/d(output); None if no backward computed one
        if g is not None:
            if type(g) is list:  # several outputs, with None for unused ones
                g = _with_zeros(g, node)
            if visit is not None:
                visit(node, g)
            try:
                _add_to_parents(node, g, gradients, new_arrays)
            except Exception as error:
                where = f"the backward of {node.op}, output shape {node.shape}"
                error.add_note(f"(in {where})")
                raise
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
                f"An earlier backward() has deleted the node of {node.op}. Pass "
                "retain_graph=True to it, or compute the value again."
            )
        for parent in node.parents:
            if type(parent) is Node and parent not in nodes:
                nodes.add(parent)
                stack.append(parent)
    return sorted(nodes, key=operator.attrgetter("order"), reverse=True)


def _add_to_parents(node, g, gradients, new_arrays):
    """Add the gradients that the backward of ``node`` computes to those of its parents.

    The first gradient d of a parent is stored as it is. The second makes a new array,
    and later ones are added to that array in place. A leaf stores the sum in ``.grad``,
    which is changed in place. So it receives a copy if d is shared.
    """
    if node.slot is not None:
        _put_in_slot(node, g, gradients)
        return
    for parent, needed, d in zip(node.parents, node.needs, node.input_gradients(g)):
        if not needed or d is None:
            continue
        # fit_to_input also handles an equal dtype that is another object
        if not (
            type(d) is np.ndarray
            and d.dtype is parent.dtype
            and d.shape == parent.shape
        ):
            d = fit_to_input(d, parent)
        total = gradients.get(parent)
        if total is None:
            is_leaf = type(parent) is not Node
            gradients[parent] = d.copy() if is_leaf and _is_shared(d, g) else d
        elif parent in new_arrays:
            total += d
        else:
            # the sum of two arrays of shape () is a NumPy scalar, not an array
            gradients[parent] = np.asarray(total + d)
            new_arrays.add(parent)


def _is_shared(d, g):
    """Return whether another array may have the memory of the gradient ``d``.

    If d is a view of a whole array, as ``reshape`` returns it, nobody else can read
    that memory unless some other object refers to that array.
    """
    if d.base is None:
        return d is g
    is_whole = d.flags.carray and d.nbytes == getattr(d.base, "nbytes", None)
    return not is_whole or sys.getrefcount(d.base) > 2  # by d and by this call


def _put_in_slot(node, g, gradients):
    """Store ``g`` of one of several outputs in the list of the operation's node."""
    (operation_node,) = node.parents
    no_gradients = [None for _ in operation_node.shape]  # it has n shapes
    gradients.setdefault(operation_node, no_gradients)[node.slot] = g


def _with_zeros(g, node):
    """Return the gradients of the several outputs of ``node``: 0 for unused ones."""
    return [
        np.zeros(shape, dtype) if d is None else d
        for d, shape, dtype in zip(g, node.shape, node.dtype)
    ]


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
