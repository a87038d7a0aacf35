"""What a user of PyTorch tries first works, or is answered with minigrad's own word."""

import copy
import re

import numpy as np
import pytest

import attention
import minigrad as mg
import minigrad.nn.functional as F
from attention import MultiHeadAttention, attend, masked_softmax
from minigrad import nn, optim, torch_names

ROWS = np.arange(6.0).reshape(2, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)
SGD = optim.SGD(nn.Linear(2, 2).parameters(), lr=1)
STATE = np.zeros((1, 7, 4), np.float32)


def tensor():
    return mg.Tensor(ROWS, requires_grad=True)


def message_of(call):
    """Return the message of the error that a call raises, with its notes."""
    errors = AttributeError, ImportError, IndexError, TypeError, ValueError
    with pytest.raises(errors) as caught:
        call()
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: mg.einsum("ij,kj->ik", tensor(), ROWS), ROWS @ ROWS.T),
        (lambda: mg.tensor(ROWS, requires_grad=True), ROWS),
        (lambda: mg.bmm(ROWS[None], ROWS.T[None]), (ROWS @ ROWS.T)[None]),
        (lambda: mg.masked_fill(tensor(), ROWS > 4, 0.0), ROWS * (ROWS <= 4)),
        (lambda: mg.triu(tensor(), 1), np.triu(ROWS, 1)),
        (lambda: mg.tril(tensor(), -1), np.tril(ROWS, -1)),
        (lambda: mg.mse_loss(tensor(), ROWS - 2), 4.0),
        (lambda: mg.mse_loss(tensor(), 0), (ROWS**2).mean()),
        (lambda: mg.pad(ROWS[0], (1, 0)), [0, 0, 1, 2]),
        (lambda: mg.split(np.arange(6.0), [2, 4])[1], [2, 3]),
        (lambda: nn.Sequential(mg.relu, mg.neg)(tensor()), -ROWS),
        (lambda: tensor().unsqueeze(1), ROWS[:, None]),
        (lambda: tensor().unsqueeze(axis=1), ROWS[:, None]),
        (lambda: mg.Tensor(CUBE).flatten(), CUBE.ravel()),
        (lambda: mg.Tensor(CUBE).flatten(1), CUBE.reshape(2, 12)),
        (lambda: mg.Tensor(CUBE).flatten(start_dim=-2), CUBE.reshape(2, 12)),
        (lambda: mg.Tensor(np.ones((2, 0, 3))).flatten(1).shape, (2, 0)),
        (lambda: mg.Tensor(3.0).flatten(), [3.0]),
        (lambda: F.dropout(tensor(), training=False), ROWS),
        (lambda: float(f"{tensor().sum():.1f}"), 15.0),
        (lambda: nn.GRU(3, 4, batch_first=True)(ROWS[None])[0].shape, (1, 2, 4)),
        (lambda: tensor().size, 6),
        (lambda: tensor().size(), (2, 3)),
        (lambda: tensor().size(-1), 3),
        (lambda: tensor().size(dim=0), 2),
        (lambda: copy.deepcopy(tensor().size), 6),
        (lambda: tensor().dim(), 2),
        (lambda: tensor().view(3, -1), ROWS.reshape(3, 2)),
        (lambda: mg.Tensor(CUBE).transpose(1, 2), CUBE.swapaxes(1, 2)),
        (lambda: mg.Tensor(CUBE).transpose(-2, -1), CUBE.swapaxes(1, 2)),
        (lambda: mg.Tensor(CUBE).permute(2, 0, 1), CUBE.transpose(2, 0, 1)),
        (lambda: tensor().transpose(1, 0), ROWS.T),
        (lambda: tensor().transpose(-1, 0), ROWS.T),
        (lambda: tensor().permute(0, 1), ROWS),
        (lambda: tensor().permute((1, 0)), ROWS.T),
        (lambda: F.softmax(tensor(), -1), mg.softmax(ROWS).data),
        (lambda: nn.functional.gelu(tensor()), mg.gelu(ROWS).data),
        (lambda: mg.zeros(2, 3), np.zeros((2, 3))),
        (lambda: mg.ones((2, 3), requires_grad=True), np.ones((2, 3))),
        (lambda: nn.init.zeros_(nn.Linear(3, 2).weight), np.zeros((2, 3))),
        (lambda: nn.init.ones_(nn.Linear(3, 2).bias), np.ones(2)),
        (lambda: nn.ModuleDict({"train": nn.LayerNorm(2)})["train"].weight, [1, 1]),
        (lambda: [*nn.ModuleDict({"training": nn.Linear(2, 2)})] == ["training"], True),
        (lambda: "out" in nn.ModuleDict({"forward": nn.Linear(2, 2)}), False),
        (lambda: nn.Linear(2, 2).zero_grad(set_to_none=True) is None, True),
    ],
)  # fmt: skip
def test_a_guess_that_works(call, expected):
    found = call()
    found = found.data if isinstance(found, mg.Tensor) else found
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    "call, fragment",
    [
        (lambda: optim.Adam(nn.Linear(2, 2)), ".parameters()"),
        (lambda: tensor().sum(dim=1), "axis"),
        (lambda: tensor().argmax(dim=1), "axis"),
        (lambda: tensor().max(1)[0], "max takes its axis by name: write max(axis=...)"),
        (lambda: tensor().min(-1)[0], "x.data.argmin(axis) for the indices"),
        (lambda: mg.max(tensor(), 1), "x.data.argmax(axis) for the indices"),
        (lambda: tensor().transpose(0, 1), "exchanges the axes in PyTorch"),
        (lambda: tensor().transpose(-2, -1), "exchanges the axes in PyTorch"),
        (lambda: tensor().transpose(0, -1), "exchanges the axes in PyTorch"),
        (lambda: tensor().transpose(-2, 1), "exchanges the axes in PyTorch"),
        (lambda: mg.Tensor(CUBE).permute(0, 1), "the numbers of all axes"),
        (lambda: mg.Tensor(CUBE).transpose(dim0=0, dim1=1), "axis1 instead of dim0="),
        (lambda: mg.Tensor(ROWS[0]).transpose(0, 1), "There is no axis 1: the number"),
        (lambda: tensor().size(5), "size(5): the shape is (2, 3); there is no axis 5."),
        (lambda: mg.zeros(-1), "zeros: the length of an axis is -1; expected"),
        (lambda: mg.ones((2, -1)), "ones: the length of an axis is -1; expected"),
        (lambda: mg.rand(2.0), "rand: the length of an axis is 2.0; expected"),
        (lambda: mg.randn(-1), "the length of an axis is -1; expected"),
        (lambda: tensor().unsqueeze(dim=0), "Write axis instead of dim="),
        (lambda: tensor().flatten(2), "axis 2 is out of bounds"),
        (lambda: mg.transpose(tensor(), 0, 1), "minigrad.swapaxes(x, axis1, axis2)"),
        (lambda: nn.Linear(2, 2).zero_grad(set_to_none=False), "expected True"),
        (lambda: nn.GRU(3, 4)(np.ones((2, 7, 3), "f"), STATE), "first axis of x"),
        (lambda: nn.GRU(3, 4)(np.ones((2, 7, 3), "f"), None, [2] * 7), "first axis"),
        (lambda: nn.LSTM(3, 4)(np.ones((2, 7, 3), "f"), (STATE, STATE)), "first axis"),
        (lambda: exec("from minigrad import cat"), "minigrad.concat"),
        (lambda: exec("from minigrad.nn import LazyLinear"), "minigrad.nn.Linear"),
        (lambda: exec("from attention import causal"), "attention.masks.causal"),
        (lambda: exec("from minigrad.nn.init import constant_"), "cannot import name"),
        (lambda: F.nothing_like_this, "minigrad.nn.functional has no 'nothing_like_"),
        (lambda: attention.EncoderDecoder, "attention.transformer.EncoderDecoder"),
        (lambda: attention.nothing_like_this, "attention has no 'nothing_like_this'"),
        (lambda: tensor().sum(axis=1, keepdim=True), "keepdims"),
        (lambda: mg.softmax(tensor(), dim=-1), "axis"),
        (lambda: mg.layer_norm(tensor(), (3,)), "those of weight"),
        (lambda: np.exp(tensor()), "minigrad.exp"),
        (lambda: MultiHeadAttention(3, 1)(ROWS, attn_mask=None), "True = may attend"),
        (lambda: MultiHeadAttention(3, 1)(ROWS, key_padding_mask=None), "lengths"),
        (lambda: MultiHeadAttention(3, 1)(ROWS, valid_lens=None), "Write lengths"),
        (lambda: attend(ROWS, ROWS, ROWS, attn_mask=None), "True = may attend"),
        (lambda: attend(ROWS, attn_mask=None), "Write mask (True"),  # no keys, values
        (lambda: attend(ROWS, ROWS, ROWS, key_padding_mask=None), "Write lengths, or"),
        (lambda: attend(ROWS, ROWS, ROWS, memory_mask=None), "Write lengths instead"),
        (lambda: attend(ROWS, ROWS, ROWS, key_mask=None), "mask instead of key_mask="),
        (lambda: attend(ROWS, ROWS, ROWS, edges=None), "mask instead of edges="),
        (lambda: attend(ROWS, ROWS, ROWS, allowed=None), "mask instead of allowed="),
        (lambda: masked_softmax(ROWS, dim=1), "The arguments are scores, lengths"),
        (lambda: nn.LayerNorm(3)(ROWS, dim=1), "The arguments are x."),
        (lambda: mg.softmax(x=tensor(), dim=1), "Write axis instead of dim="),
        (lambda: nn.GRU(3, 4, batch_first=False), "batch"),
        (lambda: mg.checkpoint.save({"a": ROWS}, "a.npz"), "save(path, state)"),
        (lambda: nn.GRU(3, 4, 2, True, True), "positional"),
        (lambda: setattr(nn.Linear(2, 2), "weight", mg.Tensor(ROWS)), "weight.data"),
        (lambda: setattr(nn.Linear(2, 2), "weight", ROWS), "weight.data"),
        (lambda: setattr(nn.Linear(2, 2), "bias", 3.0), "found a value of type float"),
        (lambda: setattr(tensor(), "grad", tensor()), "expected an array or None"),
        (lambda: mg.split(tensor(), 2, dim=0), "their length in PyTorch"),
        (lambda: mg.split(tensor(), [1, 1, 1], axis=1), "in PyTorch; write [1, 2]."),
        (lambda: mg.mse_loss(ROWS, ROWS[:, :1]), "y has shape (2, 3) and target (2, 1)"),
        (lambda: mg.nothing_like_this, "minigrad has no 'nothing_like_this'"),
        (lambda: MultiHeadAttention(3, 1, batch_first=True), "always the first axis"),
        (lambda: nn.Linear(2, 2, device="cpu"), "Leave out device=: all arrays are in"),
        (lambda: nn.LSTM(2, 2, dtype=float), "Leave out dtype=: parameters begin as"),
        (lambda: mg.tensor(ROWS, dtype=float), "t.astype(dtype) converts a tensor"),
        (lambda: mg.zeros(2, 3, device="cpu"), "Leave out device="),
        (lambda: nn.Dropout(0.5, inplace=True), "Leave out inplace="),
        (lambda: F.relu(tensor(), inplace=True), "Leave out inplace="),
        (lambda: nn.LayerNorm(3, elementwise_affine=False), "minigrad.layer_norm(x)"),
        (lambda: optim.AdamW([tensor()], amsgrad=True), "Leave out amsgrad="),
        (lambda: optim.Schedule(SGD, last_epoch=-1), "Leave out last_epoch="),
        (lambda: mg.mse_loss(ROWS, ROWS, reduction="sum"), "the result is the mean"),
        (lambda: mg.cross_entropy(ROWS, [0, 1], weight=ROWS[0]), "multiply the losses"),
        (lambda: exec("from minigrad.optim import StepLR"), "minigrad.optim.Schedule"),
        (lambda: optim.nothing_like_this, "minigrad.optim has no 'nothing_like_this'"),
    ],
)
def test_a_guess_that_is_answered(call, fragment):
    assert fragment in message_of(call)


@pytest.mark.parametrize(
    "T, state, lengths",
    [
        (7, np.zeros((1, 2, 5), "f"), None),
        (2, np.zeros((1, 2, 5), "f"), None),
        (7, None, [[2]] * 7),
        (7, None, [2] * 3),
    ],
)
def test_a_batch_is_not_taken_for_time_if_another_axis_is_wrong(T, state, lengths):
    x = np.ones((2, T, 3), "f")
    assert "first axis" not in message_of(lambda: nn.GRU(3, 4)(x, state, lengths))


TABLES = {
    "minigrad": (mg, torch_names.FUNCTIONS),
    "functional": (F, torch_names.FUNCTIONS),
    "nn": (nn, torch_names.LAYERS),
    "init": (nn.init, torch_names.INIT),
    "optim": (optim, torch_names.OPTIM),
    "Tensor": (tensor(), torch_names.TENSOR),
    "Module": (nn.Linear(2, 2), torch_names.MODULE),
    "Optimizer": (SGD, torch_names.OPTIMIZER),
}


@pytest.mark.parametrize("where", TABLES)
def test_each_name_of_a_table_is_missing_and_answered(where):
    owner, table = TABLES[where]
    for name, sentence in table.items():
        assert not hasattr(super(type(owner), owner), name)  # which a row would hide
        assert f"has no {name!r}; write {sentence}." in message_of(
            lambda: getattr(owner, name)
        )


@pytest.mark.parametrize("where", TABLES)
def test_what_a_sentence_names_exists(where):
    _, table = TABLES[where]
    for sentence in table.values():
        for path in re.findall(r"\b(?:minigrad|attention|np)(?:\.\w+)+", sentence):
            eval(path, {"minigrad": mg, "attention": attention, "np": np})


def test_random_tensors_come_from_the_seeded_generator():
    for make in (mg.rand, mg.randn, lambda *shape: mg.normal(2, 0.1, shape)):
        mg.manual_seed(0)
        first = make(2, 3)
        mg.manual_seed(0)
        np.testing.assert_array_equal(first.data, make(2, 3).data)
        assert first.dtype == np.float32 and first.shape == (2, 3)
    assert mg.rand((2, 3), dtype=float, requires_grad=True).requires_grad
    assert abs(mg.normal(2, 0.1, 1000).data.mean() - 2) < 0.1
    assert 0 <= mg.rand(1000).data.min() and mg.rand(1000).data.max() <= 1


def test_module_dict_names_parameters_as_pytorch_does():
    class Net(nn.Module):
        def __init__(self):
            self.parts = nn.ModuleDict({"a": nn.LayerNorm(2)})
            self.more = nn.ModuleList([nn.LayerNorm(2)])

    names = [name for name, _ in Net().named_parameters()]
    assert names == ["parts.a.weight", "parts.a.bias", "more.0.weight", "more.0.bias"]


def test_a_hint_is_given_once():
    model = nn.Sequential(nn.Sequential(lambda x: mg.softmax(x, dim=-1)))
    assert message_of(lambda: model(tensor())).count("Write axis") == 1


def test_a_model_may_have_an_attribute_of_a_missing_name():
    model = nn.Linear(2, 2)
    model.children = [nn.Linear(2, 2)]
    assert "children.0.weight" in dict(model.named_parameters())
