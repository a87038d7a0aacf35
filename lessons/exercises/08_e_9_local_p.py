"""E.9  Local-p: the gradient of the centre  ●●●○  40 min  needs E.1, E.2  book §38.7

Local-p attention predicts where a query attends: p is the centre of a window among S
keys, and a Gaussian around p multiplies the weights of the window.

    p_t  = S sigmoid(v . tanh(W q_t))
    a_ts = align_ts exp(-(s - p_t)^2 / (2 sigma^2))          sigma = D / 2

D is the half-width of the window. align_ts is the softmax over the keys of the window.
This set changes in jumps as p moves, so it has no gradient, and align does not depend
on p. The gradient of p comes from the Gaussian only.
"""

import numpy as np


def gaussian(align, position, p, D):
    """Return the weights a (T, n) and their backward.

    align (T, n), position (T, n) the keys s of each window, p (T,)  ->  a, backward;
    backward(g) returns (d_align, d_p)
    """
    sigma = D / 2  #? Sigma is half of D. How often is it squared and doubled?
    #! sigma = D // 2  | the Gaussian with sigma = D // 2
    #! sigma = D**0.5  | the Gaussian with sigma = sqrt(D)
    distance = position - p[:, None]  #? Which key is column 0? The centre lies between two.
    #! distance = np.arange(align.shape[1]) - p[:, None]  | the Gaussian of the places 0, 1, 2 in the window
    #! distance = position - np.round(p)[:, None]  | the Gaussian with the centre rounded
    #! distance = position - np.floor(p)[:, None]  | the Gaussian with the centre rounded down
    bell = np.exp(-(distance**2) / (2 * sigma**2))  #? Which power of s - p has a Gaussian?
    #! bell = np.exp(-2 * np.abs(distance) / D)  | exp(-2 |s - p| / D)
    #! bell = 1 - distance**2 / (2 * sigma**2)  | 1 - (s - p)^2 / (2 sigma^2), no exponential
    a = align * bell  #? The Gaussian multiplies weights; their sum is less than 1.
    #! a = align * bell / (align * bell).sum(1, keepdims=True)  | the weights, divided by their sum
    #= a = bell * align

    def backward(g):
        change = distance / sigma**2  #? How does the Gaussian change with p, near and far?
        #! change = abs(distance) / sigma**2  | sum g a |s - p| / sigma^2
        #! change = distance**2 / sigma**2  | sum g a (s - p)^2 / sigma^2
        #! change = distance / 1.5**2  | the gradient with sigma = 1.5, whatever D is
        d_p = (g * a * change).sum(1)  #? All keys of a window use one p_t, each once.
        #! d_p = (g * a * change)[:, 0]  | the term of the first key of each window
        #! d_p = (g * a * change * align).sum(1)  | the gradient with align a second time
        #! d_p = (g * a * change * bell).sum(1)  | the gradient with the Gaussian a second time
        return g * bell, d_p  #? a = align times the Gaussian: what is da / d align?

    return a, backward


def centre(q, W, v, S):
    """Return the centre p of each query and its backward.

    q (T, d), W (k, d), v (k,)  ->  p (T,), backward;  backward(g) returns (dq, dW, dv)
    """
    t = np.tanh(q @ W.T)  #? Two functions, one inside the other: which one is inside?
    z = t @ v  #? z = v . tanh(W q)
    #! z = t.sum(1)  | S sigmoid(sum tanh(W q)), without v
    y = 1 / (1 + np.exp(-z))  #? Where is a sigmoid near 1, and between which numbers?
    #! y = 1 / (1 + np.exp(-S * z)) / S  | sigmoid(S v . tanh(W q)), with S inside
    #! y = np.tanh(z)  | S tanh(v . tanh(W q))
    p = S * y  #? Is p a place among the keys, or a number between 0 and 1?

    def backward(g):
        dz = g * S * y * (1 - y)  #? p = S y, and y is a sigmoid of z: what is dp / dz?
        #! dz = g * p * (1 - p)  | g p (1 - p), where p is not between 0 and 1
        #! dz = g * S  | the gradient without the derivative of the sigmoid
        #! dz = g  | the gradient without that derivative and without S
        inside = dz[:, None] * v * (1 - t * t)  #? z = v . tanh(W q): what is dz / d(W q)?
        #! inside = dz[:, None] * v * (1 - (q @ W.T) ** 2)  | 1 - x^2 where tanh has 1 - tanh(x)^2
        #! inside = dz[:, None] * v * t  | the gradient with t for 1 - t^2
        return inside @ W, inside.T @ q, dz @ t  #? What is dz / dv?
        #! return inside @ W, inside.T @ q, dz @ (q @ W.T)  | dv with W q for tanh(W q)
        #! return inside @ W, inside.T @ q, dz @ (1 - t * t)  | dv with 1 - tanh^2 for tanh

    return p, backward


def pull(g, align, H, position, p, D):
    """Return dL/dp (T,) from g = dL/dc (T, d), for the contexts c_t = sum_s a_ts h_s.

    H (S, d) has one row for each key; the others are as in ``gaussian``.
    """
    a, backward = gaussian(align, position, p, D)
    d_a = (g[:, None, :] * H[position]).sum(-1)  #? c = sum a h: which key has weight a_ts?
    #! d_a = (g[:, None, :] * H[: align.shape[1]]).sum(-1)  | the gradient for the keys 0, 1, … of H
    #! d_a = align * (g[:, None, :] * H[position]).sum(-1)  | the gradient with align in dL/da as well
    return backward(d_a)[1]  #? Which of the two gradients is dL/dp?
    #! return (align * d_a).sum(1)  | sum_s (g . h_s) align, without the Gaussian's derivative
    #! return (a / align * d_a).sum(1)  | sum_s (g . h_s) bell, without the Gaussian's derivative
    #! return (a * d_a).sum(1)  | sum_s (g . h_s) a, without the Gaussian's derivative


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def draw(rng, T=3, n=5):
    p = rng.uniform(4, 12, T)
    first = np.floor(p).astype(int) - 2
    return rng.random((T, n)), first[:, None] + np.arange(n), p


def windows(my, rng):
    """windows of five keys, with D = 3, 5 and 4"""
    for D, T in ((3, 3), (5, 3), (4, 5)):  # the last with square arrays
        my.gaussian(*draw(rng, T), D)


def centres(my, rng):
    """centres among 17 keys, among 29 and among 3"""
    for S, T, d, k in ((17, 3, 7, 11), (29, 3, 7, 11), (3, 3, 3, 3)):
        q, W, v = rng.normal(size=(T, d)), rng.normal(size=(k, d)) / 3, rng.normal(size=k)
        my.centre(q, W, v, S)


def contexts(my, rng):
    """the gradient of a context, for the centre"""
    for D, T, d in ((3, 3, 7), (5, 5, 5)):
        align, position, p = draw(rng, T)
        H, g = rng.normal(size=(17, d)), rng.normal(size=(T, d))
        my.pull(g, align, H, position, p, D)


def ends(my, rng):
    """a key at the centre, and a key 38 places from it"""
    my.gaussian(np.ones((2, 1)), np.array([[2], [40]]), np.array([2.0, 2.0]), 2)
    my.centre(np.zeros((1, 7)), np.ones((5, 7)), np.ones(5), 17)


HINTS = """
gaussian  Which weights change if one centre moves a little, and how does each change?
centre  Give each intermediate a name. How much does each change with the one before?
pull  How much does c_t change with one weight, and which key has this weight?
1  Write the distances s - p as an array (T, n): the Gaussian and its derivative are
   functions of it.
2  d/dp exp(-(s - p)^2 / (2 sigma^2)) is the Gaussian times (s - p) / sigma^2, and p_t is
   in every weight of its row. For the centre, go back through S sigmoid, the product
   with v, tanh, and the product with W.
3  d_p = sum_s g a (s - p) / sigma^2, with sigma^2 = D^2 / 4. In centre, dz = g p (1 - p/S);
   multiply it by v and by 1 - tanh^2, then by W for dq and by q for dW; dv is the sum of
   dz times tanh. In pull, the gradient of a_ts is g_t . h_s.
"""
WHY = """A small move of p changes no key of the window, so p acts through the Gaussian
only, whose derivative is the weight times (s - p) / sigma^2. Keys on the two sides have
opposite signs there, so their difference decides where the centre moves."""
