"""Arrays and operations for the checks of the gradient checker.

Axis sizes are distinct odd primes wherever a confusion of axes must not go unseen.
"""

import numpy as np

from minigrad import lift

from .engine_cases import draw

X = draw(3, 5)
SQUARE, OTHER = draw(5, 5), draw(5, 5, seed=1)


def with_backward(forward, backward):
    """An operation with the given forward, and backward(g, y, *inputs)."""

    def op(*arrays):
        y = forward(*arrays)
        return y, lambda g: backward(g, y, *arrays)

    op.__name__ = getattr(forward, "__name__", "op").strip("<>")
    return lift(op)


sin = with_backward(np.sin, lambda g, y, x: g * np.cos(x))


def logistic_map(x, steps):
    """Iterate x -> 3.99 x (1 - x): each step nearly doubles an error of x."""
    for _ in range(steps):
        x = 3.99 * x * (1 - x)
    return x


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
