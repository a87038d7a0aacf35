"""Scores of graphs, and sharpened weights: specifications and wrong backwards."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, positive, spec, wrong

# -- leaky_scores ----------------------------------------------------------------------


def _leaky(x, y, a, slope):
    return definitions.leaky_relu(x[:, None] + y, slope) @ a


def leaky_scores(x, y, a, slope=0.2):
    return batched(_leaky, "(l,a),(s,a),(a)->(l,s)", slope=slope)(x, y, a)


def _leaky_peer(T, x, y, a, slope=0.2):
    z = T.nn.functional.leaky_relu(x.unsqueeze(-2) + y.unsqueeze(-3), slope)
    return (z * a[..., None, None, :]).sum(-1)


spec(
    "leaky_scores",
    leaky_scores,
    {
        name: lambda r, s=s, t=t, u=u, o=o: call(
            normal(r, s), normal(r, t), normal(r, u), **o
        )
        for name, (s, t, u, o) in {
            "heads": ((2, 3, 5, 7), (2, 3, 11, 7), (3, 7), {}),
            "one": ((3, 5), (7, 5), (5,), {}),
            "nodes-for-all": ((3, 5, 7), (5, 7), (7,), {"slope": 0.5}),
            "empty": ((0, 5), (3, 5), (5,), {}),
        }.items()
    },
    _leaky_peer,
)


def _leaky_wrong(slope=0.2, dx=None, dy=None, da=None):
    """The right backward of heads, but for what is given."""
    dx, dy = dx or (lambda dz: dz.sum(-2)), dy or (lambda dz: dz.sum(-3))
    da = da or (lambda g, f, z: (g * f).sum((0, 2, 3)))

    def backward(g, e, x, y, a):
        z, g = x[..., :, None, :] + y[..., None, :, :], g[..., None]
        dz = g * a[:, None, None] * np.where(z > 0, 1, slope)
        return dx(dz), dy(dz), da(g, definitions.leaky_relu(z), z)

    return backward


for _tag, _slip in {
    "relu": _leaky_wrong(slope=0.0),
    "no-slope": _leaky_wrong(slope=1.0),
    "mean-over-keys": _leaky_wrong(dx=lambda dz: dz.mean(-2)),
    "first-query": _leaky_wrong(dy=lambda dz: dz[..., 0, :, :]),
    "a-of-z": _leaky_wrong(da=lambda g, f, z: (g * z).sum((0, 2, 3))),
}.items():
    wrong("leaky_scores", _tag, _slip, on="heads")

# -- sharpen ---------------------------------------------------------------------------


def sharpen(p, gamma):
    return definitions.divide_by_sum(p ** gamma[..., None])


spec(
    "sharpen",
    sharpen,
    {
        name: lambda r, s=s, t=t: call(positive(r, s), positive(r, t))
        for name, (s, t) in {
            "rows": ((3, 5), (3,)),
            "one": ((7,), ()),
            "one-gamma": ((2, 3, 5), (3,)),
            "empty": ((0, 5), (0,)),
        }.items()
    },
    lambda T, p, gamma: (y := p ** gamma[..., None]) / y.sum(-1, keepdim=True),
)


def _sharpen_wrong(dp=None, dgamma=None):
    dp = dp or (lambda p, gamma, ds: gamma / p * ds)
    dgamma = dgamma or (lambda p, ds, g, y: (np.log(p) * ds).sum(-1))

    def backward(g, y, p, gamma):
        ds = y * (g - (y * g).sum(-1, keepdims=True))
        return dp(p, gamma[..., None], ds), dgamma(p, ds, g, y)

    return backward


for _tag, _slip in {
    "no-gamma": _sharpen_wrong(dp=lambda p, gamma, ds: ds / p),
    "times-p": _sharpen_wrong(dp=lambda p, gamma, ds: gamma * p * ds),
    "gamma-not-centred": _sharpen_wrong(
        dgamma=lambda p, ds, g, y: (np.log(p) * y * g).sum(-1)
    ),
}.items():
    wrong("sharpen", _tag, _slip, on="rows")
