"""Elementwise nonlinearities: specifications and wrong backwards."""

import math

import numpy as np

from .spec import call, nonzero, normal, spec, unary, wrong


def each(function):
    """``function`` of one number, applied to each entry of an array."""
    return lambda x, *args, **options: np.array(
        [function(float(v), *args, **options) for v in x.ravel()], np.float64
    ).reshape(x.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


spec("tanh", each(math.tanh), unary(normal))
wrong("tanh", "not-squared", lambda g, y, x: g * (1 - y))

spec(
    "sigmoid",
    each(lambda x: 1 / (1 + math.exp(-x))),
    unary(normal),
)
wrong("sigmoid", "one-factor", lambda g, y, x: g * (1 - y))

spec("silu", each(lambda x: x / (1 + math.exp(-x))), unary(normal))
wrong("silu", "gate-constant", lambda g, y, x: g * sigmoid(x))

spec("relu", each(lambda x: max(x, 0.0)), unary(nonzero))

spec(
    "elu",
    each(lambda x, alpha=1.0: x if x > 0 else alpha * (math.exp(x) - 1)),
    {"alpha": lambda r: call(nonzero(r, (3, 5)), 0.7), **unary(nonzero)},
)


def _gelu(x, approximate="none"):
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return x * (1 + math.tanh(inner)) / 2
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


spec(
    "gelu",
    each(_gelu),
    {
        "tanh": lambda r: call(normal(r, (3, 5)), approximate="tanh"),
        **unary(normal),
    },
)


spec(
    "softplus",
    each(lambda x, beta=1.0: math.log(1 + math.exp(beta * x)) / beta),
    {"beta": lambda r: call(normal(r, (3, 5)), 0.7), **unary(normal)},
)
