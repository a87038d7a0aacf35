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
    write, copy = _sigmoid(r)[:, None], _sigmoid(-r)[:, None]  #? lambda and 1 - lambda are the probabilities of two ways. Does r = 50 leave 1 - lambda its digits?
    #! write, copy = 1.0, 1.0  | both ways added, without lambda
    #! write, copy = r[:, None], 1 - r[:, None]  | r for lambda
    written, copied = write * _softmax(z), copy * _softmax(e)  #? Is it logits and scores that are mixed, or probabilities?
    P = np.zeros((len(z), words))
    P[:, : z.shape[1]] = written
    for j, w in enumerate(x):
        P[:, w] += copied[:, j]  #? A word may be written, and be copied from several places. How often does P[:, x] += … add to it?
        #! P[:, w] = (written[:, w] if w < z.shape[1] else 0) + copied[:, j]  | P in which each word is copied from its last place alone
    return P


def posteriors(z, e, r, x, y):
    """Return the two posteriors of each step, given the right words y (L,) int.

    ->  pi (L,), rho (L, S)
    """
    p_y = (_softmax(z) * (np.arange(z.shape[1]) == y[:, None])).sum(1)  #? Can a word be written that the vocabulary lacks? What is pi then?
    #! p_y = _softmax(z)[np.arange(len(y)), np.minimum(y, z.shape[1] - 1)]  | the last word of the vocabulary for words from V on
    written = _sigmoid(r) * p_y
    copied = _sigmoid(-r)[:, None] * _softmax(e) * (x == y[:, None])  #? From which places can y come, and with which probability before y is known?
    #! copied = (1 - _sigmoid(r))[:, None] * _softmax(e) * (x == y[:, None])  | posteriors with 1 - lambda, which is rounded
    P = written + copied.sum(1)
    pi = written / P  #? lambda is the probability to write before y is known. What is P(written | y)?
    #! pi = _sigmoid(r)  | lambda for pi
    #! pi = (p_y > 0) * 1.0  | 1 for pi if y is in the vocabulary
    rho = copied / P[:, None]  #? What do pi and all rho sum to?
    #! rho = copied / np.where(copied.any(1), copied.sum(1), 1)[:, None]  | rho that sums to 1: given that y was copied
    #! rho = _sigmoid(-r)[:, None] * _softmax(e) / P[:, None]  | rho without [x_j = y]
    #! rho = (copied.sum(1) / P)[:, None] * _softmax(e)  | (1 - pi) a for rho, shared by all places
    return pi, rho


def copy_loss(z, e, r, x, y):
    """Return -ln P(y) (L,) of the right words y (L,), and its backward.

    ->  loss, backward;  backward(g) returns (dz, de, dr) for g (L,) = dL/dloss
    """
    V = z.shape[1]
    words = max(V, x.max() + 1)
    P = probabilities(z, e, r, x, words)[np.arange(len(y)), y]
    loss = -np.log(P)  #? P(y) may be as small as e^-50. What does a small number added to it change?
    #! loss = -np.log(P + 1e-12)  | -ln (P(y) + 1e-12)

    def backward(g):
        pi, rho = posteriors(z, e, r, x, y)
        onehot = np.arange(V) == y[:, None]
        dz = (g * pi)[:, None] * (_softmax(z) - onehot)  #? How much of the loss depends on z, if y was copied with probability 1 - pi?
        #! dz = (g * _sigmoid(r))[:, None] * (_softmax(z) - onehot)  | lambda for pi in dz
        #! dz = g[:, None] * (_softmax(z) - pi[:, None] * onehot)  | softmax(z) - pi onehot(y) for dz
        de = g[:, None] * ((1 - pi)[:, None] * _softmax(e) - rho)  #? de_j = a_j (da_j - sum_n a_n da_n), with da_j = -rho_j / a_j. What is the sum?
        #! de = g[:, None] * (_sigmoid(-r)[:, None] * _softmax(e) - rho)  | (1 - lambda) a - rho for de
        #! de = -g[:, None] * rho / _softmax(e)  | -rho / a, the gradient by a, for de
        #! de = (g * (1 - pi))[:, None] * (_softmax(e) - (x == y[:, None]))  | (1 - pi) (a - [x_j = y]) for de, without the shares of places
        dr = g * (_sigmoid(r) - pi)  #? The loss is -ln P(y), P(y) is linear in lambda, and d lambda / dr = lambda (1 - lambda). What is left?
        #! dr = g * (_sigmoid(r) - 1)  | the gradient as if y was written, lambda - 1, for dr
        #! dr = g * _sigmoid(r) * _sigmoid(-r) * (_sigmoid(r) - pi)  | lambda (1 - lambda) (lambda - pi) for dr
        #! dr = g * (_sigmoid(r) - pi) / (_sigmoid(r) * _sigmoid(-r))  | the gradient by lambda for dr, without lambda (1 - lambda)
        return dz, de, dr

    return loss, backward


def _softmax(s):
    """Return the weights of each row of the scores s (L, n)."""
    p = np.exp(s - s.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def _sigmoid(r):
    """Return 1 / (1 + exp(-r)), also for numbers r far from 0."""
    return np.exp(-np.logaddexp(0, -r))


# ---- THE CHECK: each call my.f(…) is compared with the function f above

V, WORDS = 5, 11
X = np.array([2, 7, 0, 2, 8, 7, 7])  # 2 and 7 occur again, and 7 and 8 are not in V
Y = np.array([2, 7, 0, 4, 8, 2, 1, 7, 3, 0, 2])  # in both, or in one of them


def draw(rng, L=len(Y), V=V, S=len(X)):
    return rng.normal(size=(L, V)), rng.normal(size=(L, S)), rng.normal(size=L)


def three_functions(my, rng):
    """probabilities, posteriors and losses"""
    my.probabilities(*draw(rng), X, WORDS)
    my.posteriors(*draw(rng), X, Y)
    for sizes, y in (((11, V, 7), Y), ((2, 7, 7), Y[:2])):
        my.near(1e-9).copy_loss(*draw(rng, *sizes), X, y)


def far_from_zero(my, rng):
    """r = 50 and r = -50, scores of 1000, and a source of one word, three times"""
    (z, e, _), y = draw(rng, 4), np.array([8, 4, 2, 2])  # copied, written, and both
    inputs = z + 1000, e - 1000, np.array([50.0, -50.0, 50.0, -50.0]), X
    found, want = (f(*inputs, WORDS)[0, 8] for f in (my.probabilities, probabilities))
    expected, tag = f"{want:.6g} for P(8), r = 50", "P with 1 - lambda, which is rounded"
    my.holds("probabilities", abs(found - want) < 1e-9 * want, expected, found, tag)
    my.posteriors(*inputs, y)
    my.copy_loss(*inputs, y)
    for word, words in ((1, 4), (12, 13)):
        inputs, y = draw(rng, 2, 4, 3), np.array([word, 0])
        my.probabilities(*inputs, np.full(3, word), words)
        my.posteriors(*inputs, np.full(3, word), y)
        my.copy_loss(*draw(rng, 2, 4, 5), np.array([word, 0, word, word, 3]), y)


HINTS = """
1  y == np.arange(V) has True nowhere if y is V or more, so no case is special.
2  -ln P(y) changes by -dP / P. Each summand of P(y), divided by P(y), is pi or a rho_j:
   d ln p_y / dz = onehot(y) - p, so dz = -pi (onehot(y) - p).
3  dz = pi (softmax(z) - onehot(y)), de = (1 - pi) a - rho, dr = lambda - pi, each times g.
"""
WHY = """Each way is trained in proportion to its share of the credit: dz is pi times the
gradient of a cross-entropy, and de is 1 - pi times that of another, with the target
rho / (1 - pi). dr = lambda - pi, the probability to write less that for a known y."""
