"""E.4  Write the gradient check  ●●●○  45 min  needs E.2

A backward computes dL/dx from a formula. Differences compute it slowly and without one:

    L(x) = sum c y(x)        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h  +  O(h^2)

e_i is 1 in entry i and 0 elsewhere. c has the shape of y and stands for dL/dy. A check
that accepts a wrong backward is worse than none: choose c and the tolerance so that
every wrong backward fails.

An op here returns (y, backward); backward(g) returns one gradient of the shape of x.
"""

import numpy as np


def numeric_gradient(f, x, c, h=1e-5):
    """Return dL/dx for L = sum c f(x), by central differences: an array like x (…).

    f takes an array like x and returns an array like c. Do not write into x: move an
    entry of a copy.
    """
    # BEGIN SOLUTION
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        found[i] = (c * (f(up) - f(down))).sum() / (2 * h)
    return found
    # END SOLUTION


def is_right(op, x, rng):
    """Return whether the backward of op is right at x. ``rng`` is a numpy Generator.

    True for a right one, also if its gradients are of the size of 1e-6 or of 1e6. False
    for one that is wrong by one part in a thousand in its largest entry, has the wrong
    shape, is NaN, or is None.
    """
    # BEGIN SOLUTION
    y, backward = op(x)
    c = rng.normal(size=np.shape(y))
    yours = backward(c)
    if yours is None or np.shape(yours) != x.shape:
        return False
    numeric = numeric_gradient(lambda x: op(x)[0], x, c)
    scale = np.abs(numeric).max()
    # NaN <= 1 is False
    return bool(np.all(np.abs(yours - numeric) <= 1e-5 * scale))
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "A random c weights all outputs differently, so errors cannot cancel in a sum, as "
    "they do with ones after a softmax. A tolerance relative to the largest gradient "
    "accepts rounding at every size and refuses one part in a thousand."
)


EQUIVALENT = {
    "np.abs(yours - numeric) <= 1e-05 * scale -> "
    "np.abs(yours - numeric) < 1e-05 * scale": "no difference is exactly the tolerance"
}
