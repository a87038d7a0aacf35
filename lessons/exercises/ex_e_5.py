"""E.5  Find the bug  ●●●○  45 min  needs E.4

Ten operations, each with a backward. Some of the backwards are wrong, and each of the
wrong ones has passed somebody's test. Say which, prove it with inputs on which the
backward is wrong, and show how it could pass: inputs on which it is right.

Every operation takes arrays and returns (y, backward); backward(g) returns a tuple,
one gradient for each input, None for integers. Run your gradient check of E.4 on them,
or read them; it is best to do both.
"""

import numpy as np

from lessons import NotWritten


def tanh(x):
    y = np.tanh(x)
    return y, lambda g: (g * (1 - y * y),)


def absolute(x):
    return np.abs(x), lambda g: (g * np.sign(x),)


def product(a, b):
    """a * b, of arrays of one shape."""
    return a * b, lambda g: (g * b, g * a)


def matmul(a, b):
    """a (n, k), b (k, k)  ->  (n, k)"""
    return a @ b, lambda g: (g @ b, a.T @ g)


def add_bias(x, b):
    """x (…, n) + b (n,)"""
    return x + b, lambda g: (g, g.sum(0))


def row_mean(x):
    """The mean over the last axis: x (n, m)  ->  (n,)"""
    return x.mean(1), lambda g: (np.repeat(g[:, None], x.shape[1], 1) / len(x),)


def pick(x, index):
    """Rows of x (n, m) by number: index (k,) integers  ->  (k, m)"""

    def backward(g):
        dx = np.zeros_like(x)
        dx[index] = g
        return dx, None

    return x[index], backward


def softmax(x):
    """Over the last axis of x (…, n)."""
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)
    return y, lambda g: (y * g,)


def log_sum_exp(x):
    """ln sum_j exp(x_j) over the last axis: x (…, n)  ->  (…)"""
    top = x.max(-1, keepdims=True)
    e = np.exp(x - top)
    total = e.sum(-1, keepdims=True)
    y = (top + np.log(total))[..., 0]
    return y, lambda g: (e / total * g[..., None],)


def standardise(x):
    """(x - mean) / standard deviation, over the last axis of x (…, n)."""
    s = x.std(-1, keepdims=True)
    y = (x - x.mean(-1, keepdims=True)) / s
    return y, lambda g: ((g - y * (g * y).mean(-1, keepdims=True)) / s,)


def guilty():
    """The names of the operations whose backward is wrong, a set of strings."""
    raise NotWritten("E.5 guilty")


def witness(name):
    """(inputs, g) on which the backward of a guilty operation is wrong.

    inputs a tuple of arrays, g an array like the output: some entry of a gradient is
    off by 1% at least of the largest.
    """
    raise NotWritten("E.5 witness")


def alibi(name):
    """(inputs, g) on which the same backward is right, and its gradients are not all 0.

    How the mistake could pass: what do these inputs have that others have not?
    """
    raise NotWritten("E.5 alibi")
