"""GRU and LSTM, over time and cell by cell: specifications."""

import numpy as np

from .activation import sigmoid
from .spec import call, normal, spec


def run(cell, x, states, parameters, lengths=None, reverse=False):
    """All steps of ``cell``: the outputs and the last states.

    x (B, T, D); states: tuple of (B, H); parameters: W_ih, W_hh, b_ih, b_hh

    A row that has ended hands its states on and puts out zeros.
    """
    B, T, _ = x.shape
    alive = np.arange(T) < np.array([T] * B if lengths is None else lengths)[:, None]
    output = np.zeros((B, T, states[0].shape[1]))
    for t in range(T)[::-1] if reverse else range(T):
        here = alive[:, t, None]
        new = one_step(cell, x[:, t], states, parameters)
        states = tuple(np.where(here, n, old) for n, old in zip(new, states))
        output[:, t] = np.where(here, states[0], 0)
    return output, *states


def one_step(cell, x, states, parameters):
    W_ih, W_hh, b_ih, b_hh = (0 if p is None else p for p in parameters)
    return cell(x @ W_ih.T + b_ih, states[0] @ W_hh.T + b_hh, states)


def gates(a, b):
    """torch's gates r, z, n, from a = W_ih x + b_ih and b = W_hh h + b_hh."""
    (a_r, a_z, a_n), (b_r, b_z, b_n) = np.split(a, 3, -1), np.split(b, 3, -1)
    r, z = sigmoid(a_r + b_r), sigmoid(a_z + b_z)
    return r, z, np.tanh(a_n + r * b_n)


def gru_step(a, b, states):
    (h,) = states
    r, z, n = gates(a, b)
    return ((1 - z) * n + z * h,)


def lstm_step(a, b, states):
    """torch's gates i, f, g, o; here u stands for the candidate g."""
    _, c = states
    i, f, u, o = np.split(a + b, 4, -1)
    new_c = sigmoid(f) * c + sigmoid(i) * np.tanh(u)
    return sigmoid(o) * np.tanh(new_c), new_c


CELLS = {"gru": (gru_step, 3, 1), "lstm": (lstm_step, 4, 2)}  # step, gates, states


def _over_time(kind):
    step, _, n = CELLS[kind]
    return lambda x, *rest, **options: run(
        step, x, rest[:n], rest[n : n + 4], **options
    )


def _one_step(kind):
    step, _, n = CELLS[kind]

    def one(x, *rest):
        states = one_step(step, x, rest[:n], rest[n:])
        return states if n > 1 else states[0]

    return one


def _layer(kind, B=3, steps=(5,), D=7, H=2, bias=True, **options):
    """A case; without an axis of steps, one for the cell."""

    def case(r):
        _, gates, n = CELLS[kind]
        states = [normal(r, (B, H)) for _ in range(n)]
        weights = [normal(r, (gates * H, width)) / 2 for width in (D, H)]
        biases = [normal(r, (gates * H,)) / 2 if bias else None for _ in "ih"]
        return call(normal(r, (B, *steps, D)), *states, *weights, *biases, **options)

    return case


_lengths = np.array([5, 2, 3])
for _kind in CELLS:
    spec(
        _kind,
        _over_time(_kind),
        {
            "plain": _layer(_kind),
            "lengths": _layer(_kind, lengths=_lengths),
            "reverse": _layer(_kind, reverse=True),
            "lengths-reverse": _layer(_kind, lengths=_lengths, reverse=True),
            "no-bias": _layer(_kind, bias=False),
            "narrow-lengths": _layer(_kind, steps=(3,), D=1, H=1, lengths=[2, 3, 1]),
            "empty": _layer(_kind, B=0),
        },
    )
for _kind in CELLS:
    spec(
        f"{_kind}_cell",
        _one_step(_kind),
        {
            "plain": _layer(_kind, steps=()),
            "no-bias": _layer(_kind, steps=(), bias=False),
            "size-one": _layer(_kind, B=1, steps=(), D=1, H=1),
            "empty": _layer(_kind, B=0, steps=()),
        },
    )
