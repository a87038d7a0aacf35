"""Hard attention: choose one key, and train the choice.

    p = softmax(e),    j drawn from p,    loss l_j if key j is chosen
    J = sum_j p_j l_j                     what training reduces, the expected loss

A choice has no derivative, but its expectation has:

    dJ/de_j = sum_i l_i p_i (delta_ij - p_j) = p_j (l_j - J)

which takes the losses of all keys. Two estimates take one draw.

REINFORCE. For a b that does not depend on the draw,

    (l_j - b) (onehot_j - p)        has the expectation dJ/de, because
    sum_j p_j (onehot_j - p) = 0    so b adds nothing on average

Its variance is sum_j p_j (l_j - b)^2 c_j, c_j = |onehot_j - p|^2, minus a number without
b. It is smallest at b = sum_j p_j c_j l_j / sum_j p_j c_j; the mean loss is nearly as
good.

Gumbel. With G_j = -ln(-ln U_j), U uniform, the argmax of e + G is a draw from p. Its
smooth form is y = softmax((e + G) / tau), with de = y * (g - y . g) / tau.
"Straight-through" uses onehot(argmax) forwards and this gradient backwards: with little
variance, but biased. With tau -> 0 the gradient explodes.

At the end choose the argmax of e, without noise.

Williams 1992 (REINFORCE); Xu et al. 2015 (hard attention); Jang et al. 2017 and Maddison
et al. 2017 (the smooth form).
"""

import functools

import numpy as np

from minigrad import Tensor, arguments, log, where
from minigrad.random import generator
from minigrad.shapes import shapes

from .. import definitions
from ..softmax import softmax_over_allowed
from ..template import attend
from .row import Variant


def gumbel_noise(shape, rng=None, dtype=np.float32):
    """Return -ln(-ln U) of a uniform U; argmax(e + noise) is drawn by softmax(e)."""
    rng = arguments.generator("gumbel_noise", rng) or generator()
    return -np.log(rng.standard_exponential(shape)).astype(dtype)  # it is -ln U


@shapes
def gumbel_softmax(scores, allowed=None, tau=1.0, noise=None, rng=None, hard=False):
    """y = softmax((e + G) / tau) over the allowed keys: a normaliser that draws.

    scores (..., L, S), allowed? (..., L, S) bool, noise? (..., L, S)
        ->  weights (..., L, S)

    noise   G; None draws it with ``rng``, or with minigrad's generator
    hard    True: straight-through, with one weight of 1 in each row
    """
    arguments.number("gumbel_softmax", "tau", tau, positive=True)
    noise = _noise(scores, noise, rng)
    y = softmax_over_allowed(scores + noise, allowed, tau)
    if not arguments.flag("gumbel_softmax", "hard", hard):
        return y
    return _onehot(y, allowed) + (y - y.detach())  # plus 0, with the gradient of y


@shapes
def hard_weights(scores, allowed=None, noise=None, rng=None):
    """Return a weight of 1 for the argmax of e + G, a draw from softmax(e).

    scores (..., L, S), allowed? (..., L, S) bool, noise? (..., L, S)
        ->  weights (..., L, S)

    noise   as in ``gumbel_softmax``; zeros choose the largest score

    The scores get no gradient. ``reinforce`` adds an estimate to the loss.
    """
    return _onehot((scores + _noise(scores, noise, rng)).detach(), allowed)


@shapes
def reinforce(loss, scores, choice, baseline=0.0, allowed=None):
    """Return the loss, with the gradient (l - b) (onehot_j - p) for the scores.

    loss (...), scores (..., S), choice (..., S), allowed? (..., S) bool  ->  loss (...)

    choice     the result of ``hard_weights``: the key of this loss
    baseline   b, a number or an array (...) that does not depend on the choice, such as
               a mean of earlier losses

    The loss keeps its own gradient, for all that is behind the choice.
    """
    p = softmax_over_allowed(scores, allowed)
    p_j = (p * choice).sum(-1)
    log_p = log(where(p_j.data == 0, 1.0, p_j))  # (...)
    zero = log_p - log_p.detach()  # with the gradient onehot_j - p
    return loss + (loss - baseline) * zero


@shapes
def best_baseline(p, loss):
    """Return b = sum_j p_j c_j l_j / sum_j p_j c_j, c_j = |onehot_j - p|^2.

    p (..., S), loss (..., S)  ->  b (...)

    It needs the losses of all keys: a bound for baselines that know fewer. With one
    possible key there is no variance; b is its loss.
    """
    others = 1 - np.eye(p.shape[-1], dtype=p.dtype)
    c = (p @ others) ** 2 + (p * p) @ others  # (1 - p_j)^2, and p_i^2 of the others
    share = p * c
    share = where(share.data.any(-1, keepdims=True), share, p)
    total = share.sum(-1)
    return (share * loss).sum(-1) / where(total.data == 0, 1.0, total)


def _noise(scores, noise, rng):
    return gumbel_noise(scores.shape, rng, scores.dtype) if noise is None else noise


def _onehot(x, allowed):
    """Return 1 at the largest allowed x of each row, 0 elsewhere: a constant."""
    x = x.data if allowed is None else np.where(allowed, x.data, -np.inf)
    largest = x.argmax(-1)[..., None] if x.shape[-1] else 0
    one = np.arange(x.shape[-1]) == largest
    return Tensor((one if allowed is None else one & allowed).astype(x.dtype))


def _definition(normalize, q, k, v, G, **options):
    return normalize(definitions.scaled_dot(q, k), G, **options) @ v


def _attention(normalize, q, k, v, G, mask=None, **options):
    def with_noise(scores, allowed):
        return normalize(scores, allowed, noise=G, **options)

    return attend(q, k, v, mask=mask, normalize=with_noise)[0]


ROWS = [
    Variant(
        "hard", functools.partial(_definition, definitions.hard_weights),
        functools.partial(_attention, hard_weights),
        inputs="q (L, E), k (S, E), v (S, Ev), G (L, S)",
        about="""normaliser: one key, drawn from softmax(s), has the weight 1
        can return one value unmixed; learn by REINFORCE
        cannot pass a gradient to the scores by itself
        lesson 15: choosing one of 8 keys by its label; Xu et al. 2015""",
    ),
    Variant(
        "gumbel", functools.partial(_definition, definitions.gumbel_softmax),
        functools.partial(_attention, gumbel_softmax),
        inputs="q (L, E), k (S, E), v (S, Ev), G (L, S)",
        options=dict(tau=0.5),
        about="""normaliser: p = softmax((s + G) / tau) with noise G: a draw for tau ->
        0
        can choose one key forwards, and learn by the smooth form's gradient
        cannot have an unbiased gradient: it is that of the smooth form
        lesson 15: choosing one of 8 keys by its label; Jang et al. 2017""",
    ),
]  # fmt: skip
