"""E.4  Write the gradient check  ●●●○  45 min  needs E.2

A backward computes dL/dx from a formula. Differences compute it slowly and without one:

    L(x) = sum c y(x)        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h  +  O(h^2)

e_i is 1 in entry i and 0 elsewhere. c has the shape of y and stands for dL/dy. A check
that accepts a wrong backward is worse than none: choose c and the tolerance so that
every wrong backward fails.

An op here returns (y, backward); backward(g) returns one gradient of the shape of x.
"""

import numpy as np

from lessons import NotWritten


def numeric_gradient(f, x, c, h=1e-5):
    """Return dL/dx for L = sum c f(x), by central differences: an array like x (…).

    f takes an array like x and returns an array like c. Do not write into x: move an
    entry of a copy.
    """
    raise NotWritten("E.4 numeric_gradient")


def is_right(op, x, rng):
    """Return whether the backward of op is right at x. ``rng`` is a numpy Generator.

    True for a right one, also if its gradients are of the size of 1e-6 or of 1e6. False
    for one that is wrong by one part in a thousand in its largest entry, has the wrong
    shape, is NaN, or is None.
    """
    raise NotWritten("E.4 is_right")
