"""Reductions and running sums: specifications and wrong backwards."""

import numpy as np

from .spec import call, distinct, normal, reductions, spec, spread, wrong


def count(x, axis=None):
    """How many entries are reduced to one."""
    axes = range(x.ndim) if axis is None else axis if type(axis) is tuple else (axis,)
    return int(np.prod([x.shape[a] for a in axes]))


def of_peer(name):
    """The reduction ``name`` of PyTorch, with NumPy's keywords."""

    def peer(T, x, axis=None, keepdims=False, **options):
        axis = tuple(range(x.ndim)) if axis is None else axis
        if x.ndim == 0:  # PyTorch reduces over no axes when it is given none
            x, axis = x.reshape(1), 0
        return getattr(T, name)(x, dim=axis, keepdim=keepdims, **options)

    return peer


def lay(backward):
    """Of backward(g, y, x, axis), with g and y laid over the input."""

    def full(g, y, x, axis=None, keepdims=False):
        return backward(
            spread(g, x, axis, keepdims), spread(y, x, axis, keepdims), x, axis
        )

    return full


spec("sum", np.sum, reductions(normal), of_peer("sum"))
wrong("sum", "mean-for-sum", lay(lambda g, y, x, axis: g / count(x, axis)))
wrong("sum", "ignores-g", lay(lambda g, y, x, axis: np.ones(x.shape)))
wrong("sum", "wrong-axis", lambda g, y, x, axis: spread(g, x, 1), on="square")
wrong("sum", "first-only", lambda g, y, x, axis: g * np.eye(5)[:1].T, on="square")

spec("mean", np.mean, reductions(normal), of_peer("mean"))
wrong("mean", "sum-for-mean", lay(lambda g, y, x, axis: g.copy()))
wrong("mean", "whole-size", lay(lambda g, y, x, axis: g / x.size))
wrong("mean", "wrong-axis", lambda g, y, x, axis: spread(g / 5, x, 1), on="square")

for _name, _other in (("max", "min"), ("min", "max")):
    spec(_name, getattr(np, _name), reductions(distinct), of_peer("a" + _name))
    wrong(_name, "to-all", lay(lambda g, y, x, axis: g.copy()))
    wrong(_name, "shared", lay(lambda g, y, x, axis: g / count(x, axis)))
    wrong(_name, "of-x", lay(lambda g, y, x, axis: g * x * (x == y)))
    wrong(
        _name,
        f"of-the-{_other}",
        lambda g, y, x, axis, other=getattr(np, _other): g * (x == other(x, axis)),
        on="square",
    )

spec(
    "var",
    np.var,
    {
        **reductions(normal, varying=True),
        "ddof": lambda r: call(normal(r, (3, 5, 7)), axis=1, ddof=1),
        "ddof-all": lambda r: call(normal(r, (3, 5)), ddof=1, keepdims=True),
        "ddof-tuple": lambda r: call(normal(r, (3, 5, 7)), axis=(0, -1), ddof=2),
    },
    lambda T, x, ddof=0, **options: of_peer("var")(T, x, correction=ddof, **options),
)


def _centred(x, axis):
    return x - x.mean(axis, keepdims=True)


def _of_var(slope):
    """Of slope(x, axis, n, ddof), the backward that multiplies g by it."""
    return lambda g, y, x, axis=None, ddof=0, keepdims=False: (
        spread(g, x, axis, keepdims) * slope(x, axis, count(x, axis), ddof)
    )


wrong("var", "no-two", _of_var(lambda x, axis, n, ddof: _centred(x, axis) / (n - ddof)))
wrong("var", "no-centre", _of_var(lambda x, axis, n, ddof: 2 * x / (n - ddof)))
wrong("var", "sum", _of_var(lambda x, axis, n, ddof: 2 * _centred(x, axis)))
wrong(
    "var", "ddof-forgotten", _of_var(lambda x, axis, n, ddof: 2 * _centred(x, axis) / n)
)
wrong(
    "var",
    "grand-mean",
    _of_var(lambda x, axis, n, ddof: 2 * _centred(x, None) / (n - ddof)),
)


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.exp(x).sum(axis, keepdims=keepdims))


spec("logsumexp", logsumexp, reductions(normal), of_peer("logsumexp"))
wrong("logsumexp", "unnormalised", lay(lambda g, y, x, axis: g * np.exp(x)))
wrong("logsumexp", "to-all", lay(lambda g, y, x, axis: g.copy()))
wrong("logsumexp", "uniform", lay(lambda g, y, x, axis: g / count(x, axis)))
wrong(
    "logsumexp",
    "of-the-max",
    lay(lambda g, y, x, axis: g * (x == x.max(axis, keepdims=True))),
)
wrong("logsumexp", "divided-by-y", lay(lambda g, y, x, axis: g * np.exp(x) / y))

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
    lambda T, x, axis=None: T.cumsum(x.ravel() if axis is None else x, axis or 0),
)
wrong("cumsum", "not-reversed", lambda g, y, x, axis: np.cumsum(g, axis), on="square")
wrong("cumsum", "own-term-only", lambda g, y, x, axis: g, on="square")
wrong(
    "cumsum",
    "sum-for-all",
    lambda g, y, x, axis: np.broadcast_to(g.sum(0), x.shape),
    on="square",
)
wrong(
    "cumsum",
    "wrong-axis",
    lambda g, y, x, axis: np.cumsum(g[:, ::-1], 1)[:, ::-1],
    on="square",
)
