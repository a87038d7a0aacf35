"""Reductions and running sums: specifications and wrong backwards."""

import numpy as np

from .spec import call, distinct, normal, reductions, spec, spread, wrong


def lay(backward):
    """Of backward(g, y, x, axis), with g and y laid over the input."""

    def full(g, y, x, axis=None, keepdims=False):
        return backward(
            spread(g, x, axis, keepdims), spread(y, x, axis, keepdims), x, axis
        )

    return full


spec("sum", np.sum, reductions(normal))

spec("mean", np.mean, reductions(normal))

for _name, _other in (("max", "min"), ("min", "max")):
    spec(_name, getattr(np, _name), reductions(distinct))

spec(
    "var",
    np.var,
    {
        "ddof": lambda r: call(normal(r, (3, 5, 7)), axis=1, ddof=1),
        **reductions(normal, varying=True),
        "ddof-all": lambda r: call(normal(r, (3, 5)), ddof=1, keepdims=True),
        "ddof-tuple": lambda r: call(normal(r, (3, 5, 7)), axis=(0, -1), ddof=2),
    },
)


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.exp(x).sum(axis, keepdims=keepdims))


spec("logsumexp", logsumexp, reductions(normal))
wrong("logsumexp", "to-all", lay(lambda g, y, x, axis: g.copy()))

_running = {
    "flattened": lambda r: call(normal(r, (3, 5))),
    "vector": lambda r: call(normal(r, (7,)), axis=0),
    "first": lambda r: call(normal(r, (3, 5, 7)), axis=0),
    "negative": lambda r: call(normal(r, (3, 5, 7)), axis=-2),
    "size-one": lambda r: call(normal(r, (3, 1)), axis=1),
    "square": lambda r: call(normal(r, (5, 5)), axis=0),
    "empty": lambda r: call(np.zeros((0, 3)), axis=0),
}
spec(
    "cumsum",
    np.cumsum,
    _running,
)
wrong("cumsum", "not-reversed", lambda g, y, x, axis: np.cumsum(g, axis), on="square")
