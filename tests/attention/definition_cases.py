"""Compare functions of the package with their definitions, in values and gradients.

    check(general, batched(definitions.general, "(l,d),(s,e),(d,e)->(l,s)"), arrays)

A definition of attention/definitions.py has no backward. So gradients are compared with
its finite differences along random directions: if L = sum(g y) for the output y and any
numbers g, then for an input x and a direction d

    sum(dL/dx d) = (L(x + h d) - L(x - h d)) / (2 h)

up to rounding and h^2. This takes two calls of the definition for each input, however
many entries it has. An entry of dL/dx that is wrong changes the left side.
"""

import functools

import numpy as np

from minigrad import Tensor

VALUES = {"rtol": 1e-11, "atol": 1e-12}  # the same sums of order one, in another order


def batched(definition, signature, **options):
    """Apply a definition to all examples and heads; see ``np.vectorize``."""
    definition = functools.partial(definition, **options)
    outputs = signature.partition("->")[2].count("(")
    return np.vectorize(definition, signature=signature, otypes="d" * outputs)


def close(found, expected, rtol=1e-11, atol=1e-12):
    """Assert that two arrays, or a Tensor and an array, are equal up to rounding."""
    np.testing.assert_allclose(getattr(found, "data", found), expected, rtol, atol)


def all_keys(s):
    """Return the allowed pairs of scores without a mask."""
    return np.ones(np.shape(s), bool)


def with_ones(x):
    """Return [x; 1] for each row x, so that [W b] [x; 1] = W x + b."""
    return np.concatenate([x, np.ones((len(x), 1), x.dtype)], 1)


def with_bias(P, name):
    """Return [W b] for the layer of this name, or [W 0]; P has arrays by name."""
    W = P[f"{name}.weight"]
    b = P.get(f"{name}.bias", np.zeros(len(W), W.dtype))
    return np.concatenate([W, b[:, None]], 1)


def check(function, definition, arrays, parameters=(), close=VALUES):
    """Assert that a function has the values and the gradients of its definition.

    function     of Tensors, the arrays; returns a Tensor or a tuple of Tensors
    definition   of the arrays and of the parameters' arrays; returns as many arrays
    parameters   nn.Parameters that the function reads
    """
    for parameter in parameters:
        parameter.zero_grad()
    leaves = [Tensor(x, requires_grad=True) for x in arrays]
    outputs = _tuple(function(*leaves))
    inputs = [*arrays, *(p.data for p in parameters)]
    expected = _tuple(definition(*inputs))
    for found, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(found.data, wanted, **close)
    rng = np.random.default_rng(5)
    g = [rng.standard_normal(y.shape) for y in outputs]
    sum((y * each).sum() for y, each in zip(outputs, g)).backward()
    check_gradients(definition, inputs, g, [x.grad for x in (*leaves, *parameters)])


def check_gradients(definition, inputs, g, gradients, step=1e-5, rounding=1e-14):
    """Assert that ``gradients`` are those of L = sum(g definition(*inputs)).

    gradients   None means 0
    step        h, small enough that the error of order h^2 is below 1e-7
    rounding    of the definition's outputs, relative to them
    """
    rng = np.random.default_rng(7)

    def terms(x, i):
        outputs = _tuple(definition(*inputs[:i], x, *inputs[i + 1 :]))
        return np.concatenate([(a * y).ravel() for a, y in zip(_tuple(g), outputs)])

    for i, (x, dx) in enumerate(zip(inputs, gradients, strict=True)):
        dx = np.zeros(x.shape) if dx is None else dx
        assert dx.shape == x.shape
        d = rng.standard_normal(x.shape)
        after, before = terms(x + step * d, i), terms(x - step * d, i)
        wanted = (after - before).sum() / (2 * step)
        found = (dx * d).sum()
        error = 1e-7 * abs(dx * d).sum() + rounding / step * abs(after).sum()
        assert abs(found - wanted) <= error, (
            f"input {i}, of shape {x.shape}: the gradient times a direction is {found};"
            f" expected {wanted}, the difference of the definition, up to {error}"
        )


def _tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)
