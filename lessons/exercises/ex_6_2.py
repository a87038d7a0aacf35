"""6.2  The dot product is a bilinear score  ●○○○  20 min  book §6.3

    dot(s, h) = s . h            bilinear(s, h) = s^T W_a h

One matrix W_a makes the bilinear score equal to the dot product, and only one. You also
find the W_a of an unknown bilinear score by calling the score with chosen vectors. The
dot product assumes that s and h have the same coordinates: the last part shows which
W_a is needed when the coordinates of h change.
"""

import numpy as np

from lessons import NotWritten


def W_for_dot(d):
    """Return the W_a (d, d) for which the bilinear score is the dot product."""
    raise NotWritten("6.2 W_for_dot")


def dot(s, h):
    """Return the number s . h for vectors s (d_s,) and h (d_h,).

    Raise ValueError if d_s and d_h differ, with a message that contains both widths.
    """
    raise NotWritten("6.2 dot")


def recover_W(score, d_s, d_h):
    """Return the W_a (d_s, d_h) of a bilinear score that is given as a function.

    score  a function (s, h) -> number, for vectors s (d_s,) and h (d_h,)

    Call ``score`` d_s d_h times at most.
    """
    raise NotWritten("6.2 recover_W")


def W_after_change(R):
    """Return the W_a that keeps all dot scores after the encoder changes coordinates.

    Every state h becomes R h, with an invertible R (d, d), and s stays as it is:
    bilinear(s, R h) with this W_a is dot(s, h)  ->  (d, d)
    """
    raise NotWritten("6.2 W_after_change")


def explanation():
    """Return a string: what does W_a = I say about the spaces of the encoder and of
    the decoder?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.2 explanation")
