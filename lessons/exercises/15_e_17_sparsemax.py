"""E.17  Sparsemax and its Jacobian  ●●○○  30 min  needs E.2

A softmax gives every key a positive weight. Sparsemax gives exact zeros: its weights
are the point of the simplex that is nearest to the scores,

    p = argmin |p - s|^2    over all p >= 0 with the sum 1
    p_j = max(s_j - tau, 0),    where tau is such that they sum to 1

The keys with p_j > 0 are the support. If there are k of them, and z_1 >= z_2 >= … are
the scores in falling order, the support is z_1 … z_k, so

    tau = (z_1 + … + z_k - 1) / k

and k is the largest number with 1 + k z_k > z_1 + … + z_k. A score of -inf is a masked
key: its weight and its gradient are 0. Each row has a finite score. Afterwards,
``python -m lessons experiment E.17`` looks for a key with your weights.
"""

import numpy as np


def threshold(s):
    """Return tau (L,), one number for each row of the scores s (L, S)."""
    z = -np.sort(-s, axis=1)  #? The sums of the formula are those of the largest scores. Where is the largest after sorting?
    #! z = s  | the threshold with scores in the order of the keys
    total = z.cumsum(1)  # (L, S)
    counts = np.arange(1, s.shape[1] + 1)
    k = (1 + counts * z > total).sum(1)  #? Which k is the largest for which the condition holds?
    #! k = np.full(len(s), s.shape[1])  | tau = (z_1 + … + z_S - 1) / S, of all keys, or for rising z
    #! k = np.full(len(s), 1)  | z_1 - 1, the threshold of one key
    #! k = np.minimum((1 + counts * z > total).sum(1) + 1, s.shape[1])  | the threshold of k + 1 keys
    #! k = np.maximum((1 + counts * z > total).sum(1) - 1, 1)  | the threshold of k - 1 keys
    #! k = np.maximum((z > 0).sum(1), 1)  | the threshold of the scores above 0
    #! z = s; total = z.cumsum(1); k = (counts * (1 + counts * z > total)).max(1)  | the threshold with scores in the order of the keys
    #= k = (counts * (1 + counts * z > total)).max(1)
    tau = (total[np.arange(len(s)), k - 1] - 1) / k  #? The weights of the support, z_j - tau, sum to 1. Solve this for tau.
    #! tau = total[np.arange(len(s)), k - 1] / k  | tau = (z_1 + … + z_k) / k, without - 1
    #! tau = (total[np.arange(len(s)), k - 1] - 1) / s.shape[1]  | tau = (z_1 + … + z_k - 1) / S, divided by the number of keys
    return tau


def sparsemax(s):
    """Return the weights p (L, S) of the scores s (L, S), and their backward.

    ->  p, backward;  backward(g) returns dL/ds (L, S) for g = dL/dp
    """
    p = np.maximum(s - threshold(s)[:, None], 0.0)  #? No weight is negative. What is compared with 0, the score or its distance to tau?
    #! p = s - threshold(s)[:, None]  | s - tau, also where it is below 0
    #! p = np.maximum(s, 0.0) - threshold(s)[:, None]  | max(s, 0) - tau
    #! p = np.exp(s - s.max(1, keepdims=True)); p /= p.sum(1, keepdims=True)  | the softmax of the scores

    def backward(g):
        u = p > 0
        mean = (u * g).sum(1, keepdims=True) / u.sum(1, keepdims=True)  #? If s_j of the support grows by a little, how much does tau grow?
        #! mean = g.mean(1, keepdims=True)  | g - mean, with the mean over all keys
        #! mean = (u * g).sum(1, keepdims=True) / s.shape[1]  | g - the sum over the support / S
        #! mean = (p * g).sum(1, keepdims=True)  | g - p . g on the support, as for a softmax
        return u * (g - mean)  #? How much does p_j change with s_j, inside the support and outside?
        #! return p * (g - (p * g).sum(1, keepdims=True))  | p (g - p . g), the gradient of a softmax
        #! return u * g - mean  | -mean outside the support

    return p, backward


def jacobian(p):
    """Return J (S, S), J_jl = dp_j / ds_l, from the weights p (S,) of one row."""
    u = (p > 0).astype(float)
    return np.diag(u) - np.outer(u, u) / u.sum()  #? Write dp_j / ds_l from p_j = s_j - tau. By how much does tau change with s_l?
    #! return np.diag(u) - np.outer(u, u) / len(p)  | J with 1 / S for 1 / k
    #! return np.diag(p) - np.outer(p, p)  | diag(p) - p p^T, the Jacobian of a softmax
    #! return np.diag(u) - np.outer(u, p)  | diag(u) - u p^T
    #! return np.diag(u) - np.outer(p, u)  | diag(u) - p u^T
    #! return np.diag(u) - np.outer(p, p)  | diag(u) - p p^T
    #! return np.diag(u)  | J with 1 on the support's diagonal, and 0 elsewhere
    #! return np.diag(u) - np.outer(u, u)  | diag(u) - u u^T, without 1 / k
    #! return np.diag(u) + np.outer(u, u) / u.sum()  | diag(u) + u u^T / k
    #! return np.eye(len(p)) - 1 / u.sum()  | I - 1 / k for all keys, also outside the support


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.training import experiment  # noqa: F401


def draw(rng, L=5, S=7):
    """Return scores (L, S), in and outside of supports, none too near its threshold."""
    while True:
        s = rng.normal(size=(L, S))
        k = (sparsemax(s)[0] > 0).sum(1)
        far = abs(s - threshold(s)[:, None]) > 0.02
        if (2 <= k).all() and (k < S).all() and np.ptp(k) and far.all():
            return s


def thresholds(my, rng):
    """thresholds of 7 scores, and of 5"""
    for sizes in ((5, 7), (5, 5)):
        my.threshold(draw(rng, *sizes))


def weights(my, rng):
    """weights of 7 scores, and of 5"""
    for sizes in ((5, 7), (3, 5), (5, 5)):
        my.sparsemax(draw(rng, *sizes))


def jacobians(my, rng):
    """the Jacobian of one row"""
    for p in sparsemax(draw(rng))[0]:
        my.jacobian(p)


def the_same_added(my, rng):
    """a number added to all scores"""
    s = draw(rng)
    for added in (-3.0, 17.0, 1000.0):
        my.near(1e-9).sparsemax(s + added)


def ends_of_the_support(my, rng):
    """equal scores, a lead of 1, a single key"""
    for s in (np.full((1, 4), 7.0), np.array([[3.0, 0.5, 2.0]]), np.array([[-5.0]])):
        my.sparsemax(s)


def a_masked_key(my, rng):
    """a masked key, with the score -inf"""
    s = draw(rng)
    s[:, 2] = -np.inf
    my.sparsemax(s)


HINTS = """
threshold  Sort each row downwards, and compute all sums z_1 + … + z_k at once.
sparsemax  What does a key outside the support add to the sum of a row?
jacobian  Write dp_j / ds_l from p_j = s_j - tau, and tau from the k scores.
1  The condition 1 + k z_k > z_1 + … + z_k is true for the first k, and false beyond: its
   number of True in a row is k.
2  Differentiate p_j = s_j - tau inside the support, where tau is a mean of k scores minus
   1 / k. Outside, p_j is 0 and stays 0.
3  dp_j / ds_l = delta_jl - 1 / k for j and l of the support. So ds = g minus the mean of
   g over the support, and 0 outside.
"""
WHY = """Inside the support p_j = s_j - tau, and tau is the mean of the k scores minus
1 / k. So dp_j / ds_l is 1 for j = l, minus 1 / k for every l of the support: each row of
the Jacobian sums to 0, as the weights keep their sum, and outside the support nothing
moves."""
