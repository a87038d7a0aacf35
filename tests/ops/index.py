"""Reading at indices: specifications and wrong backwards."""

import numpy as np

from .spec import call, normal, spec, wrong

_indices = {
    "number": ((3, 5), 1),
    "negative": ((3, 5), -1),
    "entry": ((3, 5), (1, 2)),
    "slice": ((7, 5), slice(1, 6, 2)),
    "slices": ((7, 5), (slice(None), slice(1, 3))),
    "reversed": ((7, 5), slice(None, None, -2)),
    "ellipsis": ((3, 5, 7), (..., 2)),
    "new-axis": ((3, 5), (None, 1, slice(None))),
    "integers": ((5, 3), np.array([4, 0, 2])),
    "repeats": ((5, 3), np.array([1, 4, 1, 1, -1])),
    "list": ((5, 3), [1, 4, 1]),
    "table": ((5, 3), np.array([[1, 4], [1, 0]])),
    "pairs": ((5, 3), (np.array([1, 4, 1]), np.array([2, 0, 2]))),
    "mixed": ((5, 3, 7), (slice(1, 4), np.array([2, 0, 2]), 3)),
    "mask": ((3, 5), np.arange(15).reshape(3, 5) % 3 == 1),
    "row-mask": ((5, 3), np.array([True, False, True, True, False])),
    "empty": ((3, 5), slice(2, 2)),
    "empty-mask": ((3, 5), np.zeros((3, 5), bool)),
    "empty-integers": ((3, 5), np.array([], int)),
}


def _peer(T, x, index):
    steps = [i.step for i in index if type(i) is slice] if type(index) is tuple else []
    step = index.step if type(index) is slice else min([s or 1 for s in steps] or [1])
    return NotImplemented if (step or 1) < 0 else x[index]  # it has no negative steps


spec(
    "getitem",
    lambda x, index: x[index],
    {
        name: lambda r, s=shape, i=index: call(normal(r, s), i)
        for name, (shape, index) in _indices.items()
    },
    _peer,
)


def _scattered(x, index, g):
    """g written, not added: of equal indices the last remains."""
    dx = np.zeros_like(x)
    dx[index] = g
    return dx


def _added(x, index, g):
    dx = np.zeros_like(x)
    np.add.at(dx, index, g)
    return dx


def _first_of_repeated(ids, g):
    """g where an id occurs for the first time, zero where it occurs again."""
    seen = np.unique(ids, return_index=True)[1]
    return np.where(np.isin(np.arange(len(ids)), seen)[:, None], g, 0)


wrong("getitem", "written-not-added", lambda g, y, x, i: _scattered(x, i, g))
wrong(
    "getitem",
    "first-of-repeated",
    lambda g, y, x, i: _added(x, i, _first_of_repeated(i % 5, g)),
    on="repeats",
)
wrong(
    "getitem",
    "mean-of-repeated",
    lambda g, y, x, i: (
        _added(x, i, g) / np.bincount(i % 5, minlength=5).clip(1)[:, None]
    ),
    on="repeats",
)
wrong("getitem", "to-all", lambda g, y, x, i: g * np.ones_like(x), on="number")
wrong(
    "getitem",
    "from-the-start",
    lambda g, y, x, i: _scattered(x, slice(len(g)), g),
    on="slice",
)

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
    lambda T, ids, weight, padding_idx=None: T.nn.functional.embedding(
        ids.long(), weight, padding_idx
    ),
)
wrong("embedding", "written", lambda g, y, i, w: (None, _scattered(w, i, g)), "repeats")
wrong(
    "embedding",
    "first-of-repeated",
    lambda g, y, i, w: (None, _added(w, i, _first_of_repeated(i, g))),
    on="repeats",
)
wrong(
    "embedding",
    "mean-of-repeated",
    lambda g, y, i, w: (
        None,
        _added(w, i, g) / np.bincount(i, minlength=5).clip(1)[:, None],
    ),
    on="repeats",
)
wrong(
    "embedding",
    "one-row-off",
    lambda g, y, i, w: (None, _added(w, (i + 1) % 5, g)),
    "row",
)
