"""Rotations and biases of relative positions: specifications and wrong backwards."""

import functools
import math

import numpy as np

from attention.positions import LinearScaling, YaRNScaling

from .spec import call, normal, spec, wrong


def turned(x, positions, base=10000.0, interleaved=False, scaling=None, rot_dim=None):
    """RoPE, one row and one pair at a time; the scalings by their own formulas."""
    y, positions = x.copy(), np.broadcast_to(positions, x.shape[:-1])
    R = x.shape[-1] if rot_dim is None else rot_dim
    for row in np.ndindex(x.shape[:-1]):
        for m in range(R // 2):
            a, b = (2 * m, 2 * m + 1) if interleaved else (m, m + R // 2)
            slower, factor = _slower(m, R, base, scaling)
            angle = positions[row] * base ** (-2 * m / R) * slower
            y[row][a] = factor * (
                math.cos(angle) * x[row][a] - math.sin(angle) * x[row][b]
            )
            y[row][b] = factor * (
                math.sin(angle) * x[row][a] + math.cos(angle) * x[row][b]
            )
    return y


def _slower(m, R, base, scaling):
    """How much slower pair m turns, and what multiplies its cosine and its sine."""
    if scaling is None:
        return 1.0, 1.0
    s = scaling.factor
    if isinstance(scaling, LinearScaling):
        return 1 / s, 1.0

    def turning(r):
        turns = scaling.original_length / (2 * math.pi * r)
        return R * math.log(turns) / (2 * math.log(base))

    low = max(math.floor(turning(scaling.beta_fast)), 0)
    high = min(math.ceil(turning(scaling.beta_slow)), R - 1)
    ramp = min(max((m - low) / (high - low), 0), 1)
    return (1 - ramp) + ramp / s, 0.1 * math.log(s) + 1


def _rope_peer(
    T, x, positions, base=10000.0, interleaved=False, scaling=None, rot_dim=None
):
    """Interleaved: multiplication by complex numbers. Half-split: rotate_half."""
    R = x.shape[-1] if rot_dim is None else rot_dim
    theta = base ** (-T.arange(0, R, 2, dtype=x.dtype) / R)
    slower = [_slower(m, R, base, scaling) for m in range(R // 2)]
    theta = theta * T.tensor([each[0] for each in slower], dtype=x.dtype)
    factor = _slower(0, R, base, scaling)[1]
    angle = positions[..., None] * theta
    moving, still = x[..., :R], x[..., R:]
    if interleaved:
        z = T.view_as_complex(
            moving.reshape(*moving.shape[:-1], R // 2, 2).contiguous()
        )
        z = z * T.polar(T.full_like(angle, factor), angle)
        y = T.view_as_real(z).flatten(-2)
    else:
        angle = T.cat([angle, angle], -1)
        half = T.cat([-moving[..., R // 2 :], moving[..., : R // 2]], -1)
        y = factor * (moving * T.cos(angle) + half * T.sin(angle))
    return T.cat([y, still], -1)


_yarn = YaRNScaling(4.0, 64)
spec(
    "rope",
    turned,
    {
        "half-split": lambda r: call(normal(r, (5, 6)), np.arange(5)),
        "interleaved": lambda r: call(
            normal(r, (5, 6)), np.arange(5), interleaved=True
        ),
        "heads": lambda r: call(normal(r, (2, 3, 5, 4)), np.arange(7, 12)),
        "square": lambda r: call(normal(r, (4, 4)), np.arange(1, 5)),
        "of-each-example": lambda r: call(
            normal(r, (2, 3, 5, 4)), r.integers(0, 99, (2, 1, 5))
        ),
        "of-each-row": lambda r: call(
            normal(r, (3, 5, 4)), r.integers(0, 99, (3, 5)), interleaved=True
        ),
        "partial": lambda r: call(normal(r, (3, 5, 7)), np.arange(5), rot_dim=4),
        "partial-interleaved": lambda r: call(
            normal(r, (5, 7)), np.arange(5), interleaved=True, rot_dim=4
        ),
        "base": lambda r: call(normal(r, (5, 6)), np.arange(5), 11.0),
        "linear": lambda r: call(
            normal(r, (5, 6)), np.arange(5), scaling=LinearScaling(3.0)
        ),
        "yarn": lambda r: call(
            normal(r, (5, 8)), np.arange(90, 95), 10.0, scaling=_yarn
        ),
        "backwards": lambda r: call(normal(r, (5, 6)), np.arange(5)[::-1] - 2),
        "empty": lambda r: call(normal(r, (0, 5, 6)), np.arange(5)),
        "empty-sequence": lambda r: call(normal(r, (3, 0, 6)), np.arange(0)),
        "empty-width": lambda r: call(normal(r, (3, 0)), np.arange(3)),
    },
    _rope_peer,
)


def _turned_back(g, y, x, positions, base=10000.0, **options):
    return turned(g, -np.asarray(positions), base, **options)


def _forgetting(name):
    """The right backward, but for one option."""

    def backward(g, y, x, positions, base=10000.0, **options):
        options.pop(name)
        return turned(g, -np.asarray(positions), base, **options)

    return backward


def _without_factor(g, y, x, positions, base, scaling):
    factor = _slower(0, x.shape[-1], base, scaling)[1]
    return _turned_back(g, y, x, positions, base, scaling=scaling) / factor


def _inverse(g, y, x, positions, base, scaling):
    factor = _slower(0, x.shape[-1], base, scaling)[1]
    return _turned_back(g, y, x, positions, base, scaling=scaling) / factor**2


def _others_forgotten(g, y, x, positions, rot_dim):
    g = g.copy()
    g[..., rot_dim:] = 0
    return _turned_back(g, y, x, positions, rot_dim=rot_dim)


wrong("rope", "turned-on", lambda g, y, x, *rest, **o: turned(g, *rest, **o))
wrong("rope", "not-turned", lambda g, y, *rest, **o: g, on="half-split")
wrong("rope", "base-forgotten", lambda g, y, x, p, base: turned(g, -p), on="base")
wrong("rope", "other-pairs", _forgetting("interleaved"), on="interleaved")
wrong("rope", "the-others-forgotten", _others_forgotten, on="partial")
wrong("rope", "scaling-forgotten", _forgetting("scaling"), on="linear")
wrong("rope", "factor-forgotten", _without_factor, on="yarn")
wrong("rope", "inverse-for-transpose", _inverse, on="yarn")
wrong(
    "rope",
    "one-position-off",
    lambda g, y, x, p, **o: turned(g, 1 - p, **o),
    on="half-split",
)
wrong(
    "rope",
    "position-of-the-head",
    lambda g, y, x, p: turned(g, -p[..., :1]),
    on="of-each-example",
)


def diagonals(v, L, S):
    """One entry at a time."""
    b = np.zeros((*v.shape[:-1], L, S))
    for i in range(L):
        for j in range(S):
            b[..., i, j] = v[..., j - i + L - 1]
    return b


def _toeplitz_peer(T, v, L, S):
    offset = T.arange(S) - T.arange(L)[:, None] + L - 1
    return v[..., offset]


_shapes = {
    "one-head": ((11,), 5, 7),
    "heads": ((3, 11), 5, 7),
    "more-queries": ((3, 11), 7, 5),
    "square": ((2, 3, 9), 5, 5),
    "one-query": ((3, 7), 1, 7),
    "one-key": ((3, 5), 5, 1),
    "empty": ((0, 11), 5, 7),
    "empty-keys": ((3, 4), 5, 0),
    "empty-queries": ((3, 6), 0, 7),
    "empty-both": ((3, 0), 0, 0),
}
spec(
    "toeplitz",
    diagonals,
    {
        name: lambda r, s=s, L=L, S=S: call(normal(r, s), L, S)
        for name, (s, L, S) in _shapes.items()
    },
    _toeplitz_peer,
)


def _sums(g, y, v, L, S, weight=1.0, place=lambda i, j, L, S: j - i + L - 1):
    dv = np.zeros(v.shape)
    for i in range(L):
        for j in range(S):
            dv[..., place(i, j, L, S)] += weight * g[..., i, j]
    return dv


def _last_one(g, y, v, L, S):
    dv = np.zeros(v.shape)
    for i in range(L):
        dv[..., L - 1 - i : L - 1 - i + S] = g[..., i, :]
    return dv


def _means(g, y, v, L, S):
    return _sums(g, y, v, L, S) / _sums(np.ones(g.shape), y, v, L, S)


wrong("toeplitz", "=-for-+=", _last_one, on="heads")
wrong("toeplitz", "means-for-sums", _means, on="heads")
wrong(
    "toeplitz",
    "transposed",
    functools.partial(_sums, place=lambda i, j, L, S: i - j + S - 1),
    on="heads",
)
wrong(
    "toeplitz",
    "anti-diagonals",
    functools.partial(_sums, place=lambda i, j, L, S: i + j),
    on="heads",
)
wrong(
    "toeplitz",
    "first-row-alone",
    lambda g, y, v, L, S: np.concatenate(
        [np.zeros((*v.shape[:-1], L - 1)), g[..., 0, :]], -1
    ),
    on="heads",
)


# of each query a row by offset, to all pairs and back


def _column(i, j, n, first):
    """Where the offset of a pair stands, or the nearest that there is."""
    return min(max(j - i - first, 0), n - 1)


def _from_offsets(x, S, first, column=_column):
    """One pair at a time."""
    L, n = x.shape[-2:]
    y = np.zeros((*x.shape[:-1], S))
    for i in range(L):
        for j in range(S):
            y[..., i, j] = x[..., i, column(i, j, n, first)]
    return y


def _sum_offsets(p, n, first, column=_column):
    """One pair at a time."""
    L, S = p.shape[-2:]
    y = np.zeros((*p.shape[:-1], n))
    for i in range(L):
        for j in range(S):
            y[..., i, column(i, j, n, first)] += p[..., i, j]
    return y


def _columns(T, x, L, S, n, first):
    column = T.clip(T.arange(S) - T.arange(L)[:, None] - first, 0, n - 1)
    return column.expand(*x.shape[:-1], S)


def _from_offsets_peer(T, x, S, first):
    L, n = x.shape[-2:]
    return x.gather(-1, _columns(T, x, L, S, n, first))


def _sum_offsets_peer(T, p, n, first):
    y = T.zeros(*p.shape[:-1], n, dtype=p.dtype)
    return y.scatter_add(-1, _columns(T, p, *p.shape[-2:], n, first), p)


# leading axes, L, S, n, first
_tables = {
    "clipped": ((3,), 7, 5, 3, -1),
    "clipped-on-the-left": ((), 5, 7, 5, 2),
    "clipped-on-the-right": ((), 5, 7, 3, -4),
    "more-offsets-than-there-are": ((2, 3), 5, 7, 23, -9),
    "as-many-as-there-are": ((3,), 5, 7, 11, -4),
    "square": ((), 5, 5, 5, -2),
    "one-offset": ((3,), 5, 7, 1, 0),
    "all-far-to-the-right": ((), 3, 5, 3, -11),
    "one-query": ((3,), 1, 7, 5, -3),
    "one-key": ((3,), 7, 1, 5, -3),
    "empty": ((0,), 5, 7, 3, -1),
    "empty-keys": ((3,), 5, 0, 3, -1),
    "empty-queries": ((3,), 0, 7, 3, -1),
    "empty-all": ((3,), 1, 0, 0, 0),
}
spec(
    "from_offsets",
    _from_offsets,
    {
        name: lambda r, b=b, L=L, S=S, n=n, first=first: call(
            normal(r, (*b, L, n)), S, first
        )
        for name, (b, L, S, n, first) in _tables.items()
    },
    _from_offsets_peer,
)
spec(
    "sum_offsets",
    _sum_offsets,
    {
        name: lambda r, b=b, L=L, S=S, n=n, first=first: call(
            normal(r, (*b, L, S)), n, first
        )
        for name, (b, L, S, n, first) in _tables.items()
    },
    _sum_offsets_peer,
)


def _own(L, S, n, first):
    """Which pairs have an offset that is none of those beyond: (L, S)"""
    offset = np.arange(S) - np.arange(L)[:, None]
    return (first <= offset) & (offset < first + n)


def _other_way(i, j, n, first):
    return _column(j, i, n, first)


def _one_off(i, j, n, first):
    return _column(i, j, n, first + 1)


def _wrapped(i, j, n, first):
    return (j - i - first) % n


def _last_alone(g, y, x, S, first):
    L, n = x.shape[-2:]
    dx = np.zeros(x.shape)
    for i in range(L):
        for j in range(S):
            dx[..., i, _column(i, j, n, first)] = g[..., i, j]
    return dx


def _own_alone(g, y, x, S, first):
    L, n = x.shape[-2:]
    return _sum_offsets(g * _own(L, S, n, first), n, first)


def _mean(g, y, x, S, first):
    n = x.shape[-1]
    count = _sum_offsets(np.ones(g.shape), n, first)
    return _sum_offsets(g, n, first) / np.maximum(count, 1)


for tag, column in {
    "i-and-j-changed": _other_way,
    "one-offset-off": _one_off,
    "wrapped-for-clipped": _wrapped,
}.items():
    wrong(
        "from_offsets",
        tag,
        lambda g, y, x, S, first, column=column: _sum_offsets(
            g, x.shape[-1], first, column
        ),
        on="clipped",
    )
    wrong(
        "sum_offsets",
        tag,
        lambda g, y, p, n, first, column=column: _from_offsets(
            g, p.shape[-1], first, column
        ),
        on="clipped",
    )
wrong("from_offsets", "=-for-+=", _last_alone, on="clipped")
wrong("from_offsets", "the-rest-forgotten", _own_alone, on="clipped")
wrong("from_offsets", "means-for-sums", _mean, on="clipped")
wrong(
    "from_offsets",
    "summed-over-queries",
    lambda g, y, x, S, first: np.broadcast_to(
        _sum_offsets(g, x.shape[-1], first).sum(-2, keepdims=True), x.shape
    ),
    on="clipped",
)
wrong(
    "sum_offsets",
    "the-rest-forgotten",
    lambda g, y, p, n, first: (
        _from_offsets(g, p.shape[-1], first) * _own(*p.shape[-2:], n, first)
    ),
    on="clipped",
)
wrong(
    "sum_offsets",
    "shared-out",
    lambda g, y, p, n, first: _from_offsets(
        g / np.maximum(_sum_offsets(np.ones(p.shape), n, first), 1),
        p.shape[-1],
        first,
    ),
    on="clipped",
)
