"""GRU and LSTM: fused equals composed of small operations, and keeps no more."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.ops.recurrent import gru_cell_composed, lstm_cell_composed
from minigrad.overwriting import saved_arrays

from .recurrent_cases import (
    CELLS,
    CLOSE,
    GATES,
    OPS,
    RAGGED,
    STATES,
    B,
    H,
    T,
    arguments,
    fused,
    pulled,
)

# fused = composed


def composed(kind, lengths=None, reverse=False):
    """The layer as a graph of small operations, one step after the other."""

    def layer(x, *rest):
        n = len(STATES[kind])
        states, (W_ih, W_hh, *biases) = rest[:n], rest[n:]
        b_ih, b_hh = biases or (None, None)
        alive = np.arange(T) < np.full(B, T if lengths is None else lengths)[:, None]
        outputs = [None] * T
        for t in range(T)[::-1] if reverse else range(T):
            here = alive[:, t, None]
            new = COMPOSED[kind](x[:, t], *states, W_ih, W_hh, b_ih, b_hh)
            new = new if kind == "lstm" else (new,)
            states = [mg.where(here, s, old) for s, old in zip(new, states)]
            outputs[t] = mg.where(here, states[0], 0.0)
        return mg.stack(outputs, axis=1), *states

    return layer


COMPOSED = {"gru": gru_cell_composed, "lstm": lstm_cell_composed}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [None, RAGGED, [4, 4, 4]])
@pytest.mark.parametrize("kind", GATES)
def test_fused_equals_composed(kind, lengths, reverse, bias):
    arrays = list(arguments(kind, bias).values())
    values, gradients = pulled(fused(kind, lengths, reverse), arrays)
    reference, expected = pulled(composed(kind, lengths, reverse), arrays)
    for found, wanted in zip(values + gradients, reference + expected, strict=True):
        np.testing.assert_allclose(found, wanted, **CLOSE)


@pytest.mark.parametrize("kind", GATES)
def test_a_fused_cell_equals_the_composed_one(kind):
    args = arguments(kind)
    arrays = [args.pop("x")[:, 0], *args.values()]
    values, gradients = pulled(CELLS[kind], arrays)
    reference, expected = pulled(COMPOSED[kind], arrays)
    for found, wanted in zip(values + gradients, reference + expected, strict=True):
        np.testing.assert_allclose(found, wanted, **CLOSE)


@pytest.mark.parametrize("kind, blocks", [("gru", 5), ("lstm", 6)])
def test_bytes_kept_for_backward(kind, blocks):
    """Four gate arrays and one of each kind of state, besides the inputs."""
    args = arguments(kind)
    output = OPS[kind](*[Tensor(a, requires_grad=True) for a in args.values()])[0]
    arrays = saved_arrays(output._node.parents[0])
    owners = {id(a if a.base is None else a.base): a for a in arrays}
    kept = sum((a if a.base is None else a.base).nbytes for a in owners.values())
    inputs = sum(a.nbytes for n, a in args.items() if n not in STATES[kind])
    states = len(STATES[kind]) * B * H * 8
    assert kept == inputs + blocks * B * T * H * 8 + states


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("ops", [OPS, CELLS], ids=["layer", "cell"])
def test_unneeded_gradients_are_not_computed(ops, kind):
    args = arguments(kind)
    args["x"] = args["x"] if ops is OPS else args["x"][:, 0]
    outputs, backward = ops[kind].raw(*args.values(), needs=[False] * len(args))
    g = [np.ones_like(y) for y in outputs] if type(outputs) is tuple else outputs
    gradients = backward(g)
    n = 1 + len(STATES[kind])
    assert gradients[0] is gradients[n] is gradients[n + 1] is None
