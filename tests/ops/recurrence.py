"""Decay, gated linear attention and the delta rule: specifications, wrong backwards.

``run`` is one recurrence for all three, step by step, and the way back by hand: its
derivation is that of R_t = dL/dS_t alone, without chunks and without logarithms. An
entry of the zoo is the same text with one slip.
"""

import numpy as np

from .spec import call, normal, positive, spec, wrong


def run(q, k, v, log_a, state=None, beta=None, slip=""):
    """o and S of S_t = a_t S' + k_t u_t^T, and the way back; log_a (..., L, E or 1).

    u is v, or with beta (..., L, 1) the delta rule's beta (v - S'^T k)
    """
    a, E, Ev = np.exp(log_a), k.shape[-1], v.shape[-1]
    heads = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v, a)))
    S = np.zeros((*heads, E, Ev)) if state is None else state
    o, steps = np.zeros((*heads, q.shape[-2], Ev)), []
    for t in range(q.shape[-2]):
        before, S = S, a[..., t, :, None] * S
        u = error = v[..., t, :] - (0 if beta is None else read(S, k[..., t, :]))
        u = u if beta is None else beta[..., t, :] * error
        steps.append((before, S, error, u))
        S = S + outer(k[..., t, :], u)
        o[..., t, :] = read(S, q[..., t, :])

    def backward(g, R):
        full = [np.broadcast_to(x, (*heads, *x.shape[-2:])) for x in (q, k, v, log_a)]
        dq, dk, dv, dlog = (np.zeros(x.shape) for x in full)
        dbeta = np.zeros(dlog.shape)
        R = 0 * R if slip == "last-state-forgotten" else R
        for t in reversed(range(q.shape[-2])):
            q_t, k_t, g_t, a_t = (x[..., t, :] for x in (q, k, g, a))
            before, S, error, u = steps[t]
            dq[..., t, :] = read(
                S + (slip != "before-the-write") * outer(k_t, u), g_t, 1
            )
            if slip != "own-output-forgotten":
                R = R + outer(q_t, g_t)
            w = read(R, k_t)
            dk[..., t, :] = read(R, u, 1)
            if beta is None:
                dv[..., t, :] = w
            else:
                y = beta[..., t, :] * w
                dv[..., t, :] = w if slip == "not-times-beta" else y
                whose = v[..., t, :] if slip == "beta-times-value" else error
                dbeta[..., t, :] = (whose * w).sum(-1, keepdims=True)
                if slip != "key-as-a-read-forgotten":
                    dk[..., t, :] -= read(before if slip == "not-decayed" else S, y, 1)
                if slip != "read-forgotten":
                    R = R - outer(k_t, y)
            sums = (a_t[..., None] * before * R).sum(-1)
            dlog[..., t, :] = sums if a.shape[-1] > 1 else sums.sum(-1, keepdims=True)
            if slip == "one-decay-late" and t:
                a_t = a[..., t - 1, :]
            R = R if slip == "no-decay-backward" else a_t[..., None] * R
        if slip == "decay-of-its-step-only":
            dlog = q * dq - k * dk
            dlog = dlog if a.shape[-1] > 1 else dlog.sum(-1, keepdims=True)
        if slip == "decay-itself":
            dlog = dlog / a
        return dq, dk, dv, dbeta[..., 0], dlog, R

    return (o, S), backward


def outer(x, y):
    return x[..., :, None] * y[..., None, :]


def read(S, x, axis=0):
    """S^T x; with axis 1, S x"""
    if axis:
        return (S * x[..., None, :]).sum(-1)
    return (S * x[..., :, None]).sum(-2)


# each operation's arguments as those of ``run``


def recurrence(q, k, v, log_decay, state=None, slip=""):
    shape = (*log_decay.shape[:-2], q.shape[-2], log_decay.shape[-1])
    (o, S), back = run(q, k, v, np.broadcast_to(log_decay, shape), state, slip=slip)

    def backward(g):
        dq, dk, dv, _, dlog, R = back(*g)
        return (dq, dk, dv, dlog, R)[: 4 if state is None else 5]

    return (o, S), backward


def delta(q, k, v, beta, log_decay=None, state=None, slip=""):
    gates = np.zeros((*v.shape[:-1], 1)) if log_decay is None else log_decay[..., None]
    (o, S), back = run(q, k, v, gates, state, beta[..., None], slip)

    def backward(g):
        dq, dk, dv, dbeta, dlog, R = back(*g)
        if log_decay is None:
            return (dq, dk, dv, dbeta) + (None, R) * (state is not None)
        return (dq, dk, dv, dbeta, dlog[..., 0], R)[: 5 if state is None else 6]

    return (o, S), backward


def _peer(reference):
    """The same steps in torch; its autograd takes the way back."""

    def in_torch(T, q, k, v, *more):
        more = more if reference is delta else (None, *more)
        beta, log_a, state = *more, *(None,) * (3 - len(more))
        if reference is delta and log_a is not None:
            log_a = log_a[..., None]
        S = 0 if state is None else state
        outputs = []
        for t in range(q.shape[-2]):
            if log_a is not None:
                S = T.exp(log_a[..., t if log_a.shape[-2] > 1 else 0, :, None]) * S
            u = v[..., t, :]
            if beta is not None:
                u = beta[..., t, None] * (u - (S * k[..., t, :, None]).sum(-2))
            S = S + k[..., t, :, None] * u[..., None, :]
            outputs.append((S * q[..., t, :, None]).sum(-2))
        return T.stack(outputs, -2), S

    return in_torch


def _case(heads, L, E, Ev, gates, beta=False, state=False):
    """gates   the axes of log_decay after those of the heads; None: without"""

    def made(r):
        q, k, v = (normal(r, (*heads, L, d)) for d in (E, E, Ev))
        k = k / np.sqrt((k * k).sum(-1, keepdims=True))
        more = [r.uniform(0.1, 0.9, (*heads, L))] if beta else []
        more += [None] if gates is None else [-positive(r, (*heads, *gates)) / 4]
        more += [normal(r, (*heads, E, Ev))] if state else []
        return call(q, k, v, *(more[:-1] if more[-1] is None else more))

    return made


spec(
    "recurrence",
    lambda *args: recurrence(*args)[0],
    {
        "state": _case((2,), 7, 5, 3, (7, 1), state=True),
        "vector-state": _case((2,), 7, 5, 3, (7, 5), state=True),
        "heads": _case((2, 3), 5, 3, 2, (5, 1)),
        "vector": _case((2, 3), 5, 3, 2, (5, 3)),
        "constant": _case((3,), 7, 3, 5, (1, 1)),  # RetNet
        # over 400 entries: gradcheck measures along random directions
        "chunks": _case((), 131, 3, 5, (131, 1), state=True),
        "vector-chunks": _case((), 131, 3, 5, (131, 3), state=True),
        "one": _case((), 1, 5, 3, (1, 5), state=True),
        "empty": _case((3,), 0, 5, 3, (0, 1), state=True),
        "empty-vector": _case((3,), 0, 5, 3, (0, 5), state=True),
        "empty-heads": _case((0,), 7, 5, 3, (7, 5)),
    },
    _peer(recurrence),
)
spec(
    "delta_rule",
    lambda *args: delta(*args)[0],
    {
        "state": _case((2,), 7, 5, 3, (7,), beta=True, state=True),
        "no-gate": _case((2,), 7, 5, 3, None, beta=True),
        "heads": _case((2, 3), 5, 3, 2, (5,), beta=True),
        "no-gate-state": _case((2,), 7, 5, 3, None, beta=True, state=True),
        "chunks": _case((), 131, 3, 5, (131,), beta=True, state=True),
        "one": _case((), 1, 5, 3, (1,), beta=True, state=True),
        "empty": _case((3,), 0, 5, 3, (0,), beta=True, state=True),
        "empty-heads": _case((0,), 7, 5, 3, (7,), beta=True),
    },
    _peer(delta),
)


def _slip(reference, name):
    return lambda g, o, *args: reference(*args, slip=name)[1](g)


_OF_DECAY = (
    "last-state-forgotten",
    "before-the-write",
    "own-output-forgotten",
    "one-decay-late",
    "no-decay-backward",
    "decay-of-its-step-only",
    "decay-itself",
)
_OF_DELTA = (
    "not-times-beta",
    "beta-times-value",
    "key-as-a-read-forgotten",
    "not-decayed",
    "read-forgotten",
)
for _name, _reference, _slips, _cases in (
    ("recurrence", recurrence, _OF_DECAY, ("state", "vector-state")),
    ("delta_rule", delta, (*_OF_DELTA, *_OF_DECAY), ("state",)),
):
    for _tag in _slips:
        for _on in _cases:
            wrong(_name, f"{_on}-{_tag}", _slip(_reference, _tag), on=_on)


# random features


def features(x, W, *, shift=None):
    """Without a shift, feature by feature."""
    columns = [np.exp((x * w).sum(-1) - (x * x).sum(-1) / 2) for w in W]
    return np.stack(columns, -1) / np.sqrt(len(W))


def _features_in_torch(T, x, W, *, shift=None):
    return T.exp(x @ W.T - (x * x).sum(-1, keepdim=True) / 2) / len(W) ** 0.5


spec(
    "random_features",
    features,
    {
        "rows": lambda r: call(normal(r, (3, 5, 7)), normal(r, (11, 7)) / 3),
        "one": lambda r: call(normal(r, (1, 3)), normal(r, (5, 3))),
        "empty": lambda r: call(normal(r, (0, 3)), normal(r, (5, 3))),
    },
    _features_in_torch,
)


def _wrong_features(dx=lambda t, x, W: t @ W - x * t.sum(-1, keepdims=True), times=1):
    def backward(g, phi, x, W, **options):
        t = g * phi * times
        return dx(t, x, W), t.swapaxes(-1, -2) @ x

    return backward


def _square_halved(t, x, W):
    return t @ W - x * t.sum(-1, keepdims=True) / 2


for _tag, _slip in (
    ("square-forgotten", _wrong_features(lambda t, x, W: t @ W)),
    ("square-without-sum", _wrong_features(lambda t, x, W: t @ W - x)),
    ("sign", _wrong_features(lambda t, x, W: t @ W + x * t.sum(-1, keepdims=True))),
    ("half-the-square", _wrong_features(_square_halved)),
    ("root-of-m-forgotten", _wrong_features(times=np.sqrt(11))),
):  # fmt: skip
    wrong("random_features", _tag, _slip, on="rows")
