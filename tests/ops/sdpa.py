"""Tiled attention and its merging: specifications."""

import math

import numpy as np

from attention import definitions, masks
from attention.kernels.tile_plan import tile_plan

from ..attention.definition_cases import batched
from .spec import call, normal, of_shapes, spec


def scores(q, k, scale):
    each_head = batched(definitions.dot, "(l,d),(s,d)->(l,s)")
    return each_head(scale * q, spread(k, q.shape[:-2]))


def average(s, v, mask=None, z=None):
    """Return o, p and lse; z are the factors of dropout."""
    allowed = np.broadcast_to(True if mask is None else mask, s.shape)
    p = definitions.softmax(s, allowed)
    o = (p if z is None else p * z) @ spread(v, s.shape[:-2])
    with np.errstate(divide="ignore"):  # ln 0 without keys
        lse = np.log(np.exp(s).sum(-1, where=allowed))
    return o, p, lse


def spread(keys, heads):
    """Return each key head for every query head that reads it: groups side by side."""
    return np.repeat(keys, heads[-1] // keys.shape[-3], -3) if heads else keys


def attends(plan, heads, L, S):
    """The pairs of a plan, read as its documentation says: bool (..., H, L, S)."""
    if id(plan) not in _attended:
        _attended[id(plan)] = plan, _attends(plan, math.prod(heads), L, S)
    return _attended[id(plan)][1].reshape(*heads, L, S)


_attended = {}  # {id: (the plan, which keeps its id, and its pairs)}


def _attends(plan, heads, L, S):
    allowed = np.zeros((heads, L, S), bool)
    for n, q, k in np.ndindex(allowed.shape):
        r, i, j = plan.row_of[n], q // plan.size, k // plan.size
        for e in range(plan.first[r, i], plan.last[r, i]):
            if plan.blocks[e] == j and plan.lo[r, q] <= k < plan.hi[r, q]:
                table = plan.bits_of[e]
                row = plan.bits[table, k % plan.size] if table >= 0 else -1
                allowed[n, q, k] = row >> (q % plan.size) & 1
    return allowed


def bias_of(shape, offset=None, added=None):
    """What is added to each score."""
    *_, L, S = shape
    bias = np.zeros(shape)
    if offset is not None:
        for i, j in np.ndindex(L, S):
            bias[..., i, j] += offset[:, j - i + L - 1]
    return bias if added is None else bias + added


def flash(q, k, v, offset=None, added=None, *, plan, scale):
    s = scores(q, k, scale)
    allowed = attends(plan, s.shape[:-2], *s.shape[-2:])
    o, _, lse = average(s + bias_of(s.shape, offset, added), v, allowed)
    return o, lse


# Specifications


def _tiled(heads, key_heads, L, S, mask=None, offset=None, added=None, **options):
    """A case of flash_attention; offset and added are shapes.

    Where there are several tiles, arrays have more than 400 entries: gradcheck measures
    them along random directions, not entry by entry.
    """
    B, H = math.prod(heads[:-1]), heads[-1] if heads else 1
    options = {"scale": 0.37, "plan": tile_plan(mask, B, H, L, S), **options}
    E, Ev = (3, 2) if S < 64 else (8, 7)
    shapes = (*heads, L, E), (*key_heads, S, E), (*key_heads, S, Ev), offset, added

    def case(r):
        args = [None if s is None else normal(r, s) for s in shapes]
        while args[-1] is None:
            args.pop()
        return call(*args, **options)

    return case


_pairs = np.random.default_rng(7).random((2, 67, 71)) < 0.4
_pairs[:, :, 5] = True
_pairs[1, :64, :64] = True  # a full tile
spec(
    "flash_attention",
    flash,
    {
        "one-tile": _tiled((2,), (2,), 3, 5),
        "one-head": _tiled((), (), 5, 7),
        "more-keys": _tiled((1,), (1,), 5, 131),
        "grouped": _tiled((2, 4), (2, 2), 2, 3),
        "causal": _tiled((2,), (1,), 67, 67, masks.causal),
        "window": _tiled((1,), (1,), 67, 71, masks.sliding_window(9, 3)),
        "lengths": _tiled((2, 2), (2, 2), 3, 5, masks.padding([5, 2])),
        "pairs": _tiled((2,), (1,), 67, 71, masks.from_array(_pairs[None])),
        "offset": _tiled((3,), (1,), 67, 71, masks.causal, offset=(3, 137)),
        "offset-for-all": _tiled((2, 3), (2, 1), 3, 5, offset=(1, 7)),
        "added": _tiled((2,), (2,), 67, 71, masks.causal, added=(67, 71)),
        "added-keys": _tiled((2, 3), (2, 3), 3, 5, added=(2, 1, 1, 5)),
        "added-queries": _tiled((3,), (3,), 3, 5, added=(3, 1)),
        "all": _tiled((4,), (2,), 3, 5, masks.causal, (4, 7), (3, 5), scale=0.9),
        "empty-queries": _tiled((3,), (3,), 0, 7),
    },
)


merged = batched(definitions.merge, "(l,e),(l),(l,e),(l)->(l,e),(l)")

spec("merge", merged, of_shapes({
    "heads": ((2, 2, 3, 5), (2, 2, 3)) * 2,
    "one-head": ((5, 7), (5,)) * 2,
    "empty": ((0, 5, 7), (0, 5)) * 2,
}))  # fmt: skip
