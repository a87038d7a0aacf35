"""6.2  The dot product is a bilinear score  ●○○○  20 min  book §6.3

    dot(s, h) = s . h            bilinear(s, h) = s^T W_a h

For one matrix W_a the second is the first. That matrix is the only one: a bilinear
score holds its W_a so openly that a few questions bring it to light. What the identity
takes for granted shows when one of the two spaces changes its coordinates.
"""

import numpy as np

from lessons import NotWritten


def W_for_dot(d):
    """The W_a (d, d) with which the bilinear score is the dot product."""
    raise NotWritten("6.2 W_for_dot")


def dot(s, h):
    """s . h, a number, of vectors s (d_s,) and h (d_h,).

    Raises ValueError where d_s and d_h differ, with a sentence that names both widths.
    """
    raise NotWritten("6.2 dot")


def recover_W(score, d_s, d_h):
    """The W_a (d_s, d_h) that is hidden in a bilinear score.

    score  a function (s, h) -> number, for vectors s (d_s,) and h (d_h,)

    It answers d_s d_h questions, and no more.
    """
    raise NotWritten("6.2 recover_W")


def W_after_change(R):
    """The W_a that keeps all dot scores when the encoder changes its coordinates.

    Every state h becomes R h, with an invertible R (d, d), and the s stay as they are:
    bilinear(s, R h) with this W_a is dot(s, h)  ->  (d, d)
    """
    raise NotWritten("6.2 W_after_change")
