"""Normalisers, norms and gates of attention: specifications and wrong backwards."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, spec, wrong

_mask = np.random.default_rng(5).random((3, 5, 7)) < 0.6
_mask[1, 2] = False  # a query without keys
ALL = np.ones((5, 7), bool)


def _reference(definition, *parameters, **options):
    """Return the definition for all examples; parameters (..., 1, 1) or ()."""
    core = ",".join(["(l,s),(l,s)", *["(m,n)"] * len(parameters)])
    each = batched(definition, f"{core}->(l,s)", **options)

    def reference(s, allowed, *values):
        allowed = np.broadcast_to(allowed, s.shape)
        return each(s, allowed, *(np.reshape(x, np.shape(x) or (1, 1)) for x in values))

    return reference


def _cases(*parameters):
    """Return cases; parameters are functions (r, shape) of numbers."""

    def case(shape, allowed, b_shape=()):
        return lambda r: call(
            normal(r, shape), allowed, *(draw(r, b_shape) for draw in parameters)
        )

    return {
        "mask": case((3, 5, 7), _mask),
        "free": case((5, 7), ALL),
        "heads": case((2, 3, 5, 7), np.broadcast_to(_mask, (2, 3, 5, 7)), (3, 1, 1)),
        "one-key": case((5, 1), ALL[:, :1]),
        "empty-keys": case((5, 0), ALL[:, :0]),
    }


def _sums(x):
    return x.sum(-1, keepdims=True)


# the sink


def _sink_peer(T, s, allowed, b):
    e = T.where(allowed, T.exp(s), 0.0)
    return e / (e.sum(-1, keepdim=True) + T.exp(b))


spec(
    "sink_softmax", _reference(definitions.sink_softmax, 1), _cases(normal), _sink_peer
)


def _sink(ds=None, db=None):
    """Return the right backward, but for what is given: functions of p, g, r."""
    ds = ds or (lambda p, g, r: p * (g - _sums(p * g)))
    db = db or (lambda p, g, r: -r * _sums(p * g))
    return lambda g, p, *_: (*(f(p, g, 1 - _sums(p)) for f in (ds,)), None,
                             db(p, g, 1 - _sums(p)))  # fmt: skip


for _tag, _slip in {
    "no-centre": _sink(ds=lambda p, g, r: p * g),
    "diagonal-only": _sink(ds=lambda p, g, r: g * p * (1 - p)),
    "centre-of-the-softmax": _sink(ds=lambda p, g, r: p * (g - _sums(p * g) / (1 - r))),
    "rest-forgotten": _sink(db=lambda p, g, r: -_sums(p * g)),
    "sign-of-b": _sink(db=lambda p, g, r: r * _sums(p * g)),
    "rest-squared": _sink(db=lambda p, g, r: -(r**2) * _sums(p * g)),
}.items():
    wrong("sink_softmax", _tag, _slip, on="heads")


# entmax


def _entmax(s, allowed, alpha=1.5):
    return _reference(definitions.entmax, alpha=alpha)(s, allowed)


def _entmax_peer(T, s, allowed, alpha=1.5):
    """Find tau by Newton's steps, so that the last one has the gradient."""
    if not s.shape[-1]:
        return NotImplemented
    x = T.where(allowed, (alpha - 1) * s, -1e9)
    some = allowed.any(-1, keepdim=True)
    tau = x.max(-1, keepdim=True).values.detach() - 1
    for step in range(60):
        rest = (x - tau).clamp(min=0)
        inside = T.where(rest > 0, rest, 1.0)
        p = T.where(rest > 0, inside ** (1 / (alpha - 1)), 0.0)
        slope = T.where(rest > 0, inside ** ((2 - alpha) / (alpha - 1)), 0.0)
        slope = slope.sum(-1, keepdim=True) / (alpha - 1)
        change = (p.sum(-1, keepdim=True) - 1) / slope.detach()
        tau = tau + (change if step == 59 else change.detach())
    rest = (x - tau).clamp(min=0)
    inside = T.where(rest > 0, rest, 1.0)
    p = T.where(rest > 0, inside ** (1 / (alpha - 1)), 0.0)
    return T.where(some & allowed, p, 0.0)


def _with_alpha(alpha, case):
    return lambda r: call(*case(r).args, alpha)


_one = _cases()
spec(
    "entmax",
    _entmax,
    {
        "mask": _one["mask"],
        "free": _with_alpha(1.33, _one["free"]),
        "heads": _with_alpha(2, _one["heads"]),
        "many": lambda r: call(normal(r, (3, 13)), np.ones((3, 13), bool), 1.5),
        "bisection": _with_alpha(1.7, _one["mask"]),
        "empty-keys": _one["empty-keys"],
    },
    _entmax_peer,
)


def _entmax_backward(u=None, centre=None):
    """Return the right backward, but for what is given: functions of p and alpha."""
    u = u or (lambda p, alpha: (p > 0) * np.where(p > 0, p, 1) ** (2 - alpha))
    centre = centre or (lambda u, g, p: _sums(u * g) / np.maximum(_sums(u), 1e-300))

    def backward(g, p, s, allowed, alpha=1.5):
        w = u(p, alpha)
        return w * (g - centre(w, g, p)), None, None

    return backward


for _tag, _slip in {
    "softmax": _entmax_backward(u=lambda p, alpha: p),
    "sparsemax": _entmax_backward(u=lambda p, alpha: 1.0 * (p > 0)),
    "no-centre": _entmax_backward(centre=lambda u, g, p: 0),
    "not-divided": _entmax_backward(centre=lambda u, g, p: _sums(u * g)),
    "weighted-by-p": _entmax_backward(centre=lambda u, g, p: _sums(p * g)),
    "exponent": _entmax_backward(
        u=lambda p, alpha: (p > 0) * np.where(p > 0, p, 1) ** (alpha - 1.2)
    ),
}.items():
    wrong("entmax", _tag, _slip, on="mask")
wrong(
    "entmax",
    "all-keys",
    _entmax_backward(u=lambda p, alpha: np.ones_like(p)),
    on="heads",
)


# sigmoid


spec(
    "sigmoid_weights",
    _reference(definitions.sigmoid_weights, 1),
    _cases(normal),
    lambda T, s, allowed, b: T.where(allowed, T.sigmoid(s + b), 0.0),
)


def _each(d):
    return lambda g, p, *_: (d(g, p), None, d(g, p))


for _tag, _slip in {
    "slope-forgotten": _each(lambda g, p: g * p),
    "softmax": _each(lambda g, p: p * (g - _sums(p * g))),
    "not-squared": _each(lambda g, p: g * (1 - p) * (p > 0)),
    "b-of-the-mean": lambda g, p, *_: (g * p * (1 - p), None, g * p * (1 - p) / 7),
}.items():
    wrong("sigmoid_weights", _tag, _slip, on="heads")


# stick-breaking


def _stick_peer(T, s, allowed):
    b = T.where(allowed, T.sigmoid(s), 0.0)
    left = T.flip(T.cumprod(T.flip(1 - b, (-1,)), -1), (-1,))
    return b * T.cat([left, T.ones_like(left[..., :1])], -1)[..., 1:]


spec("stick_breaking", _reference(definitions.stick_breaking), _cases(), _stick_peer)


def _stick(combine):
    """Return a backward from p g and the parts b = sigmoid(s), masked 0."""

    def backward(g, p, s, allowed):
        b = np.where(allowed, definitions.sigmoid(s), 0)
        return combine(p * g, b, p, g), None

    return backward


for _tag, _slip in {
    "exclusive": _stick(lambda pg, b, p, g: pg - b * (pg.cumsum(-1) - pg)),
    "later-keys": _stick(lambda pg, b, p, g: pg - b * pg[..., ::-1].cumsum(-1)),
    "own-slope-only": _stick(lambda pg, b, p, g: pg * (1 - b)),
    "p-for-b": _stick(lambda pg, b, p, g: pg - p * pg.cumsum(-1)),
    "softmax": _stick(lambda pg, b, p, g: pg - p * _sums(pg)),
}.items():
    wrong("stick_breaking", _tag, _slip, on="mask")


# the root mean square of queries and keys


def rms_norm(x, gain=None, eps=1e-6):
    y = x / np.sqrt((x * x).sum(-1, keepdims=True) / x.shape[-1] + eps)
    return y if gain is None else gain * y


def _rms_peer(T, x, gain=None, eps=1e-6):
    return T.nn.functional.rms_norm(x, x.shape[-1:], eps=eps) * (
        1.0 if gain is None else gain
    )


spec(
    "rms_norm",
    rms_norm,
    {
        "gain": lambda r: call(normal(r, (3, 5, 7)), normal(r, (7,))),
        "free": lambda r: call(normal(r, (5, 7))),
        "large-eps": lambda r: call(normal(r, (3, 5)), normal(r, (5,)), 0.7),
        "gain-of-heads": lambda r: call(normal(r, (2, 3, 5, 7)), normal(r, (3, 1, 7))),
        "empty": lambda r: call(normal(r, (0, 7)), normal(r, (7,))),
    },
    _rms_peer,
)


def _rms(dx=None, dgain=None):
    """Return the right backward, but for what is given: functions of g, d, x, r."""
    dx = dx or (lambda g, d, x, r: (d - x * (d * x).mean(-1, keepdims=True) / r**2) / r)
    dgain = dgain or (lambda g, d, x, r: g * x / r)

    def backward(g, y, x, gain, eps=1e-6):
        r = np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        return tuple(f(g, g * gain, x, r) for f in (dx, dgain))

    return backward


for _tag, _slip in {
    "norm-held-fixed": _rms(lambda g, d, x, r: d / r),
    "of-layer-norm": _rms(
        lambda g, d, x, r: (
            (d - d.mean(-1, keepdims=True) - x * (d * x).mean(-1, keepdims=True) / r**2)
            / r
        )
    ),
    "sum-for-mean": _rms(lambda g, d, x, r: (d - x * _sums(d * x) / r**2) / r),
    "not-divided": _rms(
        lambda g, d, x, r: d - x * (d * x).mean(-1, keepdims=True) / r**2
    ),
    "gain-forgotten": _rms(
        lambda g, d, x, r: (g - x * (g * x).mean(-1, keepdims=True) / r**2) / r
    ),
    "gain-of-x": _rms(dgain=lambda g, d, x, r: g * x),
}.items():
    wrong("rms_norm", _tag, _slip, on="gain")
wrong(
    "rms_norm",
    "eps-forgotten",
    _rms(lambda g, d, x, r: (d - x * _sums(d * x) / _sums(x * x)) / r),
    on="large-eps",
)


# the direction of queries and keys


spec(
    "unit",
    lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)),
    {
        "rows": lambda r: call(normal(r, (3, 5, 7))),
        "small": lambda r: call(1e-3 * normal(r, (3, 5))),
        "empty": lambda r: call(normal(r, (0, 7))),
    },
    lambda T, x: T.nn.functional.normalize(x, dim=-1),
)
for _tag, _slip in {
    "length-held-fixed": lambda g, n, x: g * n / x,
    "not-divided": lambda g, n, x: g - n * _sums(n * g),
    "of-x": lambda g, n, x: (g - x * _sums(x * g)) * n / x,
    "mean-for-sum": lambda g, n, x: (g - n * (n * g).mean(-1, keepdims=True)) * n / x,
}.items():
    wrong("unit", _tag, _slip, on="rows")


# the gate on the output


spec(
    "output_gate",
    lambda o, z: o * definitions.sigmoid(z),
    {
        "entries": lambda r: call(normal(r, (3, 5, 7)), normal(r, (3, 5, 7))),
        "one-gate": lambda r: call(normal(r, (3, 5, 7)), normal(r, (3, 5, 1))),
        "gates-for-all": lambda r: call(normal(r, (3, 5, 7)), normal(r, (5, 7))),
        "empty": lambda r: call(normal(r, (0, 7)), normal(r, (0, 1))),
    },
    lambda T, o, z: o * T.sigmoid(z),
)


def _gate(do=None, dz=None):
    """Return the right backward, but for what is given: functions of g, o, s."""
    do = do or (lambda g, o, s: g * s)
    dz = dz or (lambda g, o, s: g * o * s * (1 - s))
    return lambda g, y, o, z: tuple(f(g, o, definitions.sigmoid(z)) for f in (do, dz))


for _tag, _slip in {
    "gate-forgotten": _gate(do=lambda g, o, s: g + 0 * s),
    "slope-forgotten": _gate(dz=lambda g, o, s: g * o * s),
    "output-for-o": _gate(dz=lambda g, o, s: g * o * s * s * (1 - s)),
    "o-forgotten": _gate(dz=lambda g, o, s: g * s * (1 - s)),
}.items():
    wrong("output_gate", _tag, _slip, on="entries")
wrong(
    "output_gate",
    "mean-of-the-entries",
    _gate(dz=lambda g, o, s: (g * o).mean(-1, keepdims=True) * s * (1 - s)),
    on="one-gate",
)
