"""Elementwise arithmetic: specifications and wrong backwards."""

import numpy as np

from .spec import binary, call, distinct, nonzero, normal, positive, spec, unary, wrong

spec("add", np.add, binary(normal), lambda T, x, y: x + y)

spec("sub", np.subtract, binary(normal), lambda T, x, y: x - y)

spec("mul", np.multiply, binary(normal), lambda T, x, y: x * y)

spec("div", np.divide, binary(normal, nonzero), lambda T, x, y: x / y)

spec("neg", np.negative, unary(normal), lambda T, x: -x)

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


def _log(x):
    return np.log(np.abs(x))


spec("exp", np.exp, unary(normal), lambda T, x: T.exp(x))

spec("log", np.log, unary(positive), lambda T, x: T.log(x))

spec("log1p", np.log1p, unary(positive), lambda T, x: T.log1p(x))

spec("sqrt", np.sqrt, unary(positive), lambda T, x: T.sqrt(x))

spec("abs", np.abs, unary(nonzero), lambda T, x: T.abs(x))


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
