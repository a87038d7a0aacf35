"""Functions with PyTorch's names that combine operations: masked_fill, triu, ...

They have no backward: the operations that they call have one.
"""

import numpy as np

from ..shapes import shapes
from .arithmetic import where
from .matmul import matmul


@shapes
def bmm(a, b):
    """Return the product of each pair of matrices.

    a (B, n, k), b (B, k, m)  ->  y (B, n, m)
    """
    return matmul(a, b)


def masked_fill(x, mask, value):
    """Return x with ``value`` where the mask is True."""
    return where(mask, value, x)


def tril(x, diagonal=0):
    """Return x (..., n, m) with zeros above a diagonal; 0 is the main one."""
    return where(np.tri(*x.shape[-2:], diagonal, dtype=bool), x, 0.0)


def triu(x, diagonal=0):
    """Return x (..., n, m) with zeros below a diagonal; 0 is the main one."""
    return where(np.tri(*x.shape[-2:], diagonal - 1, dtype=bool), 0.0, x)


def mse_loss(y, target):
    """Return the mean of (y - target)^2."""
    return ((y - target) ** 2).mean()
