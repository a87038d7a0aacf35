"""Reading at indices: specifications and wrong backwards."""

import numpy as np

from .spec import call, normal, spec, wrong

_indices = {
    "repeats": ((5, 3), np.array([1, 4, 1, 1, -1])),
    "mask": ((3, 5), np.arange(15).reshape(3, 5) % 3 == 1),
    "mixed": ((5, 3, 7), (slice(1, 4), np.array([2, 0, 2]), 3)),
    "number": ((3, 5), 1),
    "negative": ((3, 5), -1),
    "slices": ((7, 5), (slice(None), slice(1, 3))),
    "ellipsis": ((3, 5, 7), (..., 2)),
    "new-axis": ((3, 5), (None, 1, slice(None))),
    "integers": ((5, 3), np.array([4, 0, 2])),
    "table": ((5, 3), np.array([[1, 4], [1, 0]])),
    "pairs": ((5, 3), (np.array([1, 4, 1]), np.array([2, 0, 2]))),
    "row-mask": ((5, 3), np.array([True, False, True, True, False])),
    "empty": ((3, 5), slice(2, 2)),
    "empty-mask": ((3, 5), np.zeros((3, 5), bool)),
    "empty-integers": ((3, 5), np.array([], int)),
}


spec(
    "getitem",
    lambda x, index: x[index],
    {
        name: lambda r, s=shape, i=index: call(normal(r, s), i)
        for name, (shape, index) in _indices.items()
    },
)


def _scattered(x, index, g):
    """g written, not added: of equal indices the last remains."""
    dx = np.zeros_like(x)
    dx[index] = g
    return dx


wrong("getitem", "written-not-added", lambda g, y, x, i: _scattered(x, i, g))

_ids = {
    "row": np.array([4, 0, 3]),
    "repeats": np.array([1, 4, 1, 1, 2]),
    "table": np.array([[1, 4, 1], [2, 2, 0]]),
    "one": np.array(3),
    "empty": np.zeros((0, 3), int),
}
spec(
    "embedding",
    lambda ids, weight, padding_idx=None: weight[ids],
    {
        **{
            name: lambda r, i=ids: call(i, normal(r, (5, 3)))
            for name, ids in _ids.items()
        },
        "small-ints": lambda r: call(
            _ids["repeats"].astype(np.int8), normal(r, (5, 3))
        ),
        "padding-absent": lambda r: call(_ids["repeats"], normal(r, (5, 3)), 0),
    },
)
wrong("embedding", "written", lambda g, y, i, w: (None, _scattered(w, i, g)), "repeats")
