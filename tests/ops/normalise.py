"""Softmax, its logarithm, layer_norm, rms_norm: specifications and wrong backwards."""

import numpy as np

from .spec import call, normal, spec, wrong


def softmax(x, axis=-1):
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


_along = {
    "vector": lambda r: call(normal(r, (7,))),
    "rows": lambda r: call(normal(r, (3, 5))),
    "columns": lambda r: call(normal(r, (3, 5)), axis=0),
    "middle": lambda r: call(normal(r, (3, 5, 7)), axis=-2),
    "empty": lambda r: call(normal(r, (0, 3))),
}

spec("softmax", softmax, _along)
wrong("softmax", "diagonal-only", lambda g, p, x, axis=-1: g * p * (1 - p))
wrong("softmax", "no-centre", lambda g, p, x, axis=-1: g * p)

spec(
    "log_softmax",
    lambda x, axis=-1: np.log(softmax(x, axis)),
    _along,
)
wrong("log_softmax", "no-normaliser", lambda g, y, x, axis=-1: g)


def layer_norm(x, weight=None, bias=None, eps=1e-5):
    given = bias if weight is None else weight
    axes = (-1,) if given is None else tuple(range(-given.ndim, 0))
    return _standard(x, eps, axes)[0] * (1 if weight is None else weight) + (
        0 if bias is None else bias
    )


def _standard(x, eps, axes=-1):
    """x with mean 0 and variance 1, and the deviation it was divided by."""
    deviation = np.sqrt(x.var(axes, keepdims=True) + eps)
    return (x - x.mean(axes, keepdims=True)) / deviation, deviation


def _rows(shape, weight=True, bias=True, **options):
    return lambda r: call(
        normal(r, shape),
        normal(r, shape[-1:]) if weight else None,
        normal(r, shape[-1:]) if bias else None,
        **options,
    )


spec(
    "layer_norm",
    layer_norm,
    {
        "rows": _rows((3, 5)),
        "two-axes": lambda r: call(normal(r, (3, 7, 5)), *r.normal(size=(2, 7, 5))),
        "no-weight": lambda r: call(normal(r, (3, 7, 5)), None, normal(r, (7, 5))),
        "batched": _rows((3, 7, 5)),
        "vector": _rows((7,)),
        "eps": _rows((3, 5), eps=0.5),
        "plain": _rows((3, 5), weight=False, bias=False),
        "no-bias": _rows((3, 5), bias=False),
        "empty": _rows((0, 5)),
    },
)


def _held(centre):
    """A backward that takes the variance for a constant; the mean too, without centre."""

    def backward(g, y, x, weight, bias):
        xhat, deviation = _standard(x, 1e-5)
        d = g * weight
        d = d - d.mean(-1, keepdims=True) if centre else d
        return d / deviation, (g * xhat).sum(0), g.sum(0)

    return backward


wrong("layer_norm", "mean-and-variance-constant", _held(centre=False), on="rows")
wrong("layer_norm", "variance-constant", _held(centre=True), on="rows")


def rms_norm(x, weight=None, eps=1e-6):
    y = x / np.sqrt((x * x).sum(-1, keepdims=True) / x.shape[-1] + eps)
    return y if weight is None else weight * y


spec(
    "rms_norm",
    rms_norm,
    {
        "weight": lambda r: call(normal(r, (3, 5, 7)), normal(r, (7,))),
        "free": lambda r: call(normal(r, (5, 7))),
        "large-eps": lambda r: call(normal(r, (3, 5)), normal(r, (5,)), 0.7),
        "weight-of-heads": lambda r: call(normal(r, (2, 3, 5, 7)), normal(r, (3, 1, 7))),
        "empty": lambda r: call(normal(r, (0, 7)), normal(r, (7,))),
    },
)


def _root_constant(g, y, x, weight):
    """The root mean square is taken for a constant."""
    r = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    return g * weight / r, (g * x / r).sum((0, 1))


wrong("rms_norm", "root-constant", _root_constant, on="weight")
