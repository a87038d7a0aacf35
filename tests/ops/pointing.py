"""Copying, filters and monotonic weights: specifications and wrong backwards."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, spec, wrong

# -- copy_loss -------------------------------------------------------------------------


def copy_loss(z, a, r, source, target, ignore_index=-100):
    """-ln P(y), one position at a time."""
    loss = np.zeros(target.shape)
    leading = *loss.shape, a.shape[-1]
    a, source = np.broadcast_to(a, leading), np.broadcast_to(source, leading)
    for at in np.ndindex(loss.shape):
        if target[at] != ignore_index:
            arrays = z[at], a[at], r[at], source[at]
            P = definitions.copy_probabilities(*arrays, words=9)
            loss[at] = -np.log(P[target[at]])
    return loss


def _copy_peer(T, z, a, r, source, target, ignore_index=-100):
    source, target = T.as_tensor(source), T.as_tensor(target)
    gate, known = T.sigmoid(r), (target >= 0) & (target < z.shape[-1])
    p = T.softmax(z, -1).gather(-1, T.where(known, target, 0)[..., None])[..., 0]
    copied = T.where(source == target[..., None], a, 0.0).sum(-1)
    P = gate * T.where(known, p, 0.0) + (1 - gate) * copied
    ignored = target == ignore_index
    return -T.log(T.where(ignored, 1.0, P))


def _weights(r, shape):
    return r.dirichlet(np.ones(shape[-1]), shape[:-1])


# 5 words in the vocabulary; the words 5 to 8 are in a source only, and 1 occurs twice
_source = np.array([[[1, 6, 1, 7]], [[0, 8, 5, 2]]])
_target = np.array([[1, 6, 3], [2, 5, 4]])

spec(
    "copy_loss",
    copy_loss,
    {
        "batched": lambda r: call(
            normal(r, (2, 3, 5)), _weights(r, (2, 3, 4)), normal(r, (2, 3)),
            _source, _target,
        ),
        "one": lambda r: call(
            normal(r, (5,)), _weights(r, (4,)), normal(r, ()), _source[0, 0],
            np.array(1),
        ),
        "ignored": lambda r: call(
            normal(r, (2, 3, 5)), _weights(r, (2, 3, 4)), normal(r, (2, 3)),
            _source, np.array([[1, -100, 3], [-100, 5, 4]]),
        ),
        "weights-for-all": lambda r: call(
            normal(r, (3, 5)), _weights(r, (4,)), normal(r, (3,)), _source[0, 0],
            _target[0],
        ),
        "empty": lambda r: call(
            normal(r, (0, 5)), _weights(r, (0, 4)), normal(r, (0,)), _source[0],
            np.zeros(0, int),
        ),
    },
    _copy_peer,
)  # fmt: skip


def _copy_wrong(dz=None, da=None, dr=None):
    """The right backward, but for what is given."""
    dz = dz or (lambda pi, p, y: pi[..., None] * (p - y))
    da = da or (lambda gate, P, same: -((1 - gate) / P)[..., None] * same)
    dr = dr or (lambda gate, pi: gate - pi)

    def backward(g, loss, z, a, r, source, target):
        P, gate = np.exp(-loss), 1 / (1 + np.exp(-r))
        p = definitions.softmax(z)
        y = np.arange(z.shape[-1]) == target[..., None]
        pi = gate * (p * y).sum(-1) / P
        same = source == target[..., None]
        found = dz(pi, p, y), da(gate, P, same), dr(gate, pi)
        return *(x * g[(...,) + (None,) * (x.ndim - g.ndim)] for x in found), None, None

    return backward


for _tag, _slip in {
    "cross-entropy": _copy_wrong(dz=lambda pi, p, y: p - y),
    "all-places": _copy_wrong(da=lambda gate, P, same: -((1 - gate) / P)[..., None]
                              + 0 * same),
    "first-place-only": _copy_wrong(da=lambda gate, P, same: -((1 - gate) / P)[..., None]
                                    * (same & (same.cumsum(-1) == 1))),
    "gate-of-one": _copy_wrong(dr=lambda gate, pi: gate - 1),
    "gate-sign": _copy_wrong(dr=lambda gate, pi: pi - gate),
    "not-divided-by-P": _copy_wrong(da=lambda gate, P, same: -(1 - gate)[..., None] * same),
}.items():  # fmt: skip
    wrong("copy_loss", _tag, _slip, on="batched")

# -- convolve --------------------------------------------------------------------------


def _convolve_peer(T, x, F):
    rows = x.reshape(-1, *x.shape[-2:])
    f = T.nn.functional.conv1d(rows, F, padding=F.shape[-1] // 2)
    return f.reshape(*x.shape[:-2], *f.shape[-2:]).swapaxes(-1, -2)


spec(
    "convolve",
    batched(definitions.convolve, "(c,s),(n,c,m)->(s,n)"),
    {
        name: lambda r, s=s, t=t: call(normal(r, s), normal(r, t))
        for name, (s, t) in {
            "batched": ((3, 2, 7), (5, 2, 3)),
            "one": ((2, 7), (5, 2, 3)),
            "wider-than-the-sequence": ((1, 3, 2, 3), (7, 2, 11)),
            "width-one": ((3, 2, 5), (7, 2, 1)),
            "empty": ((0, 2, 5), (3, 2, 3)),
        }.items()
    },
    _convolve_peer,
)


def _convolve_wrong(step=1, edges=0.0, filters=1):
    def backward(g, f, x, F):
        S, M = x.shape[-1], F.shape[-1]
        dx, dF = np.zeros_like(x), np.zeros_like(F)
        for j, m in np.ndindex(S, M):
            at = j + step * (m - M // 2)
            if 0 <= at < S:
                dx[..., at] += g[..., j, :] @ F[:, :, ::filters][:, :, m]
                dF[:, :, m] += np.einsum("...n,...c->nc", g[..., j, :], x[..., at])
            else:
                dF[:, :, m] += edges
        return dx, dF

    return backward


wrong("convolve", "reversed", _convolve_wrong(step=-1), on="one")
wrong("convolve", "reversed-filters-only", _convolve_wrong(filters=-1), on="one")
wrong("convolve", "edges-of-one", _convolve_wrong(edges=1.0), on="one")

# -- monotonic_weights -----------------------------------------------------------------


def monotonic(p, before=None):
    signature = "(l,s)->(l,s)" if before is None else "(l,s),(s)->(l,s)"
    arrays = [p] if before is None else [p, before]
    return batched(definitions.monotonic_weights, signature)(*arrays)


def _monotonic_peer(T, p, before=None):
    S = p.shape[-1]
    last = T.eye(S, dtype=p.dtype)[0] if before is None else before
    rows = []
    for i in range(p.shape[-2]):
        q, row = 0.0, []
        for j in range(S):
            q = q + last[..., j]
            row.append(p[..., i, j] * q)
            q = (1 - p[..., i, j]) * q
        last = T.stack(row, -1)
        rows.append(last)
    return T.stack(rows, -2)


def _stops(r, shape):
    return r.uniform(0.1, 0.9, shape)


spec(
    "monotonic_weights",
    monotonic,
    {
        "before": lambda r: call(_stops(r, (3, 5, 7)), _weights(r, (3, 7))),
        "batched": lambda r: call(_stops(r, (2, 3, 5))),
        "more-steps-than-keys": lambda r: call(_stops(r, (7, 3))),
        "before-of-all": lambda r: call(_stops(r, (3, 5, 7)), _weights(r, (7,))),
        "one-key": lambda r: call(_stops(r, (3, 1))),
        "empty": lambda r: call(_stops(r, (0, 3, 5))),
    },
    _monotonic_peer,
)


def _monotonic_wrong(next_step=1, next_key=1, passes=lambda p: 1 - p):
    """The right backward by steps, without one of its terms, or with another factor."""

    def backward(g, a, p, before):
        L, S = p.shape[-2:]
        last = np.concatenate([before[..., None, :], a[..., :-1, :]], -2)
        dp, dq = np.zeros_like(p), np.zeros((*p.shape[:-2], L + 1, S + 1))
        for i, j in reversed(list(np.ndindex(L, S))):
            da = g[..., i, j] + next_step * dq[..., i + 1, j]
            n = next_key * dq[..., i, j + 1]
            q = sum(
                last[..., i, m] * np.prod(1 - p[..., i, m:j], -1) for m in range(j + 1)
            )
            dp[..., i, j] = q * (da - n)
            dq[..., i, j] = da * p[..., i, j] + n * passes(p[..., i, j])
        return dp, dq[..., 0, :S]

    return backward


for _tag, _slip in {
    "one-step": _monotonic_wrong(next_step=0),
    "one-key": _monotonic_wrong(next_key=0),
    "stops-for-passes": _monotonic_wrong(passes=lambda p: p),
}.items():
    wrong("monotonic_weights", _tag, _slip, on="before")
