"""Values move in and out of modules whole or not at all."""

import numpy as np
import pytest

from minigrad import Tensor, nn

from .nn_cases import IDS, NAMES, Model


def test_state_dict_holds_copies():
    model = Model()
    state = model.state_dict()
    assert list(state) == NAMES
    state["scale"][:] = 7
    assert (model.scale.data == 1).all()


def test_a_state_moves_from_one_model_to_another():
    first, second = Model(np.random.default_rng(1)).eval(), Model().eval()
    before = second.scale.data
    assert second.load_state_dict(first.state_dict()) == ([], [])
    np.testing.assert_array_equal(first(IDS).data, second(IDS).data)
    assert second.scale.data is before  # written in place: views of it stay valid


def test_values_take_the_dtype_of_the_parameter():
    layer = nn.Linear(2, 1)
    weight = Tensor([[1 / 3, 2.0]], requires_grad=True)
    layer.load_state_dict({"weight": weight, "bias": [4]})
    assert layer.weight.dtype == np.float32
    assert layer.weight.data.tolist() == [[np.float32(1 / 3), 2.0]]
    layer.weight.data = np.zeros((1, 2))  # of another dtype: allowed
    layer.load_state_dict({"weight": weight, "bias": [4]})
    assert layer.weight.data.tolist() == [[1 / 3, 2.0]]


def test_a_misfit_loads_nothing_and_is_told_whole():
    model = Model()
    before = model.state_dict()
    state = {name: array + 1 for name, array in before.items()}
    del state["blocks.1.weight"], state["heads.a.bias"]
    state["blocks.1.wieght"] = np.ones((3, 3))
    state["embed.weight"] = np.ones((4, 11))
    state["scale"] = np.array(["a", "b", "c"])
    with pytest.raises(ValueError) as caught:
        model.load_state_dict(state)
    assert str(caught.value) == (
        "Model cannot load this state; nothing was changed.\n"
        "  missing: blocks.1.weight\n"
        "  missing: heads.a.bias\n"
        "  unexpected: blocks.1.wieght\n"
        "  does not fit: scale: expected (3,), found <U1 (3,)\n"
        "  does not fit: embed.weight: expected (11, 4), found (4, 11)"
    )
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_not_strict_loads_what_is_there():
    model = Model()
    state = {"scale": np.full(3, 5.0), "spare": np.ones(2)}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert missing == NAMES[1:] and unexpected == ["spare"]
    assert model.scale.data.tolist() == [5, 5, 5]
    with pytest.raises(
        ValueError, match=r"does not fit: scale: expected \(3,\), found"
    ):
        model.load_state_dict({"scale": np.ones(4)}, strict=False)


def test_a_state_must_be_a_dict():
    with pytest.raises(TypeError) as caught:
        Model().load_state_dict([1, 2])
    assert str(caught.value) == (
        "Model.load_state_dict wants a dict of arrays by name; found list."
    )
