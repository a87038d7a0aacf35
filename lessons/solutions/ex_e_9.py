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


def gaussian(align, position, p, D):
    """Return the weights a (T, n) and their backward.

    align (T, n), position (T, n) the keys s of each window, p (T,)  ->  a, backward;
    backward(g) returns (d_align, d_p)
    """
    # BEGIN SOLUTION
    distance = position - p[:, None]  # (T, n)
    bell = np.exp(-2 * distance**2 / D**2)  # 1 / (2 sigma^2) = 2 / D^2
    a = align * bell
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        d_p = (g * a * distance).sum(1) * 4 / D**2  # p is in every term of its row
        return g * bell, d_p
        # END SOLUTION

    return a, backward


def centre(q, W, v, S):
    """Return the centre p of each query and its backward.

    q (T, d), W (k, d), v (k,)  ->  p (T,), backward;  backward(g) returns (dq, dW, dv)
    """
    # BEGIN SOLUTION
    t = np.tanh(q @ W.T)  # (T, k)
    p = S / (1 + np.exp(-(t @ v)))
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dz = g * p * (1 - p / S)  # S y (1 - y), for y = p / S
        inside = dz[:, None] * v * (1 - t * t)  # (T, k)
        return inside @ W, inside.T @ q, dz @ t
        # END SOLUTION

    return p, backward


def pull(g, align, H, position, p, D):
    """Return dL/dp (T,) from g = dL/dc (T, d), for the contexts c_t = sum_s a_ts h_s.

    H (S, d) has one row for each key; the others are as in ``gaussian``.
    """
    # BEGIN SOLUTION
    _, backward = gaussian(align, position, p, D)
    d_a = (g[:, None, :] * H[position]).sum(-1)  # (T, n)
    _, d_p = backward(d_a)
    return d_p
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "A small move of p changes no key of the window, so p acts through the Gaussian "
    "only, whose derivative is the weight times (s - p) / sigma^2. Keys on the two "
    "sides have opposite signs there, so their difference decides where the centre "
    "moves."
)
