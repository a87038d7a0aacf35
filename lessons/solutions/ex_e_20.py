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


def probabilities(z, e, r, x, words):
    """Return P (L, words) of all words, for L steps of one output.

    z (L, V), e (L, S), r (L,), x (S,) int;  words >= V, and larger than each x
    """
    # BEGIN SOLUTION
    P = np.zeros((len(z), words))
    P[:, : z.shape[1]] = _sigmoid(r)[:, None] * _softmax(z)
    copied = _sigmoid(-r)[:, None] * _softmax(e)  # (L, S)
    for j, w in enumerate(x):  # a word that occurs twice adds up
        P[:, w] += copied[:, j]
    return P
    # END SOLUTION


def posteriors(z, e, r, x, y):
    """Return pi (L,) and rho (L, S), given the right words y (L,) int."""
    # BEGIN SOLUTION
    is_y = np.arange(z.shape[1]) == y[:, None]  # (L, V), False in all from V on
    written = _sigmoid(r) * (_softmax(z) * is_y).sum(1)
    copied = _sigmoid(-r)[:, None] * _softmax(e) * (x == y[:, None])  # (L, S)
    P = written + copied.sum(1)
    return written / P, copied / P[:, None]
    # END SOLUTION


def copy_loss(z, e, r, x, y):
    """Return -ln P(y) (L,) of the right words y (L,), and its backward.

    ->  loss, backward;  backward(g) returns (dz, de, dr) for g (L,) = dL/dloss
    """
    # BEGIN SOLUTION
    V = z.shape[1]
    words = max(V, x.max() + 1)
    loss = -np.log(probabilities(z, e, r, x, words)[np.arange(len(y)), y])
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        pi, rho = posteriors(z, e, r, x, y)
        dz = (g * pi)[:, None] * (_softmax(z) - (np.arange(V) == y[:, None]))
        de = g[:, None] * ((1 - pi)[:, None] * _softmax(e) - rho)
        return dz, de, g * (_sigmoid(r) - pi)
        # END SOLUTION

    return loss, backward


def _softmax(s):
    """Return the weights of each row of the scores s (L, n)."""
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def _sigmoid(r):
    """Return 1 / (1 + exp(-r)), also for numbers r far from 0."""
    return np.exp(-np.logaddexp(0, -r))


# FOR THE CHECK

WHY = (
    "Each way is trained in proportion to its share of the credit: dz is pi times the "
    "gradient of a cross-entropy, and de is 1 - pi times that of another, with the "
    "target rho / (1 - pi). And dr = lambda - pi compares the probability to write "
    "before y is known with the one after."
)
