"""E.4  Write the gradient check  ●●●○  45 min  needs E.2

A backward says what dL/dx is. So do differences, slowly and without a formula:

    L(x) = sum c y(x)        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h  +  O(h^2)

where e_i moves the entry i alone and c, as large as y, stands for the gradient that
would come from above. A check that a wrong backward passes is worse than none: c, the
inputs, and what "near enough" means all have to be chosen so that it can fail.

An op here returns (y, backward); backward(g) returns one gradient of x's shape.
"""

import numpy as np

from lessons import NotWritten


def numeric_gradient(f, x, c, h=1e-5):
    """dL/dx for L = sum c f(x), by central differences: an array like x (…).

    f takes an array like x and returns one like c. Nothing is written into x:
    what is moved is a copy.
    """
    raise NotWritten("E.4 numeric_gradient")


def is_right(op, x, rng):
    """Whether the backward of op is right at x. ``rng`` is a numpy Generator.

    True for a right one, whether its gradients are of the size of 1e-6 or of 1e6; False
    for one that is off by one part in a thousand in its largest entry, has the wrong
    shape, is NaN, or is not there (None).
    """
    raise NotWritten("E.4 is_right")
