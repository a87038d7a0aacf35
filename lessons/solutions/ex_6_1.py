"""6.1  Uniform attention is the mean  ●○○○  15 min  book §6.2

With equal weights, attention returns the mean of the states. Which scores give equal
weights? And which gradient does each state receive from such attention?

    alpha = softmax(e)          c = sum_j alpha_j h_j
"""

import numpy as np


def weights(e):
    """Return alpha = softmax(e) for the scores e (T,), also for very large scores."""
    # BEGIN SOLUTION
    z = np.exp(e - e.max())  # the largest exponent is 0, so nothing overflows
    return z / z.sum()
    # END SOLUTION


def context(alpha, H):
    """Return c = sum_j alpha_j h_j.

    alpha (T,), H (T, d) with one state in each row  ->  c (d,)
    """
    # BEGIN SOLUTION
    return alpha @ H
    # END SOLUTION


def context_backward(alpha, H, g):
    """Return the gradients of the weights and of the states, from g = dL/dc (d,).

    ->  d_alpha (T,), d_H (T, d)
    """
    # BEGIN SOLUTION
    d_alpha = H @ g
    d_H = np.outer(alpha, g)  # dc/dh_j is alpha_j
    return d_alpha, d_H
    # END SOLUTION


def is_uniform(e):
    """Return whether softmax(e) has equal weights, in exact arithmetic."""
    # BEGIN SOLUTION
    return bool(np.all(e == e[0]))
    # END SOLUTION


def explanation():
    """Return a string: why do equal weights serve most tasks badly, and what do they
    say about the scores e_j?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "The mean of all states is the same for every step of the decoder: it does "
        "not depend on what is written next, so it is the fixed vector again that "
        "attention was made to replace, and the order and the rare words are lost in "
        "it. All scores are equal: e_j does not depend on j, so the query prefers no "
        "state."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "A softmax ignores a number that is added to all scores, and gives equal scores "
    "equal weights; different scores have different exponentials. The context is "
    "linear in the states, so each state receives its weight times g."
)
