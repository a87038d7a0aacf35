"""6.1  Uniform attention is the mean  ●○○○  15 min  book §6.2

With equal weights, attention returns the mean of the states. Which scores give equal
weights? And which gradient does each state receive from such attention?

    alpha = softmax(e)          c = sum_j alpha_j h_j
"""

import numpy as np

from lessons import NotWritten


def weights(e):
    """Return alpha = softmax(e) for the scores e (T,), also for very large scores."""
    raise NotWritten("6.1 weights")


def context(alpha, H):
    """Return c = sum_j alpha_j h_j.

    alpha (T,), H (T, d) with one state in each row  ->  c (d,)
    """
    raise NotWritten("6.1 context")


def context_backward(alpha, H, g):
    """Return the gradients of the weights and of the states, from g = dL/dc (d,).

    ->  d_alpha (T,), d_H (T, d)
    """
    raise NotWritten("6.1 context_backward")


def is_uniform(e):
    """Return whether softmax(e) has equal weights, in exact arithmetic."""
    raise NotWritten("6.1 is_uniform")


def explanation():
    """Return a string: why do equal weights serve most tasks badly, and what do they
    say about the scores e_j?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.1 explanation")
