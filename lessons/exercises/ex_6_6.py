"""6.6  How long does it take?  ●●○○  30 min  book §6.3

Additive and dot scores of T states, T from 10 to 1000, of width d = 128: which is
faster, and by how much? A number of seconds says something only if one knows what was
timed. Nothing here depends on your machine being fast; all depends on what stands
between two looks at the clock.
"""

import time

import numpy as np

from lessons import NotWritten


def _additive_scores(s, H, W_s, W_h, v):
    """e_j = v . tanh(W_s s + W_h h_j), s (d,), H (T, d), matrices (d, d)  ->  (T,)"""
    return np.tanh(W_s @ s + H @ W_h.T) @ v


def dot_scores(s, H):
    """e_j = s . h_j for all j, as one product of a matrix and a vector.

    s (d,), H (T, d)  ->  (T,)
    """
    raise NotWritten("6.6 dot_scores")


def which_clock():
    """The function of ``time`` to measure with; the function itself, not a reading.

    It reads in seconds, never goes back, counts waiting as well as computing, and has
    the finest ticks.
    """
    raise NotWritten("6.6 which_clock")


def time_it(fn, repeats, clock):
    """How many seconds one call of fn() takes, by ``clock``, which takes no arguments.

    One call first that is not timed: it may load, compile, fill caches. Then as many
    as ``repeats``, each between two readings of its own  ->  the median of their times
    """
    raise NotWritten("6.6 time_it")


def compare(Ts, d, repeats, rng, timer):
    """The seconds of both scores for each length in Ts.

    timer  timer(fn, repeats) -> seconds, of calls fn() without arguments
    rng    for s, H, W_s, W_h and v, all N(0, 1), drawn anew for each T

    ->  {"additive": [seconds for each T], "dot": [the same]}
    """
    raise NotWritten("6.6 compare")


def exponent(Ts, seconds):
    """The b of seconds = a T^b: a line of least squares through the logarithms."""
    raise NotWritten("6.6 exponent")
