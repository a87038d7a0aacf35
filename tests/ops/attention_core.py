"""The hot loops of attention: specifications and wrong backwards."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, spec, wrong


def allowed(x, lengths=None, mask=None):
    """Which scores take part: keys before the row's length, and under the mask.

    lengths (G,): each of them for an equal share of the rows, one after the other
    """
    *rows, S = x.shape
    keep = np.ones(x.shape, bool) if mask is None else np.broadcast_to(mask, x.shape)
    if lengths is not None:
        repeats = int(np.prod(rows)) // len(lengths)
        keep = keep & (np.arange(S) < np.repeat(lengths, repeats).reshape(*rows, 1))
    return keep


def masked_softmax(x, lengths=None, mask=None, temperature=1.0):
    return definitions.softmax(x / temperature, allowed(x, lengths, mask))


def _masked_peer(T, x, lengths=None, mask=None, temperature=1.0):
    where = [None if a is None else np.asarray(a) for a in (lengths, mask)]
    keep = T.tensor(allowed(x, *where))
    e = T.where(keep, T.exp(x / temperature), 0.0)
    total = e.sum(-1, keepdim=True)
    return e / T.where(total == 0, 1.0, total)


_mask = np.random.default_rng(5).random((3, 5, 7)) < 0.6
_mask[1, 2] = False  # a query with nothing to attend to

spec(
    "softmax_over_allowed",
    masked_softmax,
    {
        "free": lambda r: call(normal(r, (3, 5))),
        "lengths": lambda r: call(normal(r, (3, 5, 7)), np.array([7, 2, 0])),
        "mask": lambda r: call(normal(r, (3, 5, 7)), None, _mask),
        "mask-of-keys": lambda r: call(normal(r, (3, 5, 7)), None, _mask[0, 0]),
        "both": lambda r: call(normal(r, (3, 5, 7)), np.array([7, 5, 3]), _mask),
        "temperature": lambda r: call(
            normal(r, (3, 5)), np.array([4, 2, 3]), None, 0.7
        ),
        "heads": lambda r: call(normal(r, (3, 1, 5, 7)), None, _mask[:, None]),
        "empty-keys": lambda r: call(normal(r, (3, 0))),
    },
    _masked_peer,
)


def _centred(p, g):
    return p * (g - (p * g).sum(-1, keepdims=True))


for _tag, _slip, _case in (
    ("no-centre", lambda g, p, *rest: p * g, "free"),
    ("diagonal-only", lambda g, p, *rest: g * p * (1 - p), "free"),
    ("mean", lambda g, p, *rest: p * (g - g.mean(-1, keepdims=True)), "free"),
    ("mask-forgotten", lambda g, p, x, *_: _centred(masked_softmax(x), g), "mask"),
    ("temperature-forgotten", lambda g, p, *rest: _centred(p, g), "temperature"),
    ("temperature-multiplied", lambda g, p, *rest: _centred(p, g) * rest[-1],
     "temperature"),
):  # fmt: skip
    wrong("softmax_over_allowed", _tag, _slip, on=_case)


def additive(q, k, w_v):
    """The definition, for queries and keys that are already projected."""
    each_head = batched(definitions.additive, "(l,a),(s,a),(a,a),(a,a),(a)->(l,s)")
    one = np.eye(len(w_v))
    return each_head(q, k, one, one, w_v)


_shapes = {
    "one": ((3, 5), (7, 5)),
    "batched": ((2, 3, 5), (2, 7, 5)),
    "keys-for-all": ((3, 5, 7), (11, 7)),
    "queries-for-all": ((3, 7), (2, 3, 5, 7)),
    "both-ways": ((3, 1, 5, 7), (2, 3, 7)),
    "empty-keys": ((3, 5, 7), (3, 0, 7)),
}
spec(
    "tanh_scores",
    additive,
    {
        name: lambda r, s=s, t=t: call(normal(r, s), normal(r, t), normal(r, s[-1:]))
        for name, (s, t) in _shapes.items()
    },
    lambda T, q, k, w: T.tanh(q.unsqueeze(-2) + k.unsqueeze(-3)) @ w,
)


def _additive(slope=None, dq=None, dk=None, dw=None):
    """The right backward of (B, L, A) and (B, S, A), but for what is given.

    d (B, L, S, A) is dL/d(q_i + k_j); its sums over j and i are dL/dq and dL/dk
    """
    slope = slope or (lambda t, w, q, k: w * (1 - t**2))
    dq = dq or (lambda d: d.sum(2))
    dk = dk or (lambda d: d.sum(1))
    dw = dw or (lambda g, t: (g[..., None] * t).sum((0, 1, 2)))

    def backward(g, e, q, k, w):
        q_, k_ = q[:, :, None], k[:, None]
        t = np.tanh(q_ + k_)
        d = g[..., None] * slope(t, w, q_, k_)
        return dq(d), dk(d), dw(g, t)

    return backward


for _tag, _slip in {
    "no-slope": _additive(lambda t, w, q, k: w + 0 * t),
    "not-squared": _additive(lambda t, w, q, k: w * (1 - t)),
    "w-forgotten": _additive(lambda t, w, q, k: 1 - t**2),
    "slope-of-the-query": _additive(lambda t, w, q, k: w * (1 - np.tanh(q) ** 2)),
    "first-key": _additive(dq=lambda d: d[:, :, 0]),
    "mean-over-keys": _additive(dq=lambda d: d.mean(2)),
    "w-of-the-first": _additive(dw=lambda g, t: (g[..., None] * t)[0].sum((0, 1))),
}.items():
    wrong("tanh_scores", _tag, _slip, on="batched")
