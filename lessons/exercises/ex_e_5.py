"""E.5  Find the bug  ●●●○  45 min  needs E.4

Ten operations, each with a backward. Some of these backwards are wrong, and each wrong
one has passed somebody's test. Name the wrong ones. Prove each with inputs on which the
backward is wrong, and explain the passed test with inputs on which it is right.

Every operation takes arrays and returns (y, backward); backward(g) returns a tuple with
one gradient for each input, None for integers. Run your gradient check of E.4 on the
operations, or read them; it is best to do both. Wrap each operation first: E.4 expects
one input and one array.
"""

import numpy as np

from lessons import NotWritten


def tanh(x):
    y = np.tanh(x)
    return y, lambda g: (g * (1 - y * y),)


def absolute(x):
    return np.abs(x), lambda g: (g * np.sign(x),)


def product(a, b):
    """Return a * b for arrays of one shape."""
    return a * b, lambda g: (g * b, g * a)


def matmul(a, b):
    """Return a @ b: a (n, k), b (k, k)  ->  (n, k)"""
    return a @ b, lambda g: (g @ b, a.T @ g)


def add_bias(x, b):
    """Return x (…, n) + b (n,)."""
    return x + b, lambda g: (g, g.sum(0))


def row_mean(x):
    """Return the mean over the last axis: x (n, m)  ->  (n,)"""
    return x.mean(1), lambda g: (np.repeat(g[:, None], x.shape[1], 1) / len(x),)


def pick(x, index):
    """Return rows of x (n, m) by number: index (k,) integers  ->  (k, m)"""

    def backward(g):
        dx = np.zeros_like(x)
        dx[index] = g
        return dx, None

    return x[index], backward


def softmax(x):
    """Return the softmax over the last axis of x (…, n)."""
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)
    return y, lambda g: (y * g,)


def log_sum_exp(x):
    """Return ln sum_j exp(x_j) over the last axis: x (…, n)  ->  (…)"""
    top = x.max(-1, keepdims=True)
    e = np.exp(x - top)
    total = e.sum(-1, keepdims=True)
    y = (top + np.log(total))[..., 0]
    return y, lambda g: (e / total * g[..., None],)


def standardise(x):
    """Return (x - mean) / standard deviation, over the last axis of x (…, n)."""
    s = x.std(-1, keepdims=True)
    y = (x - x.mean(-1, keepdims=True)) / s
    return y, lambda g: ((g - y * (g * y).mean(-1, keepdims=True)) / s,)


def guilty():
    """Return the names of the operations whose backward is wrong, a set of strings."""
    raise NotWritten("E.5 guilty")


def witness(name):
    """Return (inputs, g) on which the backward of a guilty operation is wrong.

    inputs is a tuple of arrays, g an array like the output. At least one entry of a
    gradient is wrong by 1% or more of the largest entry of the right gradient.
    """
    raise NotWritten("E.5 witness")


def alibi(name):
    """Return (inputs, g) on which this backward is right and its gradients are not 0.

    These inputs explain how the mistake could pass a test: what do they have in common?
    """
    raise NotWritten("E.5 alibi")
