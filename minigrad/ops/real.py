"""Convert integers for the functions whose values are real numbers."""

import numpy as np


def real(x):
    """Return ``x`` as an array; integers and booleans become float64.

    NumPy would compute exp of small integers in float16 and -x of unsigned ones modulo
    a power of two. Every operation whose result is a real number begins with this
    function. Sums, products and choices of integers are integers, as in NumPy.
    """
    x = np.asarray(x)
    return x.astype(np.float64) if x.dtype.kind in "biu" else x
