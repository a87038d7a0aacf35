"""6.6  The time of additive and of dot attention  ●●○○  35 min  needs 6.5  book §6.3

Measure how long a whole forward pass takes, from the states to the context: with your
additive attention of 6.5, and with dot scores, for T from 10 to 1000 states of width
128. A measured time is useful only if you know exactly which code ran between two
readings of the clock. The check does not depend on the speed of your machine: it
examines which calls you time. Neither pass may contain a Python loop over the states.
If your 6.5 has one, rewrite it with arrays first. ``python -m lessons experiment 6.6``
takes 100 passes of each.
"""

import time

import numpy as np

from lessons import NotWritten
from lessons import earlier

bahdanau_forward = earlier(__file__, "6.5", "bahdanau_forward")  # yours


def luong_forward(s, H, mask):
    """Return the context c (d,) and the weights alpha (T,) of dot scores e_j = s . h_j.

    s (d,), H (T, d), mask (T,) bool, as in 6.5. All scores are one product of a matrix
    and a vector.
    """
    raise NotWritten("6.6 luong_forward")


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
    """Return the seconds of both forward passes for each length in Ts.

    timer  timer(fn, repeats) -> seconds, where fn is a function without arguments
    rng    a np.random.Generator: draws s, H, W_s, W_h and v, all N(0, 1), anew for
           each T; all widths are d, also the d_a of W_s, W_h and v

    Draw all numbers first, then time calls of ``bahdanau_forward`` and
    ``luong_forward``, with a mask that allows all positions and is made before, too.
    ->  {"additive": [seconds for each T], "dot": [seconds for each T]}
    """
    raise NotWritten("6.6 compare")


def exponent(Ts, seconds):
    """Return b of seconds = a T^b, from a least-squares line through the logarithms."""
    raise NotWritten("6.6 exponent")


def draw(fig, Ts, seconds):
    """Draw both rows of ``seconds`` against Ts into a matplotlib figure.

    One panel, both axes logarithmic and with a label, and a legend.
    """
    raise NotWritten("6.6 draw")


def explanation():
    """Return a string: which factor did you measure between the two, and does the
    count of operations explain it?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.6 explanation")
