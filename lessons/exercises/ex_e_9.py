"""E.9  Local-p: the gradient into the centre  ●●●○  40 min  needs E.1, E.2  book §38.7

A query that predicts where to look: p is its centre among S keys, and the weights of a
window around it are multiplied by a bell.

    p_t  = S sigmoid(v . tanh(W q_t))
    a_ts = align_ts exp(-(s - p_t)^2 / (2 sigma^2))          sigma = D / 2

Which keys are in the window jumps from key to key as p moves, so nothing can be learned
from that; and align does not depend on p. What tells p where to go is the bell alone.
"""

import numpy as np

from lessons import NotWritten


def gaussian(align, position, p, D):
    """The weights under the bell.

    align (T, W), position (T, W) the keys s of each window, p (T,)  ->  a (T, W),
    backward;  backward(g) returns (d_align, d_p)
    """
    raise NotWritten("E.9 gaussian")

    def backward(g):
        raise NotWritten("E.9 gaussian")

    return a, backward


def centre(q, W, v, S):
    """Where each query looks.

    q (T, d), W (k, d), v (k,)  ->  p (T,), backward;  backward(g) returns (dq, dW, dv)
    """
    raise NotWritten("E.9 centre")

    def backward(g):
        raise NotWritten("E.9 centre")

    return p, backward


def pull(g, align, H, position, p, D):
    """dL/dp (T,) from g = dL/dc (T, d), for the contexts c_t = sum_s a_ts h_s.

    H (S, d), one row a key; the others as in ``gaussian``
    """
    raise NotWritten("E.9 pull")
