"""GRU and LSTM by name, their arguments, and a pull of all gradients, for the tests."""

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn

B, T, D, H = 3, 5, 7, 2  # no two equal: a lost transpose cannot pass
RAGGED = np.array([3, 5, 1])  # not sorted, with the longest and the shortest possible
GATES = {"gru": 3, "lstm": 4}
STATES = {"gru": ("h0",), "lstm": ("h0", "c0")}

# sums of at most a hundred float64 terms of order one, in two orders of summation
CLOSE = dict(rtol=1e-11, atol=1e-13)


def arguments(kind, bias=True, dtype=np.float64, seed=0):
    """{name: array} of the arguments of the operation, in order."""
    rng = np.random.default_rng(seed)
    k = GATES[kind] * H
    shapes = {"x": (B, T, D), **{name: (B, H) for name in STATES[kind]}}
    shapes |= {"weight_ih": (k, D), "weight_hh": (k, H)}
    shapes |= {"bias_ih": (k,), "bias_hh": (k,)} if bias else {}
    return {n: rng.standard_normal(s).astype(dtype) / 2 for n, s in shapes.items()}


def pulled(function, arrays, seed=1):
    """Outputs and all gradients of ``function(*tensors)``, under random cotangents."""
    tensors = [Tensor(a, requires_grad=True) for a in arrays]
    outputs = function(*tensors)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    rng = np.random.default_rng(seed)
    loss = 0.0
    for y in outputs:
        loss = loss + (y * Tensor(rng.standard_normal(y.shape).astype(y.dtype))).sum()
    loss.backward()
    return [y.numpy().copy() for y in outputs], [t.grad for t in tensors]


OPS = {"gru": mg.gru, "lstm": mg.lstm}
CELLS = {"gru": mg.gru_cell, "lstm": mg.lstm_cell}
LAYERS = {"gru": nn.GRU, "lstm": nn.LSTM}


def fused(kind, lengths=None, reverse=False):
    def layer(*args):
        full = [*args, None, None] if len(args) == 3 + len(STATES[kind]) else args
        return OPS[kind](*full, lengths, reverse)

    return layer
