"""GRU and LSTM, over time and cell by cell: specifications and wrong backwards.

``run`` goes through time one step at a time, and back by hand. Without a slip it is
right, which a test asserts; an entry of the zoo is the same text with one slip.
"""

import numpy as np

from .activation import sigmoid
from .spec import call, normal, spec, wrong


def run(cell, x, states, parameters, lengths=None, reverse=False, slip=None):
    """All steps of ``cell``: the outputs, the last states, and the way back.

    x (B, T, D); states: tuple of (B, H); parameters: W_ih, W_hh, b_ih, b_hh
    backward(d_output, d_states)  ->  dx, [d state, ...], [d parameter, ...]

    A row that has ended hands its states on and puts out zeros.
    """
    B, T, _ = x.shape
    parameters = [np.zeros(len(parameters[0])) if p is None else p for p in parameters]
    W_ih, W_hh, b_ih, b_hh = parameters
    order = range(T)[::-1] if reverse else range(T)
    alive = np.arange(T) < np.array([T] * B if lengths is None else lengths)[:, None]
    output = np.zeros((B, T, len(W_hh[0])))
    backs = {}
    for t in order:
        here = alive[:, t, None]
        new, backs[t] = cell(
            x[:, t] @ W_ih.T + b_ih, states[0] @ W_hh.T + b_hh, states, slip
        )
        backs[t] = backs[t], here, states[0]
        states = tuple(np.where(here, n, old) for n, old in zip(new, states))
        output[:, t] = np.where(here, states[0], 0)

    def backward(d_output, d_states):
        dx, d_states = np.zeros_like(x), list(d_states)
        d_parameters = [np.zeros_like(p) for p in parameters]
        for t in reversed(order):
            back, here, h = backs[t]
            arrived = [d_states[0] + d_output[:, t] * here, *d_states[1:]]
            mask = np.ones_like(here) if slip == "padding-leaks" else here
            da, db, d_before = back([d * mask for d in arrived])
            dx[:, t] = da @ W_ih
            if slip != "not-through-time":
                d_before[0] = d_before[0] + db @ W_hh
            d_states = [n + d * ~mask for n, d in zip(d_before, arrived)]
            terms = da.T @ x[:, t], db.T @ h, da.sum(0), db.sum(0)
            for total, term in zip(d_parameters, terms):
                if slip == "written-not-added":
                    total[:] = 0
                total += term
        if slip == "bias-dropped":
            d_parameters[3][:] = 0
        if slip == "biases-shared":
            d_parameters[3] = d_parameters[2].copy()
        return dx, d_states, d_parameters

    return output, states, backward


def gru_step(a, b, states, slip):
    """a = W_ih x + b_ih, b = W_hh h + b_hh; torch's gates r, z, n."""
    (h,) = states
    (a_r, a_z, a_n), (b_r, b_z, b_n) = np.split(a, 3, -1), np.split(b, 3, -1)
    r, z = sigmoid(a_r + b_r), sigmoid(a_z + b_z)
    n = np.tanh(a_n + r * b_n)

    def back(d_states):
        d = d_states[0]
        dn, dz, dh = d * (1 - z), d * (h - n), d * z
        if slip == "update-gate-mirrored":
            dn, dh = dh, dn
        if slip == "not-carried":
            dh = np.zeros_like(dh)
        d_n = dn * (1 - n if slip == "not-squared" else 1 - n**2)
        d_r = d_n * b_n * r * (1 - r)
        d_z = dz * z * (1 - z)
        into_b = d_n if slip == "reset-gate-misplaced" else d_n * r
        return np.hstack([d_r, d_z, d_n]), np.hstack([d_r, d_z, into_b]), [dh]

    return ((1 - z) * n + z * h,), back


def lstm_step(a, b, states, slip):
    """torch's gates i, f, g, o; here u stands for the candidate g."""
    _, c = states
    i, f, u, o = np.split(a + b, 4, -1)
    i, f, u, o = sigmoid(i), sigmoid(f), np.tanh(u), sigmoid(o)
    new_c = f * c + i * u

    def back(d_states):
        dh, dc = d_states
        slope = 1 if slip == "output-not-squashed" else 1 - np.tanh(new_c) ** 2
        dc = dh * o * slope + (0 if slip == "cell-path-lost" else dc)
        kept = new_c if slip == "forget-gate-of-the-new-cell" else c
        d = [
            dc * u * i * (1 - i),
            dc * kept * f * (1 - f),
            dc * i * (1 - u**2),
            dh * np.tanh(new_c) * o * (1 - o),
        ]
        before = np.zeros_like(c) if slip == "not-carried" else dc * f
        return np.hstack(d), np.hstack(d), [np.zeros_like(dh), before]

    return (o * np.tanh(new_c), new_c), back


CELLS = {"gru": (gru_step, 3, 1), "lstm": (lstm_step, 4, 2)}  # step, gates, states


def _over_time(kind, slip=None):
    """The whole layer: its forward, and its backward with the slip."""
    step, _, n = CELLS[kind]

    def forward(x, *rest, lengths=None, reverse=False):
        states, parameters = rest[:n], rest[n : n + 4]
        output, last, _ = run(step, x, states, parameters, lengths, reverse)
        return (output, *last)

    def backward(g, y, x, *rest, lengths=None, reverse=False):
        states, parameters = rest[:n], rest[n : n + 4]
        back = run(step, x, states, parameters, lengths, reverse, slip)[2]
        dx, d_states, d_parameters = back(g[0], g[1:])
        return (dx, *d_states, *d_parameters)

    return forward, backward


def _one_step(kind, slip=None):
    """A cell: a layer of one step."""
    forward, backward = _over_time(kind, slip)

    def back(g, y, x, *rest):
        g = list(g) if isinstance(g, (list, tuple)) else [g]
        zero = np.zeros_like(g[0])[:, None]
        dx, *others = backward([zero, *g], None, x[:, None], *rest)
        return (dx[:, 0], *others)

    def one(x, *rest):
        states = forward(x[:, None], *rest)[1:]
        return states if len(states) > 1 else states[0]

    return one, back


def _layer(kind, B=3, steps=(5,), D=7, H=2, bias=True, **options):
    """A case; without an axis of steps, one for the cell."""

    def case(r):
        _, gates, n = CELLS[kind]
        states = [normal(r, (B, H)) for _ in range(n)]
        weights = [normal(r, (gates * H, width)) / 2 for width in (D, H)]
        biases = [normal(r, (gates * H,)) / 2 if bias else None for _ in "ih"]
        return call(normal(r, (B, *steps, D)), *states, *weights, *biases, **options)

    return case


def _peer(kind):
    """PyTorch's cell, step by step."""
    n = CELLS[kind][2]

    def layer(T, x, *rest, lengths=None, reverse=False):
        states, parameters = rest[:n], rest[n:]
        steps = x.shape[1]
        alive = T.as_tensor([steps] * len(x) if lengths is None else lengths)
        alive = T.arange(steps) < alive[:, None]
        outputs = [None] * steps
        for t in range(steps)[::-1] if reverse else range(steps):
            here = alive[:, t, None]
            new = cell(T, x[:, t], *states, *parameters)
            new = new if isinstance(new, tuple) else (new,)
            states = [T.where(here, a, b) for a, b in zip(new, states)]
            outputs[t] = T.where(here, states[0], 0.0)
        return (T.stack(outputs, 1), *states)

    def cell(T, x, *rest):
        if kind == "gru":
            return T.gru_cell(x, *rest)
        return T.lstm_cell(x, rest[:2], *rest[2:])

    return layer, cell


_lengths = np.array([5, 2, 3])
_everywhere = ["not-carried", "not-through-time", "bias-dropped"]
_slips = {
    "gru": _everywhere
    + ["update-gate-mirrored", "not-squared", "reset-gate-misplaced"],
    "lstm": _everywhere
    + ["output-not-squashed", "cell-path-lost", "forget-gate-of-the-new-cell"],
}
for _kind in CELLS:
    spec(
        _kind,
        _over_time(_kind)[0],
        {
            "plain": _layer(_kind),
            "lengths": _layer(_kind, lengths=_lengths),
            "reverse": _layer(_kind, reverse=True),
            "lengths-reverse": _layer(_kind, lengths=_lengths, reverse=True),
            "one-step": _layer(_kind, steps=(1,)),
            "no-bias": _layer(_kind, bias=False),
            "narrow": _layer(_kind, steps=(3,), D=1, H=1),
            "narrow-lengths": _layer(_kind, steps=(3,), D=1, H=1, lengths=[2, 3, 1]),
            "empty": _layer(_kind, B=0),
        },
        _peer(_kind)[0],
    )
    for _slip in [*_slips[_kind], "written-not-added"]:
        wrong(_kind, _slip, _over_time(_kind, _slip)[1], on="narrow")
    leaking = _over_time(_kind, "padding-leaks")[1]
    wrong(_kind, "padding-leaks", leaking, on="narrow-lengths")
    if _kind == "gru":
        wrong(_kind, "biases-shared", _over_time("gru", "biases-shared")[1], "narrow")
for _kind in CELLS:
    spec(
        f"{_kind}_cell",
        _one_step(_kind)[0],
        {
            "plain": _layer(_kind, steps=()),
            "no-bias": _layer(_kind, steps=(), bias=False),
            "size-one": _layer(_kind, B=1, steps=(), D=1, H=1),
            "empty": _layer(_kind, B=0, steps=()),
        },
        _peer(_kind)[1],
    )
    for _slip in _slips[_kind]:
        wrong(f"{_kind}_cell", _slip, _one_step(_kind, _slip)[1], on="plain")

RIGHT_BACKWARDS = {
    **{kind: _over_time(kind)[1] for kind in CELLS},
    **{f"{kind}_cell": _one_step(kind)[1] for kind in CELLS},
}
