"""Dense and tiled attention: specifications and wrong backwards."""

import math

import numpy as np

from attention import definitions, masks
from attention.kernels.tile_plan import tile_plan

from ..attention.definition_cases import batched
from .spec import call, normal, spec, wrong


def scores(q, k, scale, softcap=None):
    each_head = batched(definitions.dot, "(l,d),(s,d)->(l,s)")
    s = each_head(scale * q, spread(k, q.shape[:-2]))
    return s if softcap is None else softcap * np.tanh(s / softcap)


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


def flash(q, k, v, offset=None, added=None, *, plan, scale, softcap=None):
    s = scores(q, k, scale, softcap)
    allowed = attends(plan, s.shape[:-2], *s.shape[-2:])
    o, _, lse = average(s + bias_of(s.shape, offset, added), v, allowed)
    return o, lse


# The peer


def _scores_peer(T, q, k, scale, softcap=None):
    if q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
    s = scale * q @ k.transpose(-1, -2)
    return s if softcap is None else softcap * T.tanh(s / softcap)


def _average_peer(T, s, v, mask=None, z=None):
    if s.ndim > 2 and s.shape[-3] != v.shape[-3]:
        v = v.repeat_interleave(s.shape[-3] // v.shape[-3], -3)
    e = T.exp(s) if mask is None else T.where(mask, T.exp(s), 0.0)
    total = e.sum(-1)
    p = e / T.where(total == 0, 1.0, total)[..., None]
    return (p if z is None else p * z) @ v, p, T.log(total)


def _flash_peer(T, q, k, v, offset=None, added=None, *, plan, scale, softcap=None):
    s = _scores_peer(T, q, k, scale, softcap)
    *heads, L, S = s.shape
    if offset is not None:
        at = T.arange(S) - T.arange(L)[:, None] + L - 1
        s = s + offset[..., at]
    if added is not None:
        s = s + added
    allowed = T.tensor(attends(plan, heads, L, S))
    o, _, lse = _average_peer(T, s, v, allowed)
    return o, lse


def _merge_peer(T, o1, lse1, o2, lse2):
    lse = T.logaddexp(lse1, lse2)
    w1, w2 = T.exp(lse1 - lse)[..., None], T.exp(lse2 - lse)[..., None]
    return w1 * o1 + w2 * o2, lse


# Specifications

_shapes = {
    "heads": ((3, 5, 2), (3, 7, 2)),
    "one-head": ((5, 7), (11, 7)),
    "batch": ((2, 3, 5, 7), (2, 3, 11, 7)),  # over 400 entries: random directions
    "grouped": ((2, 4, 3, 2), (2, 2, 5, 2)),
    "one-key": ((3, 5, 7), (3, 1, 7)),
    "empty-queries": ((3, 0, 7), (3, 11, 7)),
    "empty-keys": ((3, 5, 7), (3, 0, 7)),
}
_cases = {
    name: lambda r, s=s, t=t: call(normal(r, s), normal(r, t), 0.37)
    for name, (s, t) in _shapes.items()
}
_cases["softcap"] = lambda r: call(
    normal(r, (3, 5, 7)), normal(r, (3, 11, 7)), 0.9, 0.7
)
spec("attention_scores", scores, _cases, _scores_peer)

_mask = np.random.default_rng(5).random((2, 4, 3, 5)) < 0.6
_mask[..., 3] = True  # something to attend to, so that lse is a number
_z = np.random.default_rng(6).random((2, 4, 3, 5)) < 0.7  # dropped with p = 0.3
spec(
    "attention_average",
    average,
    {
        "free": lambda r: call(normal(r, (2, 3, 5)), normal(r, (2, 5, 7))),
        "one-head": lambda r: call(normal(r, (5, 7)), normal(r, (7, 2))),
        "mask": lambda r: call(normal(r, (2, 4, 3, 5)), normal(r, (2, 4, 5, 2)), _mask),
        "mask-of-keys": lambda r: call(
            normal(r, (2, 4, 3, 5)), normal(r, (2, 4, 5, 2)), _mask[:, :1, :1]
        ),
        "dropout": lambda r: call(
            normal(r, (2, 4, 3, 5)), normal(r, (2, 2, 5, 3)), None, _z / 0.7
        ),
        "empty-queries": lambda r: call(normal(r, (3, 0, 7)), normal(r, (3, 7, 2))),
    },
    _average_peer,
)


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
        "softcap": _tiled((2,), (2,), 3, 5, softcap=0.7, scale=0.9),
        "all": _tiled(
            (4,), (2,), 3, 5, masks.causal, (4, 7), (3, 5), softcap=0.7, scale=0.9
        ),
        "empty-queries": _tiled((3,), (3,), 0, 7),
    },
    _flash_peer,
)


merged = batched(definitions.merge, "(l,e),(l),(l,e),(l)->(l,e),(l)")

spec(
    "merge",
    merged,
    {
        name: lambda r, s=s: call(
            normal(r, s), normal(r, s[:-1]), normal(r, s), normal(r, s[:-1])
        )
        for name, s in {
            "heads": (2, 2, 3, 5),
            "one-head": (5, 7),
            "empty": (0, 5, 7),
        }.items()
    },
    _merge_peer,
)


# The zoo


def _fold(x, keys):
    """Summed over the groups of query heads that share a key head."""
    return x.reshape(*keys.shape[:-2], -1, *x.shape[-2:]).sum(-3)


def _scores_slip(scale_q=True, slope=lambda t: 1 - t * t, fold=_fold):
    def backward(g, s, q, k, scale, softcap=None):
        heads = q.shape[:-2]
        ds = g if softcap is None else g * slope(s / softcap)
        dq = ds @ spread(k, heads) * (scale if scale_q else 1)
        return dq, fold(scale * ds.swapaxes(-1, -2) @ q, k)

    return backward


_first = lambda x, k: x.reshape(*k.shape[:-2], -1, *x.shape[-2:])[..., 0, :, :]  # noqa: E731
_tiles = lambda x, k: x.reshape(*k.shape[:-3], -1, *k.shape[-3:]).sum(-4)  # noqa: E731
for _tag, _slip, _case in (
    ("scale-forgotten", _scores_slip(scale_q=False), "heads"),
    ("first-of-the-group", _scores_slip(fold=_first), "grouped"),
    ("head-modulo-groups", _scores_slip(fold=_tiles), "grouped"),
    ("slope-forgotten", _scores_slip(slope=lambda t: 1), "softcap"),
    ("slope-not-squared", _scores_slip(slope=lambda t: 1 - t), "softcap"),
):
    wrong("attention_scores", _tag, _slip, on=_case)


def _average_slip(
    centre=lambda p, dp: (p * dp).sum(-1, keepdims=True),
    weights=True,
    log=1.0,
    before=lambda p, z: p if z is None else p * z,
    after=lambda dp, z: dp if z is None else dp * z,
):
    def backward(g, y, s, v, mask=None, z=None):
        (do, gp, gl), (_, p, _) = g, y
        dpz = do @ spread(v, s.shape[:-2]).swapaxes(-1, -2)
        dp = after(dpz, z) + gp * weights
        ds = p * (dp - centre(p, dp)) + log * p * gl[..., None]
        dz = None if z is None else p * dpz
        return ds, _fold(before(p, z).swapaxes(-1, -2) @ do, v), None, dz

    return backward


for _tag, _slip, _case in (
    ("no-centre", _average_slip(centre=lambda p, dp: 0), "free"),
    ("mean", _average_slip(lambda p, dp: dp.mean(-1, keepdims=True)), "mask"),
    ("weights-forgotten", _average_slip(weights=False), "free"),
    ("lse-forgotten", _average_slip(log=0.0), "free"),
    ("lse-taken-away", _average_slip(log=-1.0), "mask"),
    ("dropout-forgotten-in-dv", _average_slip(before=lambda p, z: p), "dropout"),
    ("dropout-forgotten-in-ds", _average_slip(after=lambda dp, z: dp), "dropout"),
):
    wrong("attention_average", _tag, _slip, on=_case)


def _flash_slip(
    D=lambda do, o, gl: (do * o).sum(-1) - gl,
    scale_k=True,
    slope=lambda t: 1 - t * t,
    fold=_fold,
    column=lambda i, j, L, S: j - i + L - 1,
    seen=lambda allowed: allowed,
    tile=lambda ds: ds,
):
    """The right backward, dense, but for what is given."""

    def backward(g, y, q, k, v, offset=None, added=None, *, plan, scale, softcap=None):
        (do, gl), (o, lse) = g, y
        heads, L, S = q.shape[:-2], q.shape[-2], k.shape[-2]
        K, V = spread(k, heads), spread(v, heads)
        s = scale * q @ K.swapaxes(-1, -2)
        t = None if softcap is None else np.tanh(s / softcap)
        s = (s if t is None else softcap * t) + bias_of(s.shape, offset, added)
        allowed = seen(attends(plan, heads, L, S))
        p = np.where(allowed, np.exp(s - lse[..., None]), 0)
        ds = tile(p * (do @ V.swapaxes(-1, -2) - D(do, o, gl)[..., None]))
        dv = fold(p.swapaxes(-1, -2) @ do, v)
        doffset = None
        if offset is not None:
            doffset = np.zeros((*heads, L + S - 1))
            at = column(np.arange(L)[:, None], np.arange(S), L, S)
            np.add.at(doffset, (..., at), ds)
        dadded = None if added is None else ds + 0
        ds = ds if t is None else ds * slope(t)
        dk = fold(ds.swapaxes(-1, -2) @ q, k) * (scale if scale_k else 1)
        return scale * ds @ K, dk, dv, doffset, dadded

    return backward


def _first_tile(ds):
    ds = ds.copy()
    ds[..., 64:] = 0
    return ds


for _tag, _slip, _case in (
    ("no-centre", _flash_slip(lambda do, o, gl: -gl), "one-tile"),
    ("lse-forgotten", _flash_slip(lambda do, o, gl: (do * o).sum(-1)), "one-tile"),
    ("lse-added", _flash_slip(lambda do, o, gl: (do * o).sum(-1) + gl), "one-tile"),
    ("scale-forgotten", _flash_slip(scale_k=False), "one-tile"),
    ("first-tile-alone", _flash_slip(tile=_first_tile), "more-keys"),
    ("first-of-the-group", _flash_slip(fold=_first), "grouped"),
    ("head-modulo-groups", _flash_slip(fold=_tiles), "grouped"),
    ("mask-forgotten", _flash_slip(seen=lambda a: a | True), "lengths"),
    ("first-head's-mask", _flash_slip(seen=lambda a: a[:1] | (a & False)), "lengths"),
    ("slope-forgotten", _flash_slip(slope=lambda t: 1), "softcap"),
    ("anti-diagonals", _flash_slip(column=lambda i, j, L, S: i + j), "all"),
):
    wrong("flash_attention", _tag, _slip, on=_case)


def _merge_slip(difference=lambda o_a, o, o_b: o_a - o, log=1.0, share=1.0):
    def backward(g, y, o1, lse1, o2, lse2):
        (g, gl), (o, lse) = g, y
        w1, w2 = (np.exp(x - lse)[..., None] for x in (lse1, lse2))
        gl = log * gl[..., None]
        dlse1 = w1 * ((g * difference(o1, o, o2)).sum(-1, keepdims=True) + gl)
        dlse2 = w2 * ((g * difference(o2, o, o1)).sum(-1, keepdims=True) + gl)
        return share * w1 * g, dlse1[..., 0], share * w2 * g, dlse2[..., 0]

    return backward


for _tag, _slip in {
    "output-for-difference": _merge_slip(lambda o_a, o, o_b: o_a),
    "difference-to-the-other": _merge_slip(lambda o_a, o, o_b: o_a - o_b),
    "lse-forgotten": _merge_slip(log=0.0),
    "halves": _merge_slip(share=0.5),
}.items():
    wrong("merge", _tag, _slip, on="heads")
