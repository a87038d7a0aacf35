"""E.9  Local-p: the gradient of the centre  ●●●○  40 min  needs E.1, E.2  book §38.7

Local-p attention predicts where a query attends: p is the centre of a window among S
keys, and a Gaussian around p multiplies the weights of the window.

    p_t  = S sigmoid(v . tanh(W q_t))
    a_ts = align_ts exp(-(s - p_t)^2 / (2 sigma^2))          sigma = D / 2

D is the half-width of the window. align_ts is the softmax over the keys of the window.
This set changes in jumps as p moves, so it has no gradient, and align does not depend
on p. The gradient of p comes from the Gaussian only.
"""

import numpy as np

from lessons import NotWritten


def gaussian(align, position, p, D):
    """Return the weights a (T, n) and their backward.

    align (T, n), position (T, n) the keys s of each window, p (T,)  ->  a, backward;
    backward(g) returns (d_align, d_p)
    """
    raise NotWritten("E.9 gaussian")

    def backward(g):
        raise NotWritten("E.9 gaussian")

    return a, backward


def centre(q, W, v, S):
    """Return the centre p of each query and its backward.

    q (T, d), W (k, d), v (k,)  ->  p (T,), backward;  backward(g) returns (dq, dW, dv)
    """
    raise NotWritten("E.9 centre")

    def backward(g):
        raise NotWritten("E.9 centre")

    return p, backward


def pull(g, align, H, position, p, D):
    """Return dL/dp (T,) from g = dL/dc (T, d), for the contexts c_t = sum_s a_ts h_s.

    H (S, d) has one row for each key; the others are as in ``gaussian``.
    """
    raise NotWritten("E.9 pull")
