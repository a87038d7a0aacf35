"""6.10  The temperature of a softmax  ●●○○  25 min  needs 6.1  book §6.5

    p = softmax(e / tau)

A low temperature tau moves the weight to the largest score, a high one makes the
weights equal. Look at the weights of the self-attention of 6.8 at five temperatures.
The entropy H of the weights never falls as tau grows, because its slope is a variance:

    dH/dtau = Var_p(e) / tau^3  >=  0
"""

import numpy as np

from lessons import NotWritten


def softmax_t(e, tau):
    """Return softmax(e / tau) over the last axis of e (…, n), for any tau > 0."""
    raise NotWritten("6.10 softmax_t")


def entropy(p):
    """Return H = -sum_j p_j ln p_j over the last axis of p (…, n), with 0 ln 0 = 0."""
    raise NotWritten("6.10 entropy")


def dH_dtau(e, tau):
    """Return the slope of H(softmax(e / tau)) in tau, for each row of e (…, n).

    If you add one number to all scores, also 1e6, the slope changes by rounding only.
    """
    raise NotWritten("6.10 dH_dtau")


def sweep(X, taus):
    """Return weights and mean entropies of a self-attention at each temperature.

    The scores are those of 6.8 with scale 1, x_i . x_j, for X (T, d). 6.8 belongs to
    lesson 09; you may write it later, because nothing else of it is needed here.
    ->  weights (n, T, T) and H (n,), the mean over the T queries, for n taus
    """
    raise NotWritten("6.10 sweep")


def draw(fig, taus, weights, H):
    """Draw a heatmap for each temperature, and H against tau, into a matplotlib figure.

    All heatmaps have the limits of colour 0 and 1, and a title that contains tau. The
    panel of the entropy has a label at both axes. ``fig.subplots(2, 3)``, flattened, is
    a list of six panels.
    """
    raise NotWritten("6.10 draw")


def explanation():
    """Return a string: what happens as tau tends to 0 and to infinity, and what is tau
    used for at inference?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.10 explanation")
