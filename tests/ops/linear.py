"""Linear attention: specification and wrong backwards."""

import functools

import numpy as np

from attention import definitions

from .spec import call, normal, positive, spec, wrong


def feature(x, elu=True):
    return definitions.elu_plus_one(x) if elu else x


def scan(q, k, v, keep=None, *, is_causal, eps, elu=True):
    """Linear attention of one query after the other, to the keys that it may use."""
    phi, S = functools.partial(feature, elu=elu), k.shape[-2]
    keep = np.broadcast_to(True if keep is None else keep, k.shape[:-1])
    o = np.zeros((*q.shape[:-1], v.shape[-1]))
    for *head, i in np.ndindex(q.shape[:-1]):
        head = tuple(head)
        keys = keep[head] & (np.arange(S) <= i) if is_causal else keep[head]
        if keys.any():
            one, k_i, v_i = q[head][[i]], k[head][keys], v[head][keys]
            o[(*head, i)] = definitions.linear(one, k_i, v_i, phi, eps)[0]
    return o


def _peer(T, q, k, v, keep=None, *, is_causal, eps, elu=True):
    a, b = (T.nn.functional.elu(x) + 1 if elu else x for x in (q, k))
    w = a @ b.transpose(-1, -2)
    if keep is not None:
        w = w * keep[..., None, :]
    w = T.tril(w) if is_causal else w
    total = w.sum(-1, keepdim=True) + eps
    return w @ v / T.where(total == 0, 1.0, total)


def _case(heads, L, S, E, Ev, keep=None, draw=normal, eps=1e-6, **options):
    def made(r):
        arrays = [draw(r, (*heads, n, d)) for n, d in ((L, E), (S, E), (S, Ev))]
        kept = () if keep is None else (np.array(keep),)
        return call(*arrays, *kept, eps=eps, **options)

    return made


_keep = np.random.default_rng(3).random((2, 3, 7)) < 0.6
_keep[0, 1] = False  # a head with nothing to attend to
_keep[1, 2, :2] = False  # the first queries have nothing to attend to
both, causal, features = {"is_causal": False}, {"is_causal": True}, {"elu": False}

spec(
    "linear_scan",
    scan,
    {
        "one": _case((), 3, 7, 5, 2, **both),
        "heads": _case((2,), 5, 7, 3, 2, **both),
        "masked": _case((2, 3), 3, 7, 2, 5, _keep, **both),
        "causal": _case((2,), 7, 7, 3, 5, **causal),
        "causal-masked": _case((2, 3), 7, 7, 2, 3, _keep, **causal),
        # over 400 entries: gradcheck measures along random directions
        "causal-chunks": _case((), 67, 67, 7, 11, **causal),
        "chunks": _case((), 67, 130, 7, 5, **both),
        "features": _case((3,), 5, 7, 3, 2, draw=positive, **both, **features),
        "causal-features": _case(
            (2, 3), 7, 7, 3, 2, _keep, draw=positive, eps=0, **causal, **features
        ),
        "eps": _case((2,), 7, 7, 3, 5, eps=3.0, **causal),
        "empty": _case((0,), 5, 7, 3, 2, **both),
        "empty-keys": _case((3,), 5, 0, 3, 2, **both),
        "empty-rows": _case((3,), 0, 7, 3, 2, **both),
        "empty-causal": _case((3,), 0, 0, 3, 2, **causal),
        "empty-values": _case((3,), 5, 5, 3, 0, **causal),
    },
    _peer,
)


def _dense(
    of_the_denominator=1,
    slope=lambda x: np.minimum(feature(x), 1),
    db=lambda m: m.swapaxes(-1, -2),
    dv=lambda w: w.swapaxes(-1, -2),
    future=0,
    divided=True,
    masked=True,
):
    """Return the backward with the matrix of pairs; options make it wrong."""

    def backward(g, o, q, k, v, keep=None, *, is_causal, eps, elu=True):
        a, b = feature(q, elu), feature(k, elu)
        w = a @ b.swapaxes(-1, -2)  # (..., L, S)
        pairs = np.ones(w.shape)
        if keep is not None and masked:
            pairs = pairs * keep[..., None, :]
        if is_causal:
            pairs = np.tril(pairs, future)
        total = (w * pairs).sum(-1, keepdims=True) + eps
        total = np.where(total == 0, np.inf, total)
        n = g / total if divided else g
        d = -(n * o).sum(-1, keepdims=True) * of_the_denominator
        t = (n @ v.swapaxes(-1, -2) + d) * pairs  # dL/dw
        slopes = [slope(x) if elu else 1 for x in (q, k)]
        return t @ b * slopes[0], db(t) @ a * slopes[1], dv(w * pairs) @ n

    return backward


def _shifted(m):
    """Leave out the query at the position of the key."""
    return np.tril(m, -1).swapaxes(-1, -2)


for _tag, _slip, _on in (
    ("denominator-forgotten", _dense(of_the_denominator=0), None),
    ("denominator-added", _dense(of_the_denominator=-1), None),
    ("not-divided", _dense(divided=False), None),
    ("no-slope", _dense(slope=np.ones_like), "heads"),
    ("slope-of-elu-reversed", _dense(slope=lambda x: feature(-abs(x))), "heads"),
    ("slope-0-below", _dense(slope=lambda x: x > 0), "causal"),
    ("future-not-masked", _dense(future=99), "causal"),
    ("own-position-masked", _dense(future=-1), "eps"),
    ("reverse-scan-one-late", _dense(db=_shifted), "causal"),
    ("values-one-late", _dense(dv=_shifted), "causal"),
    ("keys-by-the-forward-scan", _dense(db=lambda m: m), "causal"),
    ("keys-not-masked", _dense(masked=False), "masked"),
    ("keys-not-masked-causal", _dense(masked=False), "causal-masked"),
):
    wrong("linear_scan", _tag, _slip, on=_on)
