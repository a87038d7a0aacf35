"""6.1  Uniform attention is the mean  ●○○○  15 min  book §6.2

With equal weights, attention returns the mean of what it attends to. Which scores give
equal weights, and what does such attention teach the states that it averages?

    alpha = softmax(e)          c = sum_j alpha_j h_j
"""

import numpy as np

from lessons import NotWritten


def weights(e):
    """alpha = softmax(e), e (T,), whatever the size of the scores."""
    raise NotWritten("6.1 weights")


def context(alpha, H):
    """c = sum_j alpha_j h_j, alpha (T,), H (T, d) with a state a row  ->  c (d,)"""
    raise NotWritten("6.1 context")


def context_backward(alpha, H, g):
    """What g = dL/dc (d,) means for the weights and the states.

    ->  d_alpha (T,), d_H (T, d)
    """
    raise NotWritten("6.1 context_backward")


def is_uniform(e):
    """Whether softmax(e), in exact arithmetic, has equal weights."""
    raise NotWritten("6.1 is_uniform")
