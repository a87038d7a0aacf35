"""GRU and LSTM: what is kept for the backward, and what it does not compute."""

import numpy as np
import pytest

from minigrad import Tensor
from minigrad.overwriting import saved_arrays

from .recurrent_cases import CELLS, GATES, OPS, STATES, B, H, T, arguments


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
