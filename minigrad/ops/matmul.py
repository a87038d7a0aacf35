"""Matrix products.

    Y = A B,   y_ij = sum_k a_ik b_kj        (..., n, k) @ (..., k, m)  ->  (..., n, m)

G is the matrix of the g_ij = dL/dy_ij, and dA is short for dL/dA:

    dL/da_ik = sum_j g_ij b_kj   =>   dA = G B^T
    dL/db_kj = sum_i a_ik g_ij   =>   dB = A^T G

A matrix product sums over the last axis of its left matrix and the first axis of its
right one. The sum over j needs j as the first axis of the right matrix, but j is the
last axis of B. The sum over i needs i as the last axis of the left matrix, but i is the
first axis of A. So both are transposed.
"""

import math

import numpy as np

from ..differentiable import differentiable
from ..loops import replaceable
from ..shapes import shapes


@differentiable
def matmul(a, b, *, needs=(True, True)):
    """Y = A B, over the last two axes; leading axes are broadcast. The operator is @.

    A vector on the left is treated as a row and a vector on the right as a column; the
    result does not have the extra axis, as in ``numpy.matmul``.

    Raises ValueError if the shapes do not fit.
    """
    a, b = np.asarray(a), np.asarray(b)
    y = _product(a, b)  # a @ b, also for many matrices a and one b

    def backward(g):
        A, B, G = _as_matrices(a, b, g)  # (..., n, k), (..., k, m), (..., n, m)
        dA = dB = None
        if needs[0]:
            dA = _product(G, B.swapaxes(-1, -2))  # G B^T, the sum over j
            dA = dA[..., 0, :] if a.ndim == 1 else dA  # the row, as a vector
        if needs[1]:
            # A^T G, the sum over i; if B is one matrix for many A, also over the A
            dB = _transposed_product(A, G, B.ndim)
            dB = dB[..., 0] if b.ndim == 1 else dB  # the column, as a vector
        return dA, dB

    return y, backward


@shapes
@differentiable
@replaceable
def linear(x, weight, bias=None, *, needs=(True, True, True)):
    """Y = X W^T + b. The weight W has the shape (out, in), as in PyTorch.

    x (..., in), weight (out, in), bias? (out,)  ->  y (..., out)

    ``@shapes`` checks the tensors against the line above (``bias?`` may be None).
    ``@differentiable`` passes their arrays on. ``@replaceable`` calls this function, or
    a compiled loop that computes the same. All leading axes together are the N rows i
    of the matrices X, Y and G (g as rows):

        y_ij = sum_k x_ik w_jk + b_j

        dX = G W,    dW = G^T X,    db_j = sum_i g_ij
    """
    X = _rows(x)  # (N, in)
    Y = X @ weight.T  # (N, out)
    if bias is not None:
        Y = Y + bias

    def backward(g):
        G = _rows(g)  # (N, out)
        dx = (G @ weight).reshape(x.shape) if needs[0] else None  # the sum over j
        dW = G.T @ X if needs[1] else None  # the sum over i
        db = None
        if bias is not None and needs[2]:
            db = G.sum(0)  # the sum over i, because b was broadcast over the rows
        return dx, dW, db

    return Y.reshape(x.shape[:-1] + weight.shape[:1]), backward


# ---- A first reading can stop here ----


def _product(a, b):
    """Return a @ b. Multiply a batch by one matrix in a single product of all rows."""
    try:
        if a.ndim > 2 and b.ndim == 2:
            return (_rows(a) @ b).reshape(a.shape[:-1] + b.shape[1:])
        return a @ b
    except ValueError:
        raise ValueError(
            f"matmul: shapes {a.shape} and {b.shape} do not fit: in (..., n, k) @ "
            "(..., k, m), k must be equal, and the leading axes must broadcast."
        ) from None


def _transposed_product(A, G, b_ndim):
    """Return A^T G; if B has no leading axes, the sum of A^T G over the leading axes.

    The product of all rows, (N, k)^T (N, m), is this sum. If B has leading axes and was
    broadcast, ``broadcasting.unbroadcast`` computes the sum.
    """
    if b_ndim == 2:
        return _rows(A).T @ _rows(G)
    return A.swapaxes(-1, -2) @ G


def _as_matrices(a, b, g):
    """Return A, B and G of Y = A B: a vector a becomes a row, a vector b a column."""
    if b.ndim == 1:
        b, g = b[:, None], g[..., None]
    if a.ndim == 1:
        a, g = a[None, :], g[..., None, :]
    return a, b, g


def _rows(a):
    """Merge all leading axes into one: (..., k) -> (N, k)."""
    return a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
