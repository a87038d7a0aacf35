"""Random features: linear attention whose weights are those of softmax on average.

    phi_n(x) = exp(w_n . x - |x|^2 / 2) / sqrt(m)        w_n ~ N(0, I), n = 1, ..., m
    o_i = sum_j phi(q_i) . phi(k_j) v_j / sum_j phi(q_i) . phi(k_j)

with x = q / E^(1/4) or k / E^(1/4), so that q . k / sqrt(E) is the score. This replaces
the feature map of linear.py. **Why it is exp on average:** w . (q + k) is a Gaussian
number of variance |q + k|^2, and E exp(z) = exp(variance / 2). So

    E[phi(q) . phi(k)] = exp(|q + k|^2 / 2 - |q|^2 / 2 - |k|^2 / 2) = exp(q . k)

**How far from it:** one feature (m = 1) has

    E[(phi(q) phi(k))^2] = exp(2 |q + k|^2 - |q|^2 - |k|^2)
                         = exp(|q + k|^2 + 2 q . k)

and from this exp(2 q . k) is subtracted for the variance, which m features divide by m.
It grows exponentially with |q + k|^2. With entries of q and k of deviation 1/2, more
features help; with deviation 1, hundreds are hardly better than an output of 0.

**Orthogonal directions.** E directions that are orthogonal to each other, with the
lengths of Gaussian vectors, have the same mean and a smaller variance: two equal
directions add nothing.

**Backward.** With t = dL/dphi * phi, as dphi_n/dx = phi_n (w_n - x):

    dx = sum_n t_n w_n - x sum_n t_n,        dw_n = sum over rows of t_n x

**No overflow.** Let c_n be the largest exponent of feature n over the keys. If the keys
subtract c_n before exp and the queries add it, their products do not change. Then each
query subtracts its largest exponent, a factor of all its weights, which cancels in o.
So no exponent is above 0, and the denominator is 1 / m or more. Masked keys are not in c.

If causal, a later key may change nothing, so c is that of the first key. From the row on
where a key is above c by more than half the range of exp, a second pass begins with the
c of that row, and so on; each query belongs to one pass. Mostly there is only one.

Choromanski et al. 2021 (Performer).
"""

import numpy as np

from minigrad import arguments, differentiable
from minigrad.arguments import whole
from minigrad.random import generator
from minigrad.shapes import shapes

from .. import definitions
from .linear import allowed_keys, check_causal, linear_attention
from .row import Variant

NAME = "performer_attention"


@shapes
def performer_attention(q, k, v, W, is_causal=False, mask=None):
    """Approximate softmax attention in linear time, with m random features.

    q (..., L, E), k (..., S, E), v (..., S, Ev), W (m, E)  ->  o (..., L, Ev)

    W           the directions, from ``random_directions``; draw them again in training,
                so that a model does not learn the error of one draw
    is_causal   sum over the keys j <= i; then L must equal S
    mask        as in ``linear_attention``: the same for all queries
    """
    is_causal = check_causal(NAME, is_causal, q, k)
    keep, k, v = allowed_keys(NAME, q, k, v, mask)
    q, k = (x * q.shape[-1] ** -0.25 for x in (q, k))
    s = _exponents(k.data, W.data)  # (..., S, m)
    if keep is not None:
        s = np.where(keep[..., None], s, -np.inf)
    if is_causal:
        c = np.maximum.accumulate(s, -2)
    else:
        c = s.max(-2, keepdims=True, initial=-np.inf)
    largest = (_exponents(q.data, W.data) + c).max(-1, keepdims=True)
    range_of_pass = np.log(np.finfo(s.dtype).max) / 2
    o, first, rest = 0.0, c[..., :1, :], largest > -np.inf  # queries that have a key
    while True:
        later = (c > first + range_of_pass).any(-1, keepdims=True)  # of later passes
        shift = np.where(first > -np.inf, first, 0)
        a = random_features(q, W, shift=np.where(rest & ~later, largest - shift, np.inf))
        b = random_features(k, W, shift=np.where((s > -np.inf) & ~later, shift, np.inf))
        o = o + linear_attention(a, b, v, is_causal, feature_map=lambda phi: phi, eps=0)
        rest = rest & later
        if not rest.any():
            return o
        first = np.take_along_axis(c, rest.argmax(-2, keepdims=True), -2)


@shapes
@differentiable
def random_features(x, W, *, shift=0.0):
    """phi_n(x) = exp(w_n . x - |x|^2 / 2 - c) / sqrt(m)

    x (..., L, E), W (m, E)  ->  phi (..., L, m)

    shift   c, an array that broadcasts with phi, so that exp cannot overflow. The
            gradient is that of the formula with a fixed c
    """
    phi = np.exp(_exponents(x, W) - shift) * len(W) ** -0.5

    def backward(g):
        t = g * phi
        dW = t.swapaxes(-1, -2) @ x  # sum over the rows: (..., m, E)
        return t @ W - x * t.sum(-1, keepdims=True), dW

    return phi, backward


def _exponents(x, W):
    """Return w_n . x - |x|^2 / 2.    x (..., L, E), W (m, E)  ->  (..., L, m)"""
    return x @ W.T - (x * x).sum(-1, keepdims=True) / 2


def random_directions(m, E, rng=None):
    """Return the directions W, (m, E) in float32; each block of E rows is orthogonal."""
    m = whole("random_directions", "m", m, least=1)
    E = whole("random_directions", "E", E, least=1)
    rng = arguments.generator("random_directions", rng) or generator()
    W = rng.standard_normal((m, E))
    lengths = np.sqrt((W * W).sum(1, keepdims=True))
    W = np.concatenate([_rotation(E, rng) for _ in range(0, m, E)])[:m] * lengths
    return W.astype(np.float32)


def _rotation(E, rng):
    """Return an orthogonal matrix (E, E), each as likely as any other.

    The Q of a QR decomposition alone is not: its signs depend on the algorithm, and the
    first number of LAPACK's is never positive. With those of R's diagonal it is.
    """
    Q, R = np.linalg.qr(rng.standard_normal((E, E)))
    return Q * np.sign(np.diag(R))


ROWS = [
    # A random features
    Variant(
        "performer", definitions.performer, performer_attention,
        parameters="W (A, E)",
        multiplications="(L + S)*(A*E + E) + L*A + (L + S)*A*Ev",
        about="""template: phi(x) = exp(W x - |x|^2 / 2), whose products are exp on
        average
        can approximate softmax in linear time, where scores are small
        cannot find one of many keys: its error grows like exp(|q + k|^2)
        lesson 18: the error against the number of features; Choromanski et al. 2021""",
    ),
]  # fmt: skip
