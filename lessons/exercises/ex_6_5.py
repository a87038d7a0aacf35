"""6.5  Bahdanau attention by hand  ●●●○  45 min  needs 6.1, E.2  book §6.2

One decoder state s looks at S encoder states h_j. There is no layer here and no
autograd: three arrays of numbers, and the chain rule.

    e_j   = v . tanh(W_s s + W_h h_j)
    alpha = softmax(e)  over the positions that the mask allows, 0 elsewhere
    c     = sum_j alpha_j h_j

Shapes: s (d_s,), H (S, d_h) with a state a row, W_s (d_a, d_s), W_h (d_a, d_h),
v (d_a,), mask (S,) bool, True = may be attended to, True at one position at least.
"""

import numpy as np

from lessons import NotWritten


def bahdanau_forward(s, H, W_s, W_h, v, mask):
    """c (d_h,), alpha (S,)"""
    raise NotWritten("6.5 bahdanau_forward")


def bahdanau_backward(s, H, W_s, W_h, v, mask, g):
    """The gradient of everything, from g = dL/dc (d_h,).

    ->  a dictionary of dL/d(...), in the order in which they are found: "alpha" (S,),
    "e" (S,), "pre" (S, d_a) of the argument of tanh, then "v", "W_s", "W_h", "s", "H"
    """
    raise NotWritten("6.5 bahdanau_backward")
