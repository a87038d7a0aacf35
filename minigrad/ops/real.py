"""Conversion of integers to float64, for operations whose results are real numbers."""

import numpy as np


def real(x):
    """Return ``x`` as an array; integers and booleans become float64.

    Without it, NumPy would compute exp of int8 numbers in float16. Operations that call
    a NumPy function such as exp or log convert their input with it. Sums, products and
    choices of integers are integers, as in NumPy.
    """
    x = np.asarray(x)
    return x.astype(np.float64) if x.dtype.kind in "biu" else x
