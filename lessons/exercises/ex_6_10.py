"""6.10  Temperature  ●●○○  25 min  needs 6.1  book §6.5

    p = softmax(e / tau)

A low temperature sharpens attention to the largest score, a high one spreads it evenly.
That the entropy H of the weights only grows with tau can be plotted; here it is proved,
by the identity that its slope is a variance:

    dH/dtau = Var_p(e) / tau^3  >=  0
"""

import numpy as np

from lessons import NotWritten


def softmax_t(e, tau):
    """softmax(e / tau) over the last axis of e (…, n), for any tau > 0."""
    raise NotWritten("6.10 softmax_t")


def entropy(p):
    """H = -sum_j p_j ln p_j over the last axis of p (…, n), with 0 ln 0 = 0."""
    raise NotWritten("6.10 entropy")


def dH_dtau(e, tau):
    """The slope of H(softmax(e / tau)) in tau, over the last axis of e (…, n)."""
    raise NotWritten("6.10 dH_dtau")
