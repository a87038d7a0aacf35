"""E.9  Local-p: the gradient into the centre  ●●●○  40 min  needs E.1, E.2  book §38.7

A query that predicts where to look: p is its centre among S keys, and the weights of a
window around it are multiplied by a bell.

    p_t  = S sigmoid(v . tanh(W q_t))
    a_ts = align_ts exp(-(s - p_t)^2 / (2 sigma^2))          sigma = D / 2

Which keys are in the window jumps from key to key as p moves, so nothing can be learned
from that; and align does not depend on p. What tells p where to go is the bell alone.
"""

import numpy as np


def gaussian(align, position, p, D):
    """The weights under the bell.

    align (T, W), position (T, W) the keys s of each window, p (T,)  ->  a (T, W),
    backward;  backward(g) returns (d_align, d_p)
    """
    # BEGIN SOLUTION
    distance = position - p[:, None]  # (T, W)
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
    """Where each query looks.

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
    """dL/dp (T,) from g = dL/dc (T, d), for the contexts c_t = sum_s a_ts h_s.

    H (S, d), one row a key; the others as in ``gaussian``
    """
    # BEGIN SOLUTION
    _, backward = gaussian(align, position, p, D)
    d_a = (g[:, None, :] * H[position]).sum(-1)  # (T, W)
    _, d_p = backward(d_a)
    return d_p
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Write the distances s - p as an array (T, W) first: the bell and its slope "
        "are both made of them.",
        "d/dp exp(-(s - p)^2 / (2 sigma^2)) is the bell times (s - p) / sigma^2, and "
        "p_t is in every weight of its row. For the centre, go back through S sigmoid, "
        "the product with v, tanh, and the product with W.",
        "d_p = sum_s g a (s - p) / sigma^2, with sigma^2 = D^2 / 4. In centre, "
        "dz = g p (1 - p/S), then times v and 1 - tanh^2, which meets W for dq and q "
        "for dW; dv is dz summed with tanh. In pull, a_ts received g_t . h_s.",
    ],
    "sigma": ["sigma is half of D; how often is it squared, and doubled?"],
    "bell-alone": ["a is align times the bell. What multiplies the slope of the bell?"],
    "own-weight": ["a = align times the bell: what is da / d align?"],
    "no-variance": ["The slope of -(s - p)^2 / (2 sigma^2) in p is not s - p itself."],
    "no-distance": ["How does the bell change with p at the key s = p, and far off?"],
    "no-length": ["p is S times a sigmoid."],
    "no-slope": ["Each of sigmoid and tanh has a slope that multiplies what passes."],
    "keys-by-place": [
        "Place 0 of a window is the key position[t, 0], and not the key 0."
    ],
    "unbroadcast": [
        "One p_t was used for all keys of its window.",
        "Its gradient is a sum over that window.",
    ],
}

MUTANTS = [
    ("np.exp(-2 * distance**2 / D**2)", "np.exp(-(distance**2) / D**2 / 2)", "sigma"),
    ("np.exp(-2 * distance**2 / D**2)", "np.exp(-4 * distance**2 / D**2)", "sigma"),
    (
        "(g * a * distance).sum(1) * 4 / D**2",
        "-(g * a * distance).sum(1) * 4 / D**2",
        "scale:-1",
    ),
    (
        "(g * a * distance).sum(1) * 4 / D**2",
        "(g * a * distance).sum(1)",
        "no-variance",
    ),
    (
        "(g * a * distance).sum(1) * 4 / D**2",
        "(g * bell * distance).sum(1) * 4 / D**2",
        "bell-alone",
    ),
    ("(g * a * distance).sum(1) * 4 / D**2", "(g * a).sum(1)", "no-distance"),
    (
        "(g * a * distance).sum(1) * 4 / D**2",
        "(g * a * distance)[:, 0] * 4 / D**2",
        "unbroadcast",
    ),
    ("dz = g * p * (1 - p / S)", "dz = g * p / S * (1 - p / S)", "no-length"),
    ("dz = g * p * (1 - p / S)", "dz = g * S", "no-slope"),
    ("dz[:, None] * v * (1 - t * t)", "dz[:, None] * v", "no-slope"),
    ("inside.T @ q", "q.T @ inside", "transpose"),
    ("H[position]", "H[None, : position.shape[1]]", "keys-by-place"),
]
