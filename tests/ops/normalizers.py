"""Normalisers, norms and gates of attention: specifications and wrong backwards."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, spec, wrong

_mask = np.random.default_rng(5).random((3, 5, 7)) < 0.6
_mask[1, 2] = False  # a query without keys
ALL = np.ones((5, 7), bool)


def _reference(definition, *parameters, **options):
    """Return the definition for all examples; parameters (..., 1, 1) or ()."""
    core = ",".join(["(l,s),(l,s)", *["(m,n)"] * len(parameters)])
    each = batched(definition, f"{core}->(l,s)", **options)

    def reference(s, allowed, *values):
        allowed = np.broadcast_to(allowed, s.shape)
        return each(s, allowed, *(np.reshape(x, np.shape(x) or (1, 1)) for x in values))

    return reference


def _cases(*parameters):
    """Return cases; parameters are functions (r, shape) of numbers."""

    def case(shape, allowed, b_shape=()):
        return lambda r: call(
            normal(r, shape), allowed, *(draw(r, b_shape) for draw in parameters)
        )

    return {
        "mask": case((3, 5, 7), _mask),
        "free": case((5, 7), ALL),
        "heads": case((2, 3, 5, 7), np.broadcast_to(_mask, (2, 3, 5, 7)), (3, 1, 1)),
        "one-key": case((5, 1), ALL[:, :1]),
        "empty-keys": case((5, 0), ALL[:, :0]),
    }


# the sink


spec("sink_softmax", _reference(definitions.sink_softmax, 1), _cases(normal))


# entmax


def _entmax(s, allowed, alpha=1.5):
    return _reference(definitions.entmax, alpha=alpha)(s, allowed)


def _with_alpha(alpha, case):
    return lambda r: call(*case(r).args, alpha)


_one = _cases()
spec(
    "entmax",
    _entmax,
    {
        "mask": _one["mask"],
        "free": _with_alpha(1.33, _one["free"]),
        "heads": _with_alpha(2, _one["heads"]),
        "many": lambda r: call(normal(r, (3, 13)), np.ones((3, 13), bool), 1.5),
        "bisection": _with_alpha(1.7, _one["mask"]),
        "empty-keys": _one["empty-keys"],
    },
)


def _over_all_keys(g, p, *rest):
    """The slope of a softmax, which lets a key of weight 0 come back."""
    return p * (g - (p * g).sum(-1, keepdims=True)), None, None


wrong("entmax", "softmax", _over_all_keys, on="mask")


# stick-breaking


spec("stick_breaking", _reference(definitions.stick_breaking), _cases())


def _own_slope_alone(g, p, s, allowed):
    """The stick that a key leaves to the keys before it is taken for a constant."""
    return p * g * (1 - np.where(allowed, definitions.sigmoid(s), 0)), None


wrong("stick_breaking", "own-slope-alone", _own_slope_alone, on="mask")


# the direction of queries and keys


spec(
    "unit",
    lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)),
    {
        "rows": lambda r: call(normal(r, (3, 5, 7))),
        "small": lambda r: call(1e-3 * normal(r, (3, 5))),
        "empty": lambda r: call(normal(r, (0, 7))),
    },
)
