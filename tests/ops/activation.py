"""Elementwise nonlinearities: specifications and wrong backwards."""

import math

import numpy as np

from .spec import call, nonzero, normal, spec, unary, wrong


def each(function):
    """``function`` of one number, applied to each entry of an array."""
    return lambda x, *args, **options: np.array(
        [function(float(v), *args, **options) for v in x.ravel()], np.float64
    ).reshape(x.shape)


def phi(x):
    """The density of the standard normal distribution."""
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def Phi(x):
    """The distribution function of the standard normal distribution."""
    return each(lambda v: (1 + math.erf(v / math.sqrt(2))) / 2)(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


spec("tanh", each(math.tanh), unary(normal), lambda T, x: T.tanh(x))
wrong("tanh", "x-for-y", lambda g, y, x: g * (1 - x**2))
wrong("tanh", "not-squared", lambda g, y, x: g * (1 - y))
wrong("tanh", "ignores-g", lambda g, y, x: 1 - y**2)

spec(
    "sigmoid",
    each(lambda x: 1 / (1 + math.exp(-x))),
    unary(normal),
    lambda T, x: T.sigmoid(x),
)
wrong("sigmoid", "x-for-y", lambda g, y, x: g * x * (1 - x))
wrong("sigmoid", "one-factor", lambda g, y, x: g * (1 - y))
wrong("sigmoid", "of-tanh", lambda g, y, x: g * (1 - y**2))

spec("relu", each(lambda x: max(x, 0.0)), unary(nonzero), lambda T, x: T.relu(x))
wrong("relu", "mask-forgotten", lambda g, y, x: g)
wrong("relu", "mask-of-g", lambda g, y, x: g * (g > 0))
wrong("relu", "y-for-mask", lambda g, y, x: g * y)

spec(
    "elu",
    each(lambda x, alpha=1.0: x if x > 0 else alpha * (math.exp(x) - 1)),
    {**unary(nonzero), "alpha": lambda r: call(nonzero(r, (3, 5)), 0.7)},
    lambda T, x, alpha=1.0: T.nn.functional.elu(x, alpha),
)
wrong("elu", "alpha-is-one", lambda g, y, x, alpha=1.0: g * np.where(x > 0, 1, y + 1))
wrong("elu", "value-for-slope", lambda g, y, x, alpha=1.0: g * np.where(x > 0, 1, y))
wrong("elu", "exp-of-y", lambda g, y, x, a=1.0: g * np.where(x > 0, 1, a * np.exp(y)))


def _gelu(x, approximate="none"):
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return x * (1 + math.tanh(inner)) / 2
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


spec(
    "gelu",
    each(_gelu),
    {
        **unary(normal),
        "tanh": lambda r: call(normal(r, (3, 5)), approximate="tanh"),
    },
    lambda T, x, **options: T.nn.functional.gelu(x, **options),
)
wrong("gelu", "gate-only", lambda g, y, x, **options: g * Phi(x), on="matrix")
wrong("gelu", "no-x", lambda g, y, x: g * (Phi(x) + phi(x)), on="matrix")
wrong("gelu", "density-only", lambda g, y, x: g * x * phi(x), on="matrix")
wrong(
    "gelu",
    "of-the-exact-form",  # right to 1e-3, for the approximation by tanh
    lambda g, y, x, approximate: g * (Phi(x) + x * phi(x)),
    on="tanh",
)


spec(
    "softplus",
    each(lambda x, beta=1.0: math.log(1 + math.exp(beta * x)) / beta),
    {**unary(normal), "beta": lambda r: call(normal(r, (3, 5)), 0.7)},
    lambda T, x, beta=1.0: T.nn.functional.softplus(x, beta),
)
wrong("softplus", "beta-is-one", lambda g, y, x, beta=1.0: g * sigmoid(x))
wrong("softplus", "beta-twice", lambda g, y, x, beta=1.0: g * beta * sigmoid(beta * x))
wrong("softplus", "mirrored", lambda g, y, x, beta=1.0: g * sigmoid(-beta * x))
wrong("softplus", "of-y", lambda g, y, x, beta=1.0: g * sigmoid(beta * y))
