"""Rotations and biases of relative positions: specifications and wrong backwards."""

import math

import numpy as np

from attention import definitions
from attention.positions import LinearScaling, YaRNScaling

from ..attention.definition_cases import batched
from .spec import call, normal, spec, wrong


each_head = batched(definitions.rope, "(l,d),(l),(m)->(l,d)")


def rotated(x, positions, base=10000.0, interleaved=False, scaling=None, rot_dim=None):
    """RoPE, whose pairs are columns in this order; scalings by their own formulas."""
    R = x.shape[-1] if rot_dim is None else rot_dim
    order = np.arange(R)
    if interleaved:  # the first entries of all pairs, and then the second ones
        order = np.concatenate([order[::2], order[1::2]])
    slower = np.array([_slower(m, R, base, scaling)[0] for m in range(R // 2)])
    w = slower * definitions.frequencies(R, base)
    positions = np.broadcast_to(positions, x.shape[:-1])
    y = x.copy()
    y[..., order] = each_head(x[..., order], positions, w)
    y[..., order] *= _slower(0, R, base, scaling)[1]
    return y


def _slower(m, R, base, scaling):
    """How much slower pair m rotates, and what multiplies its cosine and its sine."""
    if scaling is None:
        return 1.0, 1.0
    s = scaling.factor
    if isinstance(scaling, LinearScaling):
        return 1 / s, 1.0

    def pair_with_turns(r):
        turns = scaling.original_length / (2 * math.pi * r)
        return R * math.log(turns) / (2 * math.log(base))

    low = max(math.floor(pair_with_turns(scaling.beta_fast)), 0)
    high = min(math.ceil(pair_with_turns(scaling.beta_slow)), R - 1)
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
    rotated,
    {
        "half-split": lambda r: call(normal(r, (5, 6)), np.arange(5)),
        "interleaved": lambda r: call(
            normal(r, (5, 6)), np.arange(5), interleaved=True
        ),
        "heads": lambda r: call(normal(r, (2, 3, 5, 4)), np.arange(7, 12)),
        "of-each-example": lambda r: call(
            normal(r, (2, 3, 5, 4)), r.integers(0, 99, (2, 1, 5))
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
        "empty-sequence": lambda r: call(normal(r, (3, 0, 6)), np.arange(0)),
        "empty-width": lambda r: call(normal(r, (3, 0)), np.arange(3)),
    },
    _rope_peer,
)


def _rotated_back(g, y, x, positions, base=10000.0, **options):
    return rotated(g, -np.asarray(positions), base, **options)


def _forgetting(name):
    """The right backward, but for one option."""

    def backward(g, y, x, positions, base=10000.0, **options):
        options.pop(name)
        return rotated(g, -np.asarray(positions), base, **options)

    return backward


def _divided_by_factor(power):
    def backward(g, y, x, positions, base, scaling):
        factor = _slower(0, x.shape[-1], base, scaling)[1]
        dx = _rotated_back(g, y, x, positions, base, scaling=scaling)
        return dx / factor**power

    return backward


def _others_forgotten(g, y, x, positions, rot_dim):
    g = g.copy()
    g[..., rot_dim:] = 0
    return _rotated_back(g, y, x, positions, rot_dim=rot_dim)


for _tag, _slip, _case in (
    ("same-direction", lambda g, y, x, p, **o: rotated(g, p, **o), "half-split"),
    ("not-rotated", lambda g, y, x, p, **o: g, "half-split"),
    ("one-position-off", lambda g, y, x, p, **o: rotated(g, 1 - p, **o), "half-split"),
    ("base-forgotten", lambda g, y, x, p, base: rotated(g, -p), "base"),
    ("other-pairs", _forgetting("interleaved"), "interleaved"),
    ("the-others-forgotten", _others_forgotten, "partial"),
    ("scaling-forgotten", _forgetting("scaling"), "linear"),
    ("factor-forgotten", _divided_by_factor(1), "yarn"),
    ("inverse-for-transpose", _divided_by_factor(2), "yarn"),
    ("first-position", lambda g, y, x, p: rotated(g, -p[..., :1]), "of-each-example"),
):
    wrong("rope", _tag, _slip, on=_case)


def diagonals(v, L, S):
    """One entry at a time."""
    b = np.zeros((*v.shape[:-1], L, S))
    for i, j in np.ndindex(L, S):
        b[..., i, j] = v[..., j - i + L - 1]
    return b


def _toeplitz_peer(T, v, L, S):
    offset = T.arange(S) - T.arange(L)[:, None] + L - 1
    return v[..., offset]


_shapes = {
    "one-head": ((11,), 5, 7),
    "heads": ((3, 11), 5, 7),
    "more-queries": ((2, 3, 11), 7, 5),
    "one-query": ((3, 7), 1, 7),
    "one-key": ((3, 5), 5, 1),
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


def _sums(place):
    def backward(g, y, v, L, S):
        dv = np.zeros(v.shape)
        for i, j in np.ndindex(L, S):
            dv[..., place(i, j, L, S)] += g[..., i, j]
        return dv

    return backward


def _last_one(g, y, v, L, S):
    dv = np.zeros(v.shape)
    for i in range(L):
        dv[..., L - 1 - i : L - 1 - i + S] = g[..., i, :]
    return dv


for _tag, _slip in {
    "=-for-+=": _last_one,
    "transposed": _sums(lambda i, j, L, S: i - j + S - 1),
    "anti-diagonals": _sums(lambda i, j, L, S: i + j),
}.items():
    wrong("toeplitz", _tag, _slip, on="heads")


# From a row by offset for each query to all pairs, and back


def _column(i, j, n, first):
    """Where the offset of a pair stands, or the nearest that there is."""
    return min(max(j - i - first, 0), n - 1)


def _from_offsets(x, S, first, column=_column):
    """One pair at a time."""
    L, n = x.shape[-2:]
    y = np.zeros((*x.shape[:-1], S))
    for i, j in np.ndindex(L, S):
        y[..., i, j] = x[..., i, column(i, j, n, first)]
    return y


def _sum_offsets(p, n, first, column=_column):
    """One pair at a time."""
    L, S = p.shape[-2:]
    y = np.zeros((*p.shape[:-1], n))
    for i, j in np.ndindex(L, S):
        y[..., i, column(i, j, n, first)] += p[..., i, j]
    return y


def _columns(T, x, L, S, n, first):
    column = T.clip(T.arange(S) - T.arange(L)[:, None] - first, 0, n - 1)
    return column.expand(*x.shape[:-1], S)


def _from_offsets_peer(T, x, S, first):
    L, n = x.shape[-2:]
    return x.gather(-1, _columns(T, x, L, S, n, first))


# leading axes, L, S, n, first
_tables = {
    "clipped": ((2,), 7, 5, 3, -1),
    "clipped-on-the-right": ((), 5, 7, 3, -4),
    "more-offsets-than-there-are": ((2, 3), 5, 7, 23, -9),
    "one-offset": ((3,), 5, 7, 1, 0),
    "one-query": ((3,), 1, 7, 5, -3),
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


def _own(L, S, n, first):
    """The pairs whose offset is in the table: (L, S)"""
    offset = np.arange(S) - np.arange(L)[:, None]
    return (first <= offset) & (offset < first + n)


def _last_alone(g, y, x, S, first):
    L, n = x.shape[-2:]
    dx = np.zeros(x.shape)
    for i, j in np.ndindex(L, S):
        dx[..., i, _column(i, j, n, first)] = g[..., i, j]
    return dx


def _own_alone(g, y, x, S, first):
    L, n = x.shape[-2:]
    return _sum_offsets(g * _own(L, S, n, first), n, first)


def _summed_over_queries(g, y, x, S, first):
    dx = _sum_offsets(g, x.shape[-1], first).sum(-2, keepdims=True)
    return np.broadcast_to(dx, x.shape)


for _tag, _at in {
    "i-and-j-changed": lambda i, j, n, first: _column(j, i, n, first),
    "one-offset-off": lambda i, j, n, first: _column(i, j, n, first + 1),
    "wrapped-for-clipped": lambda i, j, n, first: (j - i - first) % n,
}.items():
    wrong(
        "from_offsets",
        _tag,
        lambda g, y, x, S, first, at=_at: _sum_offsets(g, x.shape[-1], first, at),
        on="clipped",
    )
wrong("from_offsets", "=-for-+=", _last_alone, on="clipped")
wrong("from_offsets", "the-rest-forgotten", _own_alone, on="clipped")
wrong("from_offsets", "summed-over-queries", _summed_over_queries, on="clipped")
