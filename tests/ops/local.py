"""Windows of rows and distances of points: specifications."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, of_shapes, spec


def windows(x, first, stop, width):
    """Copy one row of one window at a time."""
    y = np.zeros((*first.shape, width, x.shape[-1]))
    for *batch, i in np.ndindex(first.shape):
        for w in range(width):
            s = first[(*batch, i)] + w
            if s < stop[(*batch, i)]:
                y[(*batch, i, w)] = x[(*batch, s)]
    return y


def _windows(shape, first, stop, width):
    first, stop = np.array(first), np.array(stop)
    return lambda r: call(normal(r, shape), first, stop, width)


spec(
    "gather_windows",
    windows,
    {
        "one": _windows((7, 3), [0, 2, 4, 2, 5], [2, 5, 7, 5, 7], 3),
        "batched": _windows(
            (2, 5, 3), [[0, 1, 3], [2, 2, 0]], [[3, 4, 5], [5, 4, 0]], 3
        ),
        "heads": _windows((2, 1, 5, 3), [[[0, 1]], [[3, 3]]], [[[3, 4]], [[5, 5]]], 3),
        "one-wide": _windows((5, 3), [4, 0, 4], [5, 1, 5], 1),
        "size-one": _windows((1, 1, 1), [[0]], [[1]], 1),
        "empty": _windows((0, 5, 3), np.zeros((0, 7), int), np.zeros((0, 7), int), 3),
        "empty-rows": _windows((3, 0, 5), np.zeros((3, 2), int), [[0] * 2] * 3, 0),
        "empty-windows": _windows((5, 3), np.zeros(0, int), np.zeros(0, int), 3),
    },
)


distances = batched(definitions.squared_distance, "(l,d),(s,d)->(l,s)")

spec("squared_distance", distances, of_shapes({
    "one": ((3, 5), (7, 5)),
    "batched": ((2, 3, 5), (2, 7, 5)),
    "keys-for-all": ((3, 5, 7), (11, 7)),
    "both-ways": ((3, 1, 5, 7), (2, 3, 7)),
    "empty": ((0, 5, 7), (0, 11, 7)),
    "empty-keys": ((3, 5, 7), (3, 0, 7)),
    "empty-points": ((5, 0), (3, 0)),
}))  # fmt: skip
