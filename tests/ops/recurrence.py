"""Decay, gated linear attention and the delta rule: specifications, step by step."""

import numpy as np

from attention import definitions

from .spec import call, normal, positive, spec


def run(q, k, v, log_a, state=None, beta=None):
    """o and S of S_t = a_t S' + k_t u_t^T; log_a (..., L, E or 1).

    u is v, or with beta (..., L, 1) the delta rule's beta (v - S'^T k)
    """
    a, E, Ev = np.exp(log_a), k.shape[-1], v.shape[-1]
    heads = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v, a)))
    S = np.zeros((*heads, E, Ev)) if state is None else state
    o = np.zeros((*heads, q.shape[-2], Ev))
    for t in range(q.shape[-2]):
        S = a[..., t, :, None] * S
        u = v[..., t, :]
        if beta is not None:
            u = beta[..., t, :] * (u - read(S, k[..., t, :]))
        S = S + k[..., t, :, None] * u[..., None, :]
        o[..., t, :] = read(S, q[..., t, :])
    return o, S


def read(S, x):
    """S^T x"""
    return (S * x[..., :, None]).sum(-2)


# each operation's arguments as those of ``run``


def recurrence(q, k, v, log_decay, state=None):
    shape = (*log_decay.shape[:-2], q.shape[-2], log_decay.shape[-1])
    return run(q, k, v, np.broadcast_to(log_decay, shape), state)


def delta(q, k, v, beta, log_decay=None, state=None):
    gates = np.zeros((*v.shape[:-1], 1)) if log_decay is None else log_decay[..., None]
    return run(q, k, v, gates, state, beta[..., None])


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
    recurrence,
    {
        "state": _case((2,), 7, 5, 3, (7, 1), state=True),
        "vector-state": _case((2,), 7, 5, 3, (7, 5), state=True),
        "heads": _case((2, 3), 3, 2, 1, (3, 1)),
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
)
spec(
    "delta_rule",
    delta,
    {
        "state": _case((2,), 7, 5, 3, (7,), beta=True, state=True),
        "no-gate": _case((2,), 7, 5, 3, None, beta=True),
        "heads": _case((2, 3), 3, 2, 1, (3,), beta=True),
        "no-gate-state": _case((2,), 7, 5, 3, None, beta=True, state=True),
        "chunks": _case((), 131, 3, 5, (131,), beta=True, state=True),
        "one": _case((), 1, 5, 3, (1,), beta=True, state=True),
        "empty": _case((3,), 0, 5, 3, (0,), beta=True, state=True),
        "empty-heads": _case((0,), 7, 5, 3, (7,), beta=True),
    },
)


# features

spec(
    "elu_plus_one",
    definitions.elu_plus_one,
    {
        "rows": lambda r: call(normal(r, (3, 5))),
        "one": lambda r: call(normal(r, ())),
        "empty": lambda r: call(normal(r, (0, 3))),
    },
)


def features(x, W, *, shift=None):
    """Without a shift, feature by feature."""
    columns = [np.exp((x * w).sum(-1) - (x * x).sum(-1) / 2) for w in W]
    return np.stack(columns, -1) / np.sqrt(len(W))


spec(
    "random_features",
    features,
    {
        "rows": lambda r: call(normal(r, (3, 5, 7)), normal(r, (11, 7)) / 3),
        "one": lambda r: call(normal(r, (1, 3)), normal(r, (5, 3))),
        "empty": lambda r: call(normal(r, (0, 3)), normal(r, (5, 3))),
    },
)
