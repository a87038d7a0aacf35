"""What a user of PyTorch tries first works, or is answered with minigrad's own word."""

import numpy as np
import pytest

import minigrad as mg
from attention import MultiHeadAttention
from minigrad import nn, optim

ROWS = np.arange(6.0).reshape(2, 3)


def tensor():
    return mg.Tensor(ROWS, requires_grad=True)


def message_of(call):
    """Return the message of the error that a call raises, with its notes."""
    with pytest.raises((AttributeError, TypeError, ValueError)) as caught:
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
        (lambda: nn.Sequential(mg.relu, mg.neg)(tensor()), -ROWS),
        (lambda: tensor().unsqueeze(1), ROWS[:, None]),
        (lambda: float(f"{tensor().sum():.1f}"), 15.0),
        (lambda: nn.GRU(3, 4, batch_first=True)(ROWS[None])[0].shape, (1, 2, 4)),
    ],
)  # fmt: skip
def test_a_guess_that_works(call, expected):
    found = call()
    found = found.data if isinstance(found, mg.Tensor) else found
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    "call, fragment",
    [
        (lambda: mg.cat([tensor(), tensor()]), "minigrad.concat"),
        (lambda: mg.arange(3), "np.arange"),
        (lambda: mg.save, "minigrad.checkpoint.save"),
        (lambda: mg.load, "minigrad.checkpoint.load"),
        (lambda: nn.ReLU(), "minigrad.relu"),
        (lambda: nn.ModuleList([]), "a list of modules"),
        (lambda: tensor().view(3, 2), "t.reshape"),
        (lambda: tensor().clone(), "t + 0"),
        (lambda: tensor().numel(), "t.size"),
        (lambda: tensor().std(), "t.var"),
        (lambda: tensor().mT, "t.swapaxes(-1, -2)"),
        (lambda: tensor().log(), "minigrad.log(t)"),
        (lambda: tensor().softmax(-1), "minigrad.softmax(t)"),
        (lambda: optim.SGD(nn.Linear(2, 2).parameters(), lr=1).param_groups, ".lr"),
        (lambda: optim.Adam(nn.Linear(2, 2)), ".parameters()"),
        (lambda: tensor().sum(dim=1), "axis"),
        (lambda: tensor().sum(axis=1, keepdim=True), "keepdims"),
        (lambda: mg.softmax(tensor(), dim=-1), "axis"),
        (lambda: mg.layer_norm(tensor(), (3,)), "those of weight"),
        (lambda: np.exp(tensor()), "minigrad.exp"),
        (lambda: MultiHeadAttention(3, 1)(ROWS, attn_mask=None), "True = may attend"),
        (lambda: MultiHeadAttention(3, 1)(ROWS, key_padding_mask=None), "lengths"),
        (lambda: nn.GRU(3, 4, batch_first=False), "batch"),
        (lambda: mg.checkpoint.save({"a": ROWS}, "a.npz"), "save(path, state)"),
        (lambda: nn.GRU(3, 4, 2, True, True), "positional"),
        (lambda: setattr(nn.Linear(2, 2), "weight", mg.Tensor(ROWS)), "weight.data"),
        (lambda: mg.nothing_like_this, "minigrad has no 'nothing_like_this'"),
    ],
)
def test_a_guess_that_is_answered(call, fragment):
    assert fragment in message_of(call)
