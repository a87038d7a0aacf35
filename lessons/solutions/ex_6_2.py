"""6.2  The dot product is a bilinear score  ●○○○  20 min  book §6.3

    dot(s, h) = s . h            bilinear(s, h) = s^T W_a h

One matrix W_a makes the bilinear score equal to the dot product, and only one. You also
find the W_a of an unknown bilinear score by calling the score with chosen vectors. The
dot product assumes that s and h have the same coordinates: the last part shows which
W_a is needed when the coordinates of h change.
"""

import numpy as np


def W_for_dot(d):
    """Return the W_a (d, d) for which the bilinear score is the dot product."""
    # BEGIN SOLUTION
    return np.eye(d)
    # END SOLUTION


def dot(s, h):
    """Return the number s . h for vectors s (d_s,) and h (d_h,).

    Raise ValueError if d_s and d_h differ, with a message that contains both widths.
    """
    # BEGIN SOLUTION
    if len(s) != len(h):
        raise ValueError(
            f"dot: s has {len(s)} entries, h has {len(h)}; expected as many."
        )
    return s @ h
    # END SOLUTION


def recover_W(score, d_s, d_h):
    """Return the W_a (d_s, d_h) of a bilinear score that is given as a function.

    score  a function (s, h) -> number, for vectors s (d_s,) and h (d_h,)

    Call ``score`` d_s d_h times at most.
    """
    # BEGIN SOLUTION
    W = np.empty((d_s, d_h))
    for i, s in enumerate(np.eye(d_s)):
        for k, h in enumerate(np.eye(d_h)):
            W[i, k] = score(s, h)  # s picks row i of W_a, h its entry k
    return W
    # END SOLUTION


def W_after_change(R):
    """Return the W_a that keeps all dot scores after the encoder changes coordinates.

    Every state h becomes R h, with an invertible R (d, d), and s stays as it is:
    bilinear(s, R h) with this W_a is dot(s, h)  ->  (d, d)
    """
    # BEGIN SOLUTION
    return np.linalg.inv(R)
    # END SOLUTION


def explanation():
    """Return a string: what does W_a = I say about the spaces of the encoder and of
    the decoder?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "With W_a = I both states are vectors of one space with one set of axes: "
        "entry k of s means the same as entry k of h, and the angle between them is "
        "meaningful. Training has to make the two agree. Another W_a maps one space "
        "to the other first, also between different widths, and an orthogonal one "
        "only turns it."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "With unit vectors a bilinear score returns one entry of W_a at a time, so there "
    "is only one W_a for a given score. After h becomes R h, the score s^T W_a R h "
    "equals s^T h for all vectors only if W_a R is the identity."
)
