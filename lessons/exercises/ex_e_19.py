"""E.19  REINFORCE and its baseline  ●●●○  35 min  needs E.2

Hard attention chooses one key: j is drawn from p = softmax(e), and the loss is l_j. A
choice has no derivative. The expected loss J = sum_j p_j l_j has one, but it takes the
losses of all keys, and a model that chooses sees one. REINFORCE estimates it from one
draw:

    x_j = (l_j - b) (onehot_j - p)        if key j was drawn, with a number b

For every b the mean of x_j over all draws is the exact gradient of J by e. The baseline
b changes only the variance,

    V(b) = E |x - E x|^2 = sum_j p_j |x_j|^2 - |dJ/de|^2

which is summed over the entries of x. Derive the b with the smallest V.
"""

import numpy as np

from lessons import NotWritten


def exact(e, l):
    """Return dJ/de (n,) for the scores e (n,) and the losses l (n,) of all keys."""
    raise NotWritten("E.19 exact")


def estimate(e, l_j, j, b):
    """Return x_j (n,), the estimate of dJ/de if key j was drawn and its loss is l_j."""
    raise NotWritten("E.19 estimate")


def variance(e, l, b):
    """Return V(b), over all draws: a number, computed without drawing."""
    raise NotWritten("E.19 variance")


def best_baseline(e, l):
    """Return the b with the smallest variance."""
    raise NotWritten("E.19 best_baseline")


def _softmax(e):
    """Return the weights p (n,) of the scores e (n,)."""
    p = np.exp(e - e.max())
    return p / p.sum()
