"""Elementwise arithmetic: specifications and wrong backwards."""

import numpy as np

from .spec import binary, call, distinct, nonzero, normal, positive, spec, unary, wrong

spec("add", np.add, binary(normal))

spec("sub", np.subtract, binary(normal))

spec("mul", np.multiply, binary(normal))

spec("div", np.divide, binary(normal, nonzero))

spec("neg", np.negative, unary(normal))

spec(
    "pow",
    np.power,
    {
        **binary(positive, normal),
        "square": lambda r: call(nonzero(r, (3, 5)), 2),
        "reciprocal": lambda r: call(nonzero(r, (3, 5)), -1.0),
    },
)


spec("exp", np.exp, unary(normal))

spec("log", np.log, unary(positive))

spec("log1p", np.log1p, unary(positive))

spec("sqrt", np.sqrt, unary(positive))

spec("abs", np.abs, unary(nonzero))


def _apart(take):
    """Two arrays whose entries never tie: x on a grid, y between its points."""
    return {
        name: lambda r, s=s, t=t: call(_grid(r, s), take(_grid(r, t)))
        for name, (s, t) in {
            "same": ((3, 5), (3, 5)),
            "row": ((3, 5), (5,)),
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
)
wrong("where", "condition-forgotten", lambda g, out, c, x, y: (None, g, g.copy()))


spec(
    "clip",
    lambda x, min=None, max=None: np.clip(x, min, max),
    {
        "both": lambda r: call(distinct(r, (3, 5)), -1.0, 1.0),
        "arrays": lambda r: call(distinct(r, (7, 5)), np.full(5, -1.0), np.array(1.0)),
        "scalar": lambda r: call(np.array(0.5), -1.0, 1.0),
        "keywords": lambda r: call(distinct(r, (3, 5)), min=-1.0, max=0.5),
        "empty": lambda r: call(np.zeros((0, 3)), -1.0, 1.0),
    },
)
