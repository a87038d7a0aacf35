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
    # BEGIN SOLUTION
    return {"matmul", "add_bias", "row_mean", "pick", "softmax", "standardise"}
    # END SOLUTION


def witness(name):
    """Return (inputs, g) on which the backward of a guilty operation is wrong.

    inputs is a tuple of arrays, g an array like the output. At least one entry of a
    gradient is wrong by 1% or more of the largest entry of the right gradient.
    """
    # BEGIN SOLUTION
    x, square = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    return {
        "matmul": ((square, square), square),
        "add_bias": ((np.ones((2, 2, 2)), np.ones(2)), np.ones((2, 2, 2))),
        "row_mean": ((x,), np.ones(1)),
        "pick": ((square, np.array([0, 0])), square),
        "softmax": ((x,), np.array([[1.0, 0.0, 0.0]])),
        "standardise": ((x,), np.array([[1.0, 0.0, 0.0]])),
    }[name]
    # END SOLUTION


def alibi(name):
    """Return (inputs, g) on which this backward is right and its gradients are not 0.

    These inputs explain how the mistake could pass a test: what do they have in common?
    """
    # BEGIN SOLUTION
    x, square = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    return {
        "matmul": ((square, np.eye(2)), square),  # symmetric
        "add_bias": ((square, np.ones(2)), square),  # one leading axis
        "row_mean": ((square,), np.array([1.0, 2.0])),  # as many rows as columns
        "pick": ((square, np.array([1, 0])), square),  # no row twice
        "softmax": ((np.zeros(2),), np.array([1.0, -1.0])),  # y . g = 0
        "standardise": ((x,), np.array([[1.0, -1.0, 0.0]])),  # g sums to 0
    }[name]
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "A wrong backward is right where its mistake has no effect: one row, a square, a "
    "symmetric matrix, an index that occurs once, a g for which the missing term is 0. "
    "Random inputs with different sizes and a random g avoid all of these."
)

MUTANTS = [
    ('"pick", "softmax", "standardise"}', '"pick", "softmax"}', "missed"),
    ('{"matmul", "add_bias"', '{"tanh", "matmul", "add_bias"', "accuses-right"),
    ('{"matmul", "add_bias"', '{"absolute", "matmul", "add_bias"', "accuses-right"),
    ('"matmul": ((square, square), square)',
     '"matmul": ((square, square + square.T), square)', "no-witness"),
    ("((np.ones((2, 2, 2)), np.ones(2)), np.ones((2, 2, 2)))",
     "((square, np.ones(2)), square)", "no-witness"),
    ('"row_mean": ((x,), np.ones(1))', '"row_mean": ((x,), np.ones(2))',
     "not-accepted"),
    ("np.array([0, 0])), square)", "np.array([0, 1])), square)", "no-witness"),
    ("np.array([1, 0])), square)", "np.array([1, 1])), square)", "no-alibi"),
    ("np.array([1.0, -1.0]))", "np.ones(2))", "no-alibi"),
    ("np.array([1.0, -1.0]))", "np.zeros(2))", "all-zero"),
    ("np.array([[1.0, -1.0, 0.0]])", "np.array([[1.0, 1.0, 0.0]])", "no-alibi"),
]  # fmt: skip
