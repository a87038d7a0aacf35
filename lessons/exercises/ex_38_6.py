"""38.6  What only the additive score can do  ●●○○  25 min  needs 38.1  book §38.1

    additive   e(h) = v_a . tanh(W_a [s; h])        general   e(h) = s^T W_g h

The chapter states that every score but the additive one grows with s . h. One matrix
W_g disproves this. The real difference appears on a line: of three keys, the middle one
can have the highest additive score.
"""

import numpy as np

from lessons import NotWritten
from lessons.classroom.theory import Chain


def witness():
    """Return an additive score that is highest for the middle one of three keys.

    ->  W_a (d_a, d_s + d_h), v_a (d_a,), s (d_s,), h1, h2, h3 (d_h,)
    with h2 = (h1 + h3) / 2 exactly, and e(h2) > e(h1), e(h2) > e(h3)

    Choose all widths yourself. [s; h] contains the entries of s first.
    """
    raise NotWritten("38.6 witness")


def proof():
    """Return a chain that shows: the general score of the middle is the mean.

    So no general score is highest there. A chain, as in 38.1, of functions of (s, W_g,
    h1, h3), from the score of the middle, s @ W_g @ ((h1 + h3) / 2), to the mean of the
    scores of h1 and h3. Use one law in each step: move a number out of the product, or
    write the product with a sum as a sum of products.
    """
    raise NotWritten("38.6 proof")


def counterexample():
    """Return a general score that falls where s . h grows.

    ->  W_g (d, d), s (d,), h1, h2 (d,), with s . h1 < s . h2 and a general score that
        is higher for h1 than for h2
    """
    raise NotWritten("38.6 counterexample")


def situation():
    """Return a string: one situation that needs the additive score, and why.

    Write five words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("38.6 situation")
