"""Choose entries of an array, y = x[index], or rows of a table.

Choosing is a linear map with one 1 in each row: y_p = x_{i(p)}. Its transpose adds g_p
to the entry i(p), and an entry that was chosen several times receives a sum:

    dL/dx_i = sum of g_p over all p with i(p) = i
"""

import math

import numpy as np

from ..differentiable import differentiable
from ..shapes import shapes


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


@shapes
@differentiable
def embedding(ids, weight, padding_idx=None):
    """Look up rows of a table: y = W[ids].

    ids (...) int, weight (V, D)  ->  y (..., D)

    The gradient of row v is the sum of g over the positions with ids = v; the gradient
    of row ``padding_idx`` is 0. Raises IndexError for an id that is not from 0 to
    V - 1.
    """
    V, D = weight.shape
    _check_rows(ids, V, padding_idx)
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


def _check_rows(ids, V, padding_idx):
    wrong = (ids < 0) | (ids >= V)
    if wrong.any():
        raise IndexError(
            f"embedding: ids hold {ids[wrong][0]}; expected 0 to {V - 1}, the rows of "
            "weight."
        )
    if padding_idx is not None and not 0 <= padding_idx < V:
        raise IndexError(
            f"embedding: padding_idx is {padding_idx}; expected 0 to {V - 1}, a row of "
            "weight."
        )
