"""Multi-head attention equals torch's, as recorded, and exchanges states.

golden/multihead.npz holds inputs, states and results of torch.nn.MultiheadAttention,
and the version of torch.
"""

import pathlib

import numpy as np
import pytest

from attention.exact.torch_state import load_torch_state, torch_state
from attention.variants.gaussian import GaussianAttention
from minigrad import Tensor

from .multihead_cases import DENSE, Dk, Dv, close, j, layer

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "multihead.npz"

PROBLEMS = {  # of the layer; of the call
    "self causal": ({}, {"same": True, "causal": True}),
    "widths": ({"kdim": Dk, "vdim": Dv}, {"lens": [7, 2]}),
    "no bias": ({"bias": False}, {"mask": DENSE[0, 0] | (j == 0)}),
}


def ours(name, arrays, g, state):
    """{name: array}: the output, the weights, and all gradients, by torch's names."""
    options, call = PROBLEMS[name]
    module = layer(**options, seed=1)
    load_torch_state(module, state)
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    output, weights = module(
        *(leaves[:1] if "same" in call else leaves),
        lengths=call.get("lens"),
        mask=call.get("mask"),
        is_causal=call.get("causal", False),
        need_weights=True,
    )
    output.backward(g)
    for parameter in module.parameters():
        parameter.data = parameter.grad
    found = {f"d {n}": a for n, a in torch_state(module).items()}
    found |= {f"d {n}": x.grad for n, x in zip("qkv", leaves) if x.grad is not None}
    return {"output": output.data, "weights": weights.data, **found}


def compare(found, expected):
    assert found.keys() == expected.keys()
    for n, wanted in expected.items():
        np.testing.assert_allclose(found[n], wanted, **close, err_msg=n)


@pytest.mark.parametrize("name", PROBLEMS)
def test_equal_to_the_recorded_results_of_torch(name):
    with np.load(GOLDEN) as file:
        stored = [
            {k.split("|")[2]: file[k] for k in file if k.startswith(f"{name}|{part}|")}
            for part in ("in", "state", "out")
        ]
    arrays, state, expected = stored
    g = arrays.pop("g")
    compare(ours(name, arrays.values(), g, state), expected)


def test_a_parameter_that_is_one_number_is_exchanged_as_a_copy():
    one, other = GaussianAttention(2.0), GaussianAttention(1.0)
    state = torch_state(one)
    load_torch_state(other, state)
    state["log_bandwidth"] += 1
    assert other.log_bandwidth.data == one.log_bandwidth.data == np.float32(np.log(2))
