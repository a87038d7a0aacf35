"""6.5  Bahdanau attention by hand  ●●●○  45 min  needs 6.1, E.2  book §6.2

Compute additive attention and its backward with NumPy arrays and the chain rule: one
decoder state s attends to S encoder states h_j. Do not use a layer or an autograd; the
softmax and its backward are yours, of E.2.

    e_j   = v . tanh(W_s s + W_h h_j)
    alpha = softmax(e)  over the positions that the mask allows, 0 elsewhere
    c     = sum_j alpha_j h_j

Shapes: s (d_s,), H (S, d_h) with one state in each row, W_s (d_a, d_s), W_h (d_a, d_h),
v (d_a,), mask (S,) bool. True allows a position; at least one position is True.
"""

import numpy as np

from lessons import NotWritten
from lessons import earlier

softmax = earlier(__file__, "E.2", "softmax")  # y, backward = softmax(x)


def bahdanau_forward(s, H, W_s, W_h, v, mask):
    """Return the context c (d_h,) and the weights alpha (S,)."""
    raise NotWritten("6.5 bahdanau_forward")


def bahdanau_backward(s, H, W_s, W_h, v, mask, g):
    """Return the gradients of all inputs and intermediates, from g = dL/dc (d_h,).

    ->  a dictionary of dL/d(...), in the order of the chain rule: "alpha" (S,),
    "e" (S,), "pre" (S, d_a) for the argument of tanh, "v", "W_s", "W_h", "s", "H"
    """
    raise NotWritten("6.5 bahdanau_backward")
