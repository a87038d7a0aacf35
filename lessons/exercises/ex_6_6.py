"""6.6  The time of additive and of dot scores  ●●○○  30 min  book §6.3

Measure how long additive and dot scores of T states take, for T from 10 to 1000 and the
width d = 128. A measured time is useful only if you know exactly which code ran between
two readings of the clock. The check does not depend on the speed of your machine: it
examines which calls you time.
"""

import time

import numpy as np

from lessons import NotWritten


def _additive_scores(s, H, W_s, W_h, v):
    """Return e_j = v . tanh(W_s s + W_h h_j): s (d,), H (T, d)  ->  (T,)"""
    return np.tanh(W_s @ s + H @ W_h.T) @ v


def dot_scores(s, H):
    """Return e_j = s . h_j for all j, as one product of a matrix and a vector.

    s (d,), H (T, d)  ->  (T,)
    """
    raise NotWritten("6.6 dot_scores")


def which_clock():
    """Return the function of ``time`` to measure with: the function, not its result.

    It returns seconds, never goes back, includes the time in which the process waits,
    and has the finest resolution.
    """
    raise NotWritten("6.6 which_clock")


def time_it(fn, repeats, clock):
    """Return the median time of a call fn(), in seconds.

    clock    a function without arguments that returns the time

    Call fn once without measuring, because a first call may load modules, compile and
    fill caches. Then call it ``repeats`` times, and read the clock before and after
    each call.
    """
    raise NotWritten("6.6 time_it")


def compare(Ts, d, repeats, rng, timer):
    """Return the seconds of both scores for each length in Ts.

    timer  timer(fn, repeats) -> seconds, where fn is a function without arguments
    rng    draws s, H, W_s, W_h and v, all N(0, 1), anew for each T

    Draw all numbers first, then time calls of ``_additive_scores`` and ``dot_scores``.
    ->  {"additive": [seconds for each T], "dot": [seconds for each T]}
    """
    raise NotWritten("6.6 compare")


def exponent(Ts, seconds):
    """Return b of seconds = a T^b, from a least-squares line through the logarithms."""
    raise NotWritten("6.6 exponent")
