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
