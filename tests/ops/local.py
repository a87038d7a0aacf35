"""Windows of rows and distances of points: specifications and wrong backwards."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, spec, wrong


def windows(x, first, stop, width):
    """Copy one row of one window at a time."""
    y = np.zeros((*first.shape, width, x.shape[-1]))
    for *batch, i in np.ndindex(first.shape):
        for w in range(width):
            s = first[(*batch, i)] + w
            if s < stop[(*batch, i)]:
                y[(*batch, i, w)] = x[(*batch, s)]
    return y


def _windows_peer(T, x, first, stop, width):
    s = first[..., None] + T.arange(width)
    inside = s < stop[..., None]
    index = T.where(inside, s, 0)  # (..., L, W)
    index = index.flatten(-2)[..., None].expand(*x.shape[:-2], -1, x.shape[-1])
    y = T.gather(x, -2, index).unflatten(-2, s.shape[-2:])
    return T.where(inside[..., None], y, 0.0)


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
        "all-rows": _windows((3, 5), [0, 0], [3, 3], 3),
        "one-wide": _windows((5, 3), [4, 0, 4], [5, 1, 5], 1),
        "size-one": _windows((1, 1, 1), [[0]], [[1]], 1),
        "empty": _windows((0, 5, 3), np.zeros((0, 7), int), np.zeros((0, 7), int), 3),
        "empty-rows": _windows((3, 0, 5), np.zeros((3, 2), int), [[0] * 2] * 3, 0),
        "empty-windows": _windows((5, 3), np.zeros(0, int), np.zeros(0, int), 3),
    },
    _windows_peer,
)


def _scattered(g, y, x, first, stop, width, add=True, all_rows=False, shift=0):
    """Sum the gradients of each row over the windows; options make it wrong."""
    dx = np.zeros(x.shape)
    for *batch, i in np.ndindex(first.shape):
        for w in range(width):
            s = first[(*batch, i)] + w
            if s < stop[(*batch, i)] or all_rows:
                row = (*batch, (s + shift) % x.shape[-2])
                dx[row] = g[(*batch, i, w)] + add * dx[row]
    return dx


def _averaged(g, y, x, *windows):
    counts = _scattered(np.ones(g.shape), y, x, *windows)
    return _scattered(g, y, x, *windows) / np.maximum(counts, 1)


wrong(
    "gather_windows",
    "=-for-+=",
    lambda *args: _scattered(*args, add=False),
    on="batched",
)
wrong("gather_windows", "averaged", _averaged, on="batched")
wrong(
    "gather_windows",
    "beyond-the-end-of-a-window",
    lambda *args: _scattered(*args, all_rows=True),
    on="batched",
)
wrong(
    "gather_windows",
    "one-row-off",
    lambda *args: _scattered(*args, shift=1),
    on="batched",
)
wrong(
    "gather_windows",
    "rows-of-the-first-example",
    lambda g, y, x, first, *rest: _scattered(
        g, y, x, np.broadcast_to(first[:1], first.shape), *rest
    ),
    on="batched",
)


distances = batched(definitions.squared_distance, "(l,d),(s,d)->(l,s)")

_shapes = {
    "one": ((3, 5), (7, 5)),
    "batched": ((2, 3, 5), (2, 7, 5)),
    "square": ((2, 3, 5), (2, 3, 5)),
    "keys-for-all": ((3, 5, 7), (11, 7)),
    "both-ways": ((3, 1, 5, 7), (2, 3, 7)),
    "on-a-line": ((5, 1), (7, 1)),
    "empty": ((0, 5, 7), (0, 11, 7)),
    "empty-keys": ((3, 5, 7), (3, 0, 7)),
    "empty-points": ((5, 0), (3, 0)),
}
spec(
    "squared_distance",
    distances,
    {
        name: lambda r, s=s, t=t: call(normal(r, s), normal(r, t))
        for name, (s, t) in _shapes.items()
    },
    lambda T, q, k: ((q.unsqueeze(-2) - k.unsqueeze(-3)) ** 2).sum(-1),
)


def _distance(slope=lambda g, d: 2 * g * d, dq=None, dk=None):
    """Return the backward of (B, L, D) and (B, S, D); options make it wrong."""
    dq = dq or (lambda d: d.sum(2))
    dk = dk or (lambda d: -d.sum(1))

    def backward(g, y, q, k):
        d = slope(g[..., None], q[:, :, None] - k[:, None])  # (B, L, S, D)
        return dq(d), dk(d)

    return backward


for _tag, _slip in {
    "two-forgotten": _distance(lambda g, d: g * d),
    "sign-of-the-keys": _distance(dk=lambda d: d.sum(1)),
    "absolute": _distance(lambda g, d: 2 * g * abs(d)),
    "first-key": _distance(dq=lambda d: d[:, :, 0]),
    "mean-over-queries": _distance(dk=lambda d: -d.mean(1)),
    "distance-not-difference": _distance(
        lambda g, d: 2 * g * np.sqrt((d**2).sum(-1, keepdims=True)) * np.sign(d)
    ),
}.items():
    wrong("squared_distance", _tag, _slip, on="batched")
wrong(
    "squared_distance",
    "sums-swapped",
    _distance(dq=lambda d: d.sum(1), dk=lambda d: -d.sum(2)),
    on="square",
)
