"""A module consists of what its attributes hold, and says so."""

import copy

import numpy as np
import pytest

from minigrad import Tensor, nn

from .nn_cases import IDS, NAMES, Model


def test_names_of_parameters_and_modules():
    model = Model()
    assert [name for name, _ in model.named_parameters()] == NAMES
    assert [name for name, _ in model.named_modules()] == [
        "", "embed", "blocks.0", "blocks.1", "heads.a", "heads.norm", "drop",
    ]  # fmt: skip
    assert model.parameters()[0] is model.scale
    assert model.modules()[:2] == [model, model.embed]
    gru = 3 * 3 * (4 + 3) + 2 * 3 * 3
    assert model.num_parameters() == 3 + 11 * 4 + gru + 9 + (15 + 5) + (3 + 3)


def test_names_of_stacked_directions():
    names = [n for n, _ in nn.LSTM(4, 3, 2, bidirectional=True).named_parameters()]
    kinds = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
    ends = "_l0", "_l0_reverse", "_l1", "_l1_reverse"
    assert names == [kind + end for end in ends for kind in kinds]
    assert [n for n, _ in nn.GRU(4, 3, bias=False).named_parameters()] == [
        "weight_ih_l0",
        "weight_hh_l0",
    ]


def test_attributes_come_and_go():
    """Nothing is registered: what is there counts."""
    model = Model()
    del model.embed
    model.blocks.append(nn.Linear(3, 2))
    model.scale = None
    names = [name for name, _ in model.named_parameters()]
    assert names == [*NAMES[2:7], "blocks.2.weight", "blocks.2.bias", *NAMES[7:]]


def test_a_tied_parameter_is_one_parameter_with_two_names():
    model = Model()
    model.tied = nn.Linear(4, 11, bias=False)
    model.tied.weight = model.embed.weight
    assert model.num_parameters() == Model().num_parameters()
    assert [name for name, _ in model.named_parameters()] == NAMES
    state = model.state_dict()
    assert "tied.weight" in state and "embed.weight" in state
    other = copy.deepcopy(model)
    assert other.tied.weight is other.embed.weight is not model.embed.weight
    other.load_state_dict(state)


def test_a_module_inside_itself_ends():
    model = Model()
    model.embed.parent = model
    model.again = model
    assert [name for name, _ in model.named_parameters()] == NAMES
    assert model.train(False).training is False


def test_parameter():
    p = nn.Parameter([1.0, 2.0])
    assert isinstance(p, Tensor) and p.requires_grad and p.dtype == np.float64
    assert type(p * 2) is Tensor and repr(p).startswith("Parameter([1., 2.]")
    with pytest.raises(TypeError, match="Only floating-point tensors have gradients"):
        nn.Parameter([1, 2])
    assert all(q.dtype == np.float32 for q in Model().parameters())


def test_train_and_eval_reach_everything():
    model = Model()
    assert all(module.training for module in model.modules())
    assert model.eval() is model
    assert not any(module.training for module in model.modules())
    model.train()
    assert all(module.training for module in model.modules())
    assert nn.Module.training and Model().training  # others are as they were


def test_zero_grad():
    model = Model()
    model(IDS).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_repr_is_nested():
    assert repr(Model()) == (
        "Model(\n"
        "  (embed): Embedding(11, 4, padding_idx=0)\n"
        "  (blocks.0): GRU(4, 3)\n"
        "  (blocks.1): Linear(3, 3, bias=False)\n"
        "  (heads.a): Linear(3, 5)\n"
        "  (heads.norm): LayerNorm((3,), eps=1e-05)\n"
        "  (drop): Dropout(p=0.25)\n"
        ")"
    )
    lstm = nn.LSTM(4, 3, 2, bidirectional=True, dropout=0.1)
    assert repr(lstm) == "LSTM(4, 3, num_layers=2, bidirectional=True, dropout=0.1)"
    assert repr(nn.LSTMCell(4, 3, bias=False)) == "LSTMCell(4, 3, bias=False)"


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="^Module has no method forward.$"):
        nn.Module()(1)
