"""38.6  What only the additive score can do  ●●○○  25 min  needs 38.1  book §38.1

    additive   e(h) = v_a . tanh(W_a [s; h])        general   e(h) = s^T W_g h

The chapter says that only the additive score need not grow with s . h. That is not what
sets it apart, as one matrix W_g shows. What does is found on a line: of three keys, the
one in the middle can have the highest additive score.
"""

import numpy as np

from lessons import NotWritten
from lessons.classroom.theory import Chain


def witness():
    """An additive score that prefers the middle one of three keys.

    ->  W_a (d_a, d_s + d_h), v_a (d_a,), s (d_s,), h1, h2, h3 (d_h,)
    with h2 = (h1 + h3) / 2 exactly, and e(h2) > e(h1), e(h2) > e(h3)

    All widths are yours to choose. [s; h] has the entries of s first.
    """
    raise NotWritten("38.6 witness")


def proof():
    """Why no general score can: in the middle it has the mean of the end scores.

    A chain, as in 38.1, of functions of (s, W_g, h1, h3), from the score of the point
    in the middle, s @ W_g @ ((h1 + h3) / 2), to the mean of the scores of h1 and h3.
    """
    raise NotWritten("38.6 proof")


def counterexample():
    """Against "only additive": a general score that falls where s . h grows.

    ->  W_g (d, d), s (d,), h1, h2 (d,), with s . h1 < s . h2 and a general score that
        is higher for h1 than for h2
    """
    raise NotWritten("38.6 counterexample")


def situation():
    """One situation in which you would pay for the additive score, and why: a string.

    Not graded; what a good answer contains is shown once you have written one.
    """
    raise NotWritten("38.6 situation")
