"""Detect arrays that were overwritten between the forward and the backward pass.

The backward of an operation may read its inputs and outputs again. If the program has
overwritten one of them, the gradient would be wrong. backward() detects writes through
a tensor (``t[i] = v``, ``t.data -= d``) and raises an error. It does not detect a write
through a view, a detached tensor or a NumPy array of the same memory.
"""

import contextlib
import functools
import itertools

import numpy as np

clock = itertools.count(1)  # gives the next number to each new node and each write
_last_write = 0  # the number of the last in-place write into any tensor


def mark_written(tensor):
    """Number an in-place write into ``tensor``, for ``check_not_overwritten``."""
    global _last_write
    _last_write = next(clock)
    tensor._version = _last_write


def check_not_overwritten(nodes):
    """Raise if a tensor was overwritten after a node that needs its old values.

    nodes   in reverse order of recording

    The ``order`` of a node and the ``_version`` of a tensor (the number of the last
    write into it) come from the same counter, so they can be compared.
    """
    if nodes[-1].order > _last_write:
        return  # no tensor was written after the first node; this is the usual case
    overwritten_tensors = {
        parent
        for node in nodes
        for parent in node.parents
        if parent is not None and parent._version > node.order
    }
    for tensor, node in itertools.product(overwritten_tensors, nodes):
        if tensor._version > node.order and any(
            np.may_share_memory(array, tensor._data) for array in saved_arrays(node)
        ):
            raise RuntimeError(
                f"The backward of {node.op} needs a tensor of shape {tensor.shape} "
                f"that was overwritten in place after {node.op} used it. Change a copy "
                "instead, or call backward() before the change."
            )


def saved_arrays(node):
    """Return the arrays that the backward function of ``node`` refers to.

    A closure stores the variables that it uses in cells. The search goes through the
    cells, through tuples, lists and dicts in them, and through the functions in them.
    """
    arrays, visited_ids, stack = [], set(), [node.backward]
    while stack:
        item = stack.pop()
        if id(item) in visited_ids:
            continue
        visited_ids.add(id(item))
        if isinstance(item, np.ndarray):
            arrays.append(item)
        elif isinstance(item, (tuple, list)):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, functools.partial):
            stack.extend((item.func, item.args, item.keywords))
        else:
            for cell in getattr(item, "__closure__", None) or ():
                # an empty cell, whose variable was not assigned, raises ValueError
                with contextlib.suppress(ValueError):
                    stack.append(cell.cell_contents)
    return arrays
