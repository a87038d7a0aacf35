"""Elementwise arithmetic: specifications and wrong backwards."""

import numpy as np

from .spec import binary, call, distinct, nonzero, normal, positive, spec, unary, wrong

spec("add", np.add, binary(normal), lambda T, x, y: x + y)
wrong("add", "sign-of-y", lambda g, out, x, y: (g, -g))
wrong("add", "shared-half", lambda g, out, x, y: (g / 2, g / 2))
wrong("add", "ignores-g", lambda g, out, x, y: (np.ones_like(g), np.ones_like(g)))

spec("sub", np.subtract, binary(normal), lambda T, x, y: x - y)
wrong("sub", "sign-forgotten", lambda g, out, x, y: (g, g.copy()))
wrong("sub", "swapped", lambda g, out, x, y: (-g, g))

spec("mul", np.multiply, binary(normal), lambda T, x, y: x * y)
wrong("mul", "own-factor", lambda g, out, x, y: (g * x, g * y))
wrong("mul", "ignores-g", lambda g, out, x, y: (y + 0 * g, x + 0 * g))

spec("div", np.divide, binary(normal, nonzero), lambda T, x, y: x / y)
wrong("div", "sign-of-y", lambda g, out, x, y: (g / y, g * x / y**2))
wrong("div", "not-squared", lambda g, out, x, y: (g / y, -g * x / y))
wrong("div", "multiplied", lambda g, out, x, y: (g * y, -g * x / y**2))

spec("neg", np.negative, unary(normal), lambda T, x: -x)
wrong("neg", "sign", lambda g, y, x: g)
wrong("neg", "ignores-g", lambda g, y, x: -np.ones_like(g))

spec(
    "pow",
    np.power,
    {
        **binary(positive, normal),
        "square": lambda r: call(nonzero(r, (3, 5)), 2),
        "cube": lambda r: call(nonzero(r, (3, 5)), 3),
        "reciprocal": lambda r: call(nonzero(r, (3, 5)), -1.0),
    },
    lambda T, x, y: x**y,
)
wrong("pow", "not-lowered", lambda g, out, x, n: (g * n * x**n, g * out * _log(x)))
wrong("pow", "no-factor", lambda g, out, x, n: (g * x ** (n - 1.0), g * out * _log(x)))
wrong("pow", "log-of-n", lambda g, out, x, n: (g * n * x ** (n - 1.0), g * out * n))
wrong("pow", "no-log", lambda g, out, x, n: (g * n * x ** (n - 1.0), g * out))


def _log(x):
    return np.log(np.abs(x))


spec("exp", np.exp, unary(normal), lambda T, x: T.exp(x))
wrong("exp", "x-for-y", lambda g, y, x: g * x)
wrong("exp", "exp-of-y", lambda g, y, x: g * np.exp(y))
wrong("exp", "power-rule", lambda g, y, x: g * x * np.exp(x - 1))

spec("log", np.log, unary(positive), lambda T, x: T.log(x))
wrong("log", "y-for-x", lambda g, y, x: g / y)
wrong("log", "no-reciprocal", lambda g, y, x: g * x)
wrong("log", "base-ten", lambda g, y, x: g / (x * np.log(10)))

spec("log1p", np.log1p, unary(positive), lambda T, x: T.log1p(x))
wrong("log1p", "of-log", lambda g, y, x: g / x)
wrong("log1p", "y-for-x", lambda g, y, x: g / (1 + y))
wrong("log1p", "no-reciprocal", lambda g, y, x: g * (1 + x))

spec("sqrt", np.sqrt, unary(positive), lambda T, x: T.sqrt(x))
wrong("sqrt", "no-half", lambda g, y, x: g / y)
wrong("sqrt", "x-for-y", lambda g, y, x: g / (2 * x))

spec("abs", np.abs, unary(nonzero), lambda T, x: T.abs(x))
wrong("abs", "no-sign", lambda g, y, x: g)
wrong("abs", "x-for-sign", lambda g, y, x: g * x)
wrong("abs", "sign-of-g", lambda g, y, x: np.abs(g) * np.sign(x))


def _apart(take):
    """Two arrays whose entries never tie: x on a grid, y between its points."""
    return {
        name: lambda r, s=s, t=t: call(_grid(r, s), take(_grid(r, t)))
        for name, (s, t) in {
            "same": ((3, 5), (3, 5)),
            "row": ((3, 5), (5,)),
            "column-and-row": ((3, 1), (1, 5)),
            "both-ways": ((7, 1, 5), (3, 1)),
            "empty": ((0, 3), (3,)),
        }.items()
    } | {
        "number-right": lambda r: call(_grid(r, (3, 5)), 0.25),
        "number-left": lambda r: call(0.25, _grid(r, (3, 5))),
    }


def _grid(r, shape):
    return np.asarray(r.integers(-3, 4, shape) / 2)


for _name, _right in (("maximum", np.greater), ("minimum", np.less)):
    spec(
        _name,
        getattr(np, _name),
        _apart(lambda y: y + 0.25),
        lambda T, x, y, name=_name: getattr(T, name)(T.as_tensor(x), T.as_tensor(y)),
    )
    wrong(_name, "both", lambda g, out, x, y: (g, g.copy()))
    wrong(_name, "half-each", lambda g, out, x, y: (g / 2, g / 2))
    wrong(_name, "loser", lambda g, out, x, y, r=_right: (g * ~r(x, y), g * r(x, y)))

spec(
    "where",
    np.where,
    {
        "same": lambda r: call(r.random((3, 5)) < 0.5, *r.normal(size=(2, 3, 5))),
        "broadcast": lambda r: call(
            r.random((3, 1)) < 0.5, normal(r, (7, 1, 5)), normal(r, (5,))
        ),
        "number": lambda r: call(r.random((3, 5)) < 0.5, normal(r, (3, 5)), 0.25),
        "number-first": lambda r: call(r.random((3, 5)) < 0.5, 0.25, normal(r, (5,))),
        "empty": lambda r: call(np.zeros((0, 3), bool), normal(r, (3,)), 1.5),
    },
    lambda T, c, x, y: T.where(c, x, y),
)
wrong("where", "condition-forgotten", lambda g, out, c, x, y: (None, g, g.copy()))
wrong("where", "swapped", lambda g, out, c, x, y: (None, g * ~c, g * c))
wrong("where", "only-x", lambda g, out, c, x, y: (None, g * c, np.zeros_like(g)))


spec(
    "clip",
    lambda x, min=None, max=None: np.clip(x, min, max),
    {
        "both": lambda r: call(distinct(r, (3, 5)), -1.0, 1.0),
        "scalar": lambda r: call(np.array(0.5), -1.0, 1.0),
        "min": lambda r: call(distinct(r, (3, 5)), -0.5, None),
        "max": lambda r: call(distinct(r, (3, 5)), None, 1.0),
        "arrays": lambda r: call(distinct(r, (7, 5)), np.full(5, -1.0), np.array(1.0)),
        "keywords": lambda r: call(distinct(r, (3, 5)), min=-1.0, max=0.5),
        "empty": lambda r: call(np.zeros((0, 3)), -1.0, 1.0),
    },
    lambda T, x, min=None, max=None: T.clamp(x, min, max),
)
wrong("clip", "unclipped", lambda g, y, x, min=None, max=None: g)
wrong("clip", "outside", lambda g, y, x, min=None, max=None: g * (y != x))
wrong("clip", "slope-of-y", lambda g, y, x, min=None, max=None: g * y)
