"""E.9  Local-p: the gradient of the centre  ●●●○  40 min  needs E.1, E.2  book §38.7

Local-p attention predicts where a query attends: p is the centre of a window among S
keys, and a Gaussian around p multiplies the weights of the window.

    p_t  = S sigmoid(v . tanh(W q_t))
    a_ts = align_ts exp(-(s - p_t)^2 / (2 sigma^2))          sigma = D / 2

The set of keys in the window changes in jumps as p moves, so it has no gradient, and
align does not depend on p. The gradient of p comes from the Gaussian only.
"""

import numpy as np


def gaussian(align, position, p, D):
    """Return the weights a (T, W) and their backward.

    align (T, W), position (T, W) the keys s of each window, p (T,)  ->  a, backward;
    backward(g) returns (d_align, d_p)
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
    d_a = (g[:, None, :] * H[position]).sum(-1)  # (T, W)
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

HINTS = {
    "last-key": ["The sigmoid is between 0 and 1. Which number is its multiple?"],
    "no-tanh": [
        "p = S sigmoid(v . tanh(W q)) has two functions, one inside the other.",
    ],
    "not-squared": ["Which power has s - p in a Gaussian?"],
    "gaussian": [
        "Differentiate exp(-(s - p)^2 / (2 sigma^2)) by p; p is in every weight of "
        "its row.",
    ],
    "centre": [
        "Go back through S, the sigmoid, v, tanh and W, one at a time. The sigmoid is "
        "p / S.",
    ],
    "pull": [
        "The gradient of a_ts is g_t . h_s, for the keys s that stand in the window.",
    ],
    "": [
        "Write the distances s - p as an array (T, W) first: the Gaussian and its "
        "derivative are functions of them.",
        "d/dp exp(-(s - p)^2 / (2 sigma^2)) is the Gaussian times (s - p) / sigma^2, "
        "and p_t is in every weight of its row. For the centre, go back through S "
        "sigmoid, the product with v, tanh, and the product with W.",
        "d_p = sum_s g a (s - p) / sigma^2, with sigma^2 = D^2 / 4. In centre, dz = "
        "g p (1 - p/S); multiply it by v and by 1 - tanh^2, then by W for dq and by "
        "q for dW; dv is the sum of dz times tanh. In pull, the gradient of a_ts is "
        "g_t . h_s.",
    ],
    "sigma": ["sigma is half of D. How often is it squared and doubled?"],
    "differences": [
        "A difference quotient loses digits. The derivative of a Gaussian does not.",
    ],
    "bell-alone": [
        "a is align times the Gaussian. Which factor multiplies the derivative of "
        "the Gaussian?",
    ],
    "own-weight": ["a = align times the Gaussian: what is da / d align?"],
    "no-variance": [
        "The derivative of -(s - p)^2 / (2 sigma^2) in p is not s - p itself.",
    ],
    "no-distance": [
        "How does the Gaussian change with p at the key s = p, and far from it?",
    ],
    "no-length": ["p is S times a sigmoid."],
    "no-slope": [
        "sigmoid and tanh each have a derivative, which is a factor of the gradient.",
    ],
    "keys-by-place": ["Column 0 of a window is the key position[t, 0], not the key 0."],
    "unbroadcast": [
        "All keys of a window use one p_t.",
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
