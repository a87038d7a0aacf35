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
    return np.eye(d)  #? W_a[i, k] multiplies s_i h_k: which of these terms are in s . h?
    #! return np.eye(d) / np.sqrt(d)  | the W_a of s . h / sqrt(d)
    #! return np.eye(d)[::-1]  | the W_a of s . h with h reversed


def dot(s, h):
    """Return the number s . h for vectors s (d_s,) and h (d_h,). If d_s and d_h differ,
    raise ValueError with a message that contains both widths.
    """
    if len(s) != len(h):  #? Which widths does a sum of s_k h_k need, and who compares them?
        raise ValueError(f"dot: widths {len(s)} and {len(h)}; expected two equal ones.")
    return s @ h  #? s . h = sum_k s_k h_k: which factors, and how many terms?
    #! return s.sum() * h.sum()  | sum(s) * sum(h)
    #! return s @ h / np.sqrt(len(s))  | s . h / sqrt(d)
    #! return s @ h / np.sqrt(s @ s * (h @ h))  | the cosine of s and h
    #! return s @ h[::-1]  | s . h with h reversed
    #! return (s * h).mean()  | the mean of the products s_k h_k
    #! return np.linalg.norm(s - h)  | the distance from s to h
    #! return s @ h / (s @ s)  | s . h / s . s
    #! return abs(s @ h)  | |s . h|, which is never negative
    #! return (s @ h) ** 2  | the square of s . h
    #! return s[:-1] @ h[:-1]  | the sum without its last term
    #! return s[1:] @ h[1:]  | the sum without its first term


def recover_W(score, d_s, d_h):
    """Return the W_a (d_s, d_h) of a bilinear score that is given as a function.

    score  a function (s, h) -> number, for vectors s (d_s,) and h (d_h,), which you
           may call d_s d_h times
    """
    W = np.empty((d_s, d_h))
    for i, s in enumerate(np.eye(d_s)):
        for k, h in enumerate(np.eye(d_h)):  #? Which entries of W_a does the score add if h has two 1s?
            W[i, k] = score(s, h)  #? s picks a row of W_a, h a column: which entry is this?
    return W  #? Where does ``return`` stand: inside the loop, or after it?


def W_after_change(R):
    """Return the W_a that keeps all dot scores after the encoder changes coordinates.

    Every state h becomes R h, with an invertible R (d, d), and s stays as it is:
    bilinear(s, R h) with this W_a is dot(s, h)  ->  (d, d)
    """
    return np.linalg.inv(R)  #? s^T W_a (R h) is to be s^T h: which matrix is W_a R?
    #! return R.T  | the transpose of R, which is the inverse of a rotation only
    #! return -R  | -R, which changes the coordinates a second time
    #! return R @ R.T  | R R^T
    #! return np.linalg.inv(R.T @ R)  | the inverse of R^T R
    #! return np.linalg.inv(R @ R)  | the inverse of R, twice
    #! return np.eye(len(R))  | the identity, W_a before the change
    #! return 1 / R  | 1 / R, entry by entry
    #= return np.linalg.solve(R, np.eye(len(R)))


def explanation():
    """Return a string: what does W_a = I say about the spaces of encoder and decoder?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? With which entry of h is s_k compared, if W_a = I?
        "one space, with the same axes and units for s and h: s_k meets h_k alone\n"
        "who makes it so: both networks have to learn to agree; the score cannot\n"
        "a general W_a changes coordinates: it turns, stretches, drops directions, and "
        "joins different widths\n"
        "the symmetry: dot(s, h) = dot(h, s); a general W_a need not be symmetric"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.words import your_own_words  # noqa: F401
from lessons.course.outcome import CheckFailed


def bilinear(W):
    """Return a bilinear score, and the list of its calls."""
    calls = []

    def score(s, h):
        calls.append((s, h))
        return s @ W @ h

    return score, calls


def all_four(my, rng):
    """the same score either way, unknown matrices, and the score after h becomes R h"""
    for d in (3, 5, 7, 1):
        my.dot(rng.normal(size=d), rng.normal(size=d))
        W = my.only.W_for_dot(d)  # of integers or of floats
        my.holds("W_for_dot", np.shape(W) == (d, d), f"the shape {d, d}", np.shape(W), "shape")
        for (i, k), n in np.ndenumerate(np.eye(d)):
            expected = f"{n:g} in W_a[{i}, {k}]: s . h has {'a' if n else 'no'} term s_i h_k"
            tag = "unknown" if n else "off-diagonal"
            my.holds("W_for_dot", W[i, k] == n, expected, f"{W[i, k]:g}", tag)
    for d_s, d_h in ((3, 5), (5, 3), (7, 2), (1, 5), (3, 3), (1, 1)):
        score, calls = bilinear(rng.normal(size=(d_s, d_h)))
        my.recover_W(score, d_s, d_h)
        n = len(calls) - d_s * d_h  # those of the reference
        at_most = f"{d_s * d_h} calls of score or fewer"
        my.holds("recover_W", n <= d_s * d_h, at_most, n, "too-many")
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for R in (rng.normal(size=(3, 3)), rng.normal(size=(5, 5)), 3 * turn):
        my.near(1e-6).W_after_change(R)


def widths_that_differ(my, rng):
    """different widths: dot raises ValueError"""
    for d_s, d_h in ((5, 3), (3, 5), (1, 7), (7, 1)):
        try:
            error = my.only.dot(rng.normal(size=d_s), rng.normal(size=d_h))
        except CheckFailed as failure:
            error = failure.__cause__
        expected = f"a ValueError of your own, whose message contains {d_s} and {d_h}"
        is_own = isinstance(error, ValueError) and "matmul" not in str(error)
        tag = "error-type" if isinstance(error, Exception) else "no-error"
        has_both = str(d_s) in str(error) and str(d_h) in str(error)
        tag = "error-text" if is_own else tag
        my.holds("dot", is_own and has_both, expected, repr(error), tag)


HINTS = """
dot  Compare the two widths before you multiply; both belong in the message.
1  s^T W_a h = sum_i sum_k s_i W_ik h_k. Which of these terms are in s . h?
2  Call the score with vectors that contain a single 1: one term of the sum remains.
3  s^T W_a R h must equal s^T h for all s and h. What is the product W_a R?
"""
WHY = """With unit vectors a score returns one entry of W_a at a time, so it has only one
W_a. After h becomes R h, s^T W_a R h equals s^T h for all vectors only if W_a R is I."""
