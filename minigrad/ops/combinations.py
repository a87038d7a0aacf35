"""Functions with PyTorch's names that combine operations: masked_fill, triu, ...

They have no backward: the operations that they call have one.
"""

import numpy as np

from ..arguments import plain, whole
from ..shapes import shapes
from ..torch_names import explained
from .arithmetic import pow, sub, where
from .matmul import matmul
from .reduce import mean
from .shape import astype


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
    return where(_lower_triangle("tril", x, diagonal), x, 0.0)


def triu(x, diagonal=0):
    """Return x (..., n, m) with zeros below a diagonal; 0 is the main one."""
    return where(_lower_triangle("triu", x, diagonal, strictly=True), 0.0, x)


@explained
def mse_loss(y, target):
    """Return the mean of (y - target)^2; of integers it is computed in float64.

    The two have one shape, or one of them is a number.
    """
    found = plain(y).shape, plain(target).shape
    if found[0] != found[1] and () not in found:
        raise ValueError(
            f"mse_loss: y has shape {found[0]} and target {found[1]}; expected one "
            "shape, because each entry has its own target."
        )
    dtype = np.result_type(plain(y), plain(target))
    if dtype.kind in "biu":  # y - target could wrap
        y = astype(y, np.float64)
    if dtype == np.float16:  # the squares could overflow
        return astype(mse_loss(astype(y, np.float32), target), dtype)
    return mean(pow(sub(y, target), 2))


def _lower_triangle(name, x, diagonal, strictly=False):
    """Return a mask (n, m): True on the diagonal and below, or ``strictly`` below."""
    whole(name, "diagonal", diagonal, least=None)
    shape = plain(x).shape
    if len(shape) < 2:
        raise ValueError(f"{name}: x has shape {shape}; expected (..., n, m).")
    return np.tri(*shape[-2:], diagonal - strictly, dtype=bool)
