"""E.20  The pointer-generator's two posteriors  ●●●○  35 min  needs E.2

A name that is in no vocabulary can be copied from the source. From logits z of the V
words of the vocabulary, scores e of the S source words x, and a number r:

    P(w) = lambda softmax(z)_w + (1 - lambda) sum of a_j over the places j with x_j = w
    a = softmax(e),     lambda = sigmoid(r), the probability to write

A source word that the vocabulary lacks has a number from V on: it can be copied, and
not written. If y is the right word, it was written or it was copied, and the model does
not say which. It has the probability of each, given y:

    pi       that y was written
    rho_j    that y was copied from place j              pi + sum_j rho_j = 1

With z = ln (1, 1, 2), e = ln (1, 2, 1), r = ln 3, x = (1, 3, 1) and y = 1, pi is 0.6
and rho is (0.2, 0, 0.2). The gradients of the loss -ln P(y) are short in pi and rho:
derive them. Each y is in the vocabulary or in the source, and P(y) may be as small as
e^-50.
"""

import numpy as np

from lessons import NotWritten


def probabilities(z, e, r, x, words):
    """Return P (L, words) of all words, for L steps of one output.

    z (L, V), e (L, S), r (L,), x (S,) int;  words >= V, and larger than each x
    """
    raise NotWritten("E.20 probabilities")


def posteriors(z, e, r, x, y):
    """Return pi (L,) and rho (L, S), given the right words y (L,) int."""
    raise NotWritten("E.20 posteriors")


def copy_loss(z, e, r, x, y):
    """Return -ln P(y) (L,) of the right words y (L,), and its backward.

    ->  loss, backward;  backward(g) returns (dz, de, dr) for g (L,) = dL/dloss
    """
    raise NotWritten("E.20 copy_loss")

    def backward(g):
        raise NotWritten("E.20 copy_loss")

    return loss, backward


def _softmax(s):
    """Return the weights of each row of the scores s (L, n)."""
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def _sigmoid(r):
    """Return 1 / (1 + exp(-r)), also for numbers r far from 0."""
    return np.exp(-np.logaddexp(0, -r))
