"""Matrix products.

    Y = A B,   y_ij = sum_k a_ik b_kj        (..., n, k) @ (..., k, m)  ->  (..., n, m)

    dL/da_ik = sum_j g_ij b_kj   =>   dA = G B^T
    dL/db_kj = sum_i a_ik g_ij   =>   dB = A^T G

Each transpose puts the summed index last on the left and first on the right.
"""

import math

import numpy as np

from ..differentiable import differentiable
from ..shapes import shapes


@differentiable
def matmul(a, b):
    """Y = A B, over the last two axes; leading axes are broadcast. ``a @ b``.

    A vector on the left is a row, on the right a column, and its extra axis is dropped
    again, as in ``numpy.matmul``.

    A batch of rows times one matrix is one product of all the rows, and

        dB = sum over the batch of A^T G = (all rows of A)^T (all rows of G)

    is one product as well, which does the summing.
    Raises ValueError when the shapes do not fit.
    """
    a, b = np.asarray(a), np.asarray(b)
    try:
        y = _product(a, b)
    except ValueError:
        raise ValueError(
            f"matmul: shapes {a.shape} and {b.shape} do not fit: (..., n, k) @ "
            "(..., k, m) wants equal k, and leading axes that broadcast."
        ) from None

    def backward(g, needs):
        A = a if a.ndim > 1 else a[None, :]  # (..., n, k)
        B = b if b.ndim > 1 else b[:, None]  # (..., k, m)
        G = g if b.ndim > 1 else g[..., None]
        G = G if a.ndim > 1 else np.expand_dims(G, -2)  # (..., n, m)
        da = db = None
        if needs[0]:
            da = _product(G, B.swapaxes(-1, -2))  # summed over j
            da = da if a.ndim > 1 else da[..., 0, :]
        if needs[1]:
            if B.ndim == 2:
                db = _rows(A).T @ _rows(G)  # summed over i and the batch
            else:
                db = A.swapaxes(-1, -2) @ G  # summed over i
            db = db if b.ndim > 1 else db[..., 0]
        return da, db

    return y, backward


@shapes
@differentiable
def linear(x, weight, bias=None):
    """Y = X W^T + b, for a weight stored (out, in), as torch stores it.

    x (..., in), weight (out, in), bias? (out,)  ->  y (..., out)

        y_o = sum_i x_i w_oi + b_o

        dX = G W,    dW = G^T X,    db = sum over the rows of G

    with all leading axes as rows.
    """
    X = _rows(x)  # (N, in)
    Y = X @ weight.T  # (N, out)
    if bias is not None:
        Y = Y + bias

    def backward(g, needs):
        G = _rows(g)  # (N, out)
        dx = (G @ weight).reshape(x.shape) if needs[0] else None  # summed over out
        dW = G.T @ X if needs[1] else None  # summed over the rows
        db = None  # the bias was broadcast over the rows
        if bias is not None and needs[2]:
            db = G.sum(0)
        return dx, dW, db

    return Y.reshape(x.shape[:-1] + weight.shape[:1]), backward


def _rows(a):
    """Join all leading axes: (..., k) -> (N, k)."""
    return a.reshape(math.prod(a.shape[:-1]), a.shape[-1])


def _product(a, b):
    """Return a @ b; a batch times one matrix is one product instead of many."""
    if a.ndim > 2 and b.ndim == 2:
        return (_rows(a) @ b).reshape(a.shape[:-1] + b.shape[1:])
    return a @ b
