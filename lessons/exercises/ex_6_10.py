"""6.10  The temperature of a softmax  ●●○○  25 min  needs 6.1  book §6.5

    p = softmax(e / tau)

A low temperature tau moves the weight to the largest score, a high one makes the
weights equal. A plot suggests that the entropy H of the weights never falls as tau
grows. This exercise shows why: its slope is a variance.

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
    """Return the slope of H(softmax(e / tau)) in tau, for each row of e (…, n)."""
    raise NotWritten("6.10 dH_dtau")
