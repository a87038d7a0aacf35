"""Keep some entries of a gradient and set the others to zero, faster than np.where."""

import numpy as np


def select(condition, g):
    """Return g where the condition is true, otherwise 0: ``np.where(condition, g, 0)``.

    condition   boolean
    g           floating-point numbers; the two are broadcast together

    This function is about ten times faster than ``np.where`` where true and false
    alternate irregularly. It combines the bits of g with the bits of a mask: "and" with
    all ones (the integer -1) keeps a number, and "and" with zeros makes it 0. The
    product g * condition is as fast, but inf * 0 = NaN.
    """
    g = np.asarray(g)
    if g.itemsize > 8:  # no integers are as long as a np.longdouble
        return np.where(condition, g, 0)
    bits = f"i{g.itemsize}"
    mask = np.asarray(condition).astype(bits)
    np.negative(mask, out=mask)
    return (g.view(bits) & mask).view(g.dtype)
