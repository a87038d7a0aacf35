"""Choose entries of an array, y = x[index], or rows of a table.

Choosing is a linear map with one 1 in each row: y_p = x_{i(p)}. Its transpose adds g_p
to the entry i(p), and an entry that was chosen several times receives a sum:

    dL/dx_i = sum of g_p over all p with i(p) = i
"""

import math

import numpy as np

from ..differentiable import differentiable


@differentiable
def getitem(x, index):
    """y = x[index], for all that NumPy allows: slices, integers, arrays, masks."""
    x = np.asarray(x)
    parts = index if isinstance(index, tuple) else (index,)
    shape, once = x.shape, all(_chooses_once(i) for i in parts)

    def backward(g):
        if once:
            dx = np.zeros(shape, g.dtype)
            dx[index] = g
            return dx
        position = np.arange(math.prod(shape)).reshape(shape)[index]
        return _scatter_add(shape, position, g)

    return x[index], backward


@differentiable
def embedding(ids, weight, padding_idx=None):
    """Look up rows of a table: y = W[ids].

    ids (...) integers, weight (V, D)  ->  y (..., D)

    Row v receives the sum of g over all positions of the id v; the row ``padding_idx``
    receives nothing. Raises TypeError or IndexError, naming the id, unless all ids are
    integers from 0 to V - 1.
    """
    ids = np.asarray(ids)
    _check_table(ids, weight, padding_idx)
    V, D = weight.shape
    ids = ids.astype(np.intp)  # ids * D must not overflow a small integer type

    def backward(g):
        position = ids[..., None] * D + np.arange(D)  # (..., D)
        dW = _scatter_add((V, D), position, g)
        if padding_idx is not None:
            dW[padding_idx] = 0
        return None, dW

    return weight[ids], backward


def _chooses_once(part):
    """Return whether a part of an index cannot choose an entry twice."""
    return part is None or part is Ellipsis or isinstance(part, (int, slice))


def _scatter_add(shape, position, g):
    """Add each g to the entry at its position in the flattened array.

    ``np.add.at`` has a fast path for flat arrays, and none for rows.
    """
    dx = np.zeros(math.prod(shape), g.dtype)
    np.add.at(dx, position.ravel(), g.ravel())
    return dx.reshape(shape)


def _check_table(ids, weight, padding_idx):
    if np.ndim(weight) != 2:
        raise ValueError(
            f"embedding: the table must be (V, D), a row for each id; it has shape "
            f"{np.shape(weight)}."
        )
    V = len(weight)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"embedding: ids must be integers; these are {ids.dtype}.")
    wrong = (ids < 0) | (ids >= V)
    if wrong.any():
        raise IndexError(
            f"embedding: id {ids[wrong][0]} is outside the vocabulary of {V}; ids run "
            f"from 0 to {V - 1}."
        )
    if padding_idx is not None and not 0 <= padding_idx < V:
        raise IndexError(
            f"embedding: padding_idx {padding_idx} is outside the vocabulary of {V}."
        )
