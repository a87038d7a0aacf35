"""Sparsemax and entmax: weights that are exactly 0 for keys that fit badly.

    p = argmax of p . s + H(p)    over all weights p >= 0 with the sum 1
    H(p) = sum_j (p_j - p_j^alpha) / (alpha (alpha - 1))       Tsallis' entropy

Setting the derivative by p_j equal for all keys of the support gives

    p_j = max((alpha - 1) s_j - tau, 0)^(1 / (alpha - 1))

with the tau for which they sum to 1. alpha = 2 is sparsemax, the point of the simplex
that is nearest to s; for alpha -> 1 it becomes the softmax. A softmax gives every key a
positive weight, so that with n keys the rest grows like n. Here one key gets all of it
if it leads by 1 / (alpha - 1), for every n.

tau: let x = (alpha - 1) s, shifted so that its maximum is 0; then -1 <= tau < 0, and a
key with x_j <= -1 has the weight 0. With z = x sorted downwards and the support z_1 ...
z_k, the sum of the weights is 1 if

    alpha = 2      sum_j (z_j - tau) = 1      tau = (sum_j z_j - 1) / k
    alpha = 1.5    sum_j (z_j - tau)^2 = 1    tau = m - sqrt(1 / k - (q - m^2))

with the means m of z_j and q of z_j^2 over the support. k is the largest number with
z_k > tau. For another alpha, the weight P of the best key is found by bisection. It has
x = 0, so -tau = P^(alpha - 1), and

    p_j = P (1 + x_j / P^(alpha - 1))^(1 / (alpha - 1))

If alpha is near 1, this power multiplies a rounding error of its base by 1 / (alpha - 1).
The code computes exp(log1p(...) / (alpha - 1)), in which x_j keeps all its digits.

Gradient: with u_j = p_j^(2 - alpha) on the support, 0 elsewhere,

    dp_j = u_j / (alpha - 1) ((alpha - 1) ds_j - dtau),    sum_j dp_j = 0
    so  dtau = (alpha - 1) sum_j u_j ds_j / sum_j u_j
    and  ds = u * (g - (u . g) / sum_j u_j)    for g = dL/dp

because the Jacobian is symmetric. For sparsemax u = 1, for the softmax u = p. A key
outside the support gets no gradient: start with small scores.

Martins and Astudillo 2016 (sparsemax); Peters et al. 2019 (entmax).
"""

import math

import numpy as np

from minigrad import arguments, differentiable
from minigrad.shapes import shapes

from .. import definitions
from .row import Normalizer


@shapes
@differentiable
def entmax(scores, allowed, alpha=1.5):
    """p_j = max((alpha - 1) s_j - tau, 0)^(1 / (alpha - 1)), and 0 for a masked key.

    scores (..., L, S), allowed (..., L, S) bool  ->  weights (..., L, S)

    alpha   above 1, at most 2: with a larger alpha, fewer keys have a weight. (Beyond 2,
            u is infinite for a weight near 0)
    """
    arguments.number("entmax", "alpha", alpha)
    if not 1 < alpha <= 2:
        raise ValueError(
            f"entmax: alpha is {alpha}; expected a number above 1, at most 2. For 1, "
            "use masked_softmax."
        )
    power = 1 / (alpha - 1)
    s = np.where(allowed, scores, -np.inf)
    m = s.max(-1, keepdims=True, initial=-np.inf)
    m = np.where(m == -np.inf, 0, m)  # a row without allowed keys
    x = np.maximum((alpha - 1) * (s - m), -1)  # no key below -1 has a weight
    if alpha in (1.5, 2):
        z = -np.sort(-x, axis=-1)
        tau = _linear(z) if alpha == 2 else _quadratic(z)
        p = np.maximum(x - tau, 0) ** power
    else:
        p = _bisection(x, power)
    p = np.where(allowed, p, 0)
    total = p.sum(-1, keepdims=True)  # 1, but for rounding
    p /= np.where(total == 0, 1, total)

    def backward(g):
        u = (p > 0) * np.where(p > 0, p, 1) ** (2 - alpha)
        total = u.sum(-1, keepdims=True)
        mean = (u * g).sum(-1, keepdims=True) / np.where(total == 0, 1, total)
        return u * (g - mean), None, None

    return p, backward


def sparsemax(scores, allowed):
    """Return ``entmax`` of scores and allowed (..., L, S) with alpha = 2."""
    return entmax(scores, allowed, 2)


def _linear(z):
    """Return tau (..., 1) of sparsemax, from z (..., S) sorted downwards."""
    k = np.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    return _of_the_support((z.cumsum(-1) - 1) / k, z)


def _quadratic(z):
    """Return tau (..., 1) for alpha = 1.5, from z (..., S) sorted downwards."""
    k = np.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    m, q = z.cumsum(-1) / k, (z * z).cumsum(-1) / k
    return _of_the_support(m - np.sqrt(np.maximum(1 / k - (q - m * m), 0)), z)


def _of_the_support(tau, z):
    """Return tau_k (..., 1) for the largest k with z_k > tau_k."""
    if not z.shape[-1]:
        return np.zeros((*z.shape[:-1], 1), z.dtype)
    tau = np.maximum(tau, -1)  # rounding may make it smaller
    k = np.maximum((z > tau).sum(-1, keepdims=True), 1)
    return np.take_along_axis(tau, k - 1, -1)


def _bisection(x, power):
    """Return weights P (1 + x_j / P^(1 / power))^power, for the P of their sum 1."""
    high = np.zeros((*x.shape[:-1], 1), x.dtype)  # of ln P, which is -ln S or more
    low = high - math.log(max(x.shape[-1], 1))
    with np.errstate(divide="ignore"):  # ln 0, outside the support
        for _ in range(np.finfo(x.dtype).nmant + 8):
            ln_P = (low + high) / 2
            base = np.log1p(np.maximum(x * np.exp(-ln_P / power), -1))
            p = np.exp(ln_P + base * power)
            is_high = p.sum(-1, keepdims=True) > 1
            low, high = np.where(is_high, low, ln_P), np.where(is_high, ln_P, high)
    return p


ROWS = [
    Normalizer(
        "sparsemax", definitions.sparsemax, sparsemax,
        about="""normaliser: p = max(s - tau, 0), with the tau for which they sum to 1
        can give the weight 1 to a key that leads by 1, for any number of keys
        cannot give a gradient to keys whose weight is 0
        lesson 15: lookup among many more keys than in training; Martins and Astudillo
        2016""",
    ),
    Normalizer(
        "entmax", definitions.entmax, entmax,
        multiplications="L*E + L*S*E + L*S + L*S*Ev",
        options=dict(alpha=1.5),
        about="""normaliser: p = max((alpha - 1) s - tau, 0)^(1 / (alpha - 1)), with the
        tau for which they sum to 1
        can be anything between softmax (alpha near 1) and sparsemax (alpha = 2)
        cannot give a gradient to keys whose weight is 0
        lesson 15: lookup among many more keys than in training; Peters et al. 2019""",
    ),
]  # fmt: skip
