"""Rotations and biases of relative positions: specifications."""

import numpy as np

from attention import definitions
from attention.positions import LinearScaling, YaRNScaling

from ..attention.definition_cases import batched
from .spec import call, normal, spec


each_head = batched(definitions.rope, "(l,d),(l),(m)->(l,d)")


def rotated(x, positions, base=10000.0, interleaved=False, scaling=None, rot_dim=None):
    """RoPE, whose pairs are columns in this order. Scalings have tests of their own."""
    R = x.shape[-1] if rot_dim is None else rot_dim
    order = np.arange(R)
    if interleaved:  # the first entries of all pairs, and then the second ones
        order = np.concatenate([order[::2], order[1::2]])
    w, factor = definitions.frequencies(R, base), 1.0
    if scaling is not None:
        w, factor = scaling.slow(w, base), scaling.attention_factor
    positions = np.broadcast_to(positions, x.shape[:-1])
    y = x.copy()
    y[..., order] = each_head(x[..., order], positions, w)
    y[..., order] *= factor
    return y


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
)


def diagonals(v, L, S):
    """One entry at a time."""
    b = np.zeros((*v.shape[:-1], L, S))
    for i, j in np.ndindex(L, S):
        b[..., i, j] = v[..., j - i + L - 1]
    return b


_shapes = {
    "one-head": ((11,), 5, 7),
    "heads": ((3, 11), 5, 7),
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
)
