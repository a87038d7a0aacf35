"""Multi-head attention equals torch's, as recorded, and exchanges states.

golden/multihead.npz holds inputs, states and results of torch.nn.MultiheadAttention, and
the version of torch.
"""

import pathlib

import numpy as np
import pytest

from attention.exact.multihead import MultiHeadAttention
from attention.exact.torch_state import load_torch_state, torch_state
from attention.variants.gaussian import GaussianAttention
from minigrad import Tensor

from .multihead_cases import DENSE, D, Dk, Dv, H, close, j, layer

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


def test_a_parameter_that_is_one_number_is_exchanged():
    one, other = GaussianAttention(2.0), GaussianAttention(1.0)
    load_torch_state(other, torch_state(one))
    assert other.log_bandwidth.data == one.log_bandwidth.data


@pytest.mark.parametrize("options", [{}, {"kdim": Dk}, {"bias": False}])
def test_a_state_moves_there_and_back(options):
    one, other = layer(**options), layer(**options, seed=1)
    state = torch_state(one)
    load_torch_state(other, state)
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], value)
    for value in state.values():
        value += 1  # a copy: the layer does not change
    np.testing.assert_array_equal(other.W_q.weight.data, one.W_q.weight.data)


def test_a_state_that_does_not_fit_is_not_loaded():
    layer = MultiHeadAttention(D, H)
    before, state = layer.state_dict(), torch_state(layer)
    del state["in_proj_bias"]
    state = {name: value + 1 for name, value in state.items()}
    state |= {"bias_k": np.ones((1, 1, D)), "out_proj.bias": np.ones(11)}
    with pytest.raises(ValueError) as error:
        load_torch_state(layer, state)
    for fragment in (
        "out_proj.bias: expected (12,), found (11,)", "missing: in_proj_bias", "bias_k"
    ):  # fmt: skip
        assert fragment in str(error.value)
    for name, value in layer.state_dict().items():
        np.testing.assert_array_equal(value, before[name])
    with pytest.raises(TypeError, match="state is a list; expected a dict of arrays"):
        load_torch_state(layer, [])


def test_torch_has_no_groups():
    def load(layer):
        load_torch_state(layer, {})

    for name, exchange in ("torch_state", torch_state), ("load_torch_state", load):
        says = f"^{name}: a .* has 4 query heads and 2 key heads"
        with pytest.raises(ValueError, match=says):
            exchange(MultiHeadAttention(D, H, 2))
