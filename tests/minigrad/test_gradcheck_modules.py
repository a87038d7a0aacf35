"""A module is checked in all its parameters, and is afterwards what it was before."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import Dropout, Linear, Module, Parameter

from .gradcheck_cases import X, draw, with_backward


class Scaled(Module):
    """w * x, with a dropout behind it that must not act."""

    def __init__(self, backward):
        self.inner = Linear(5, 7)
        self.w = Parameter(draw(7).astype(np.float32))
        self.frozen = Parameter(draw(7).astype(np.float32))
        self.frozen.requires_grad = False
        self.again = self.w
        self.dropout = Dropout(0.5)
        self.op = with_backward(np.multiply, backward)

    def forward(self, x, n=1):
        return self.dropout(self.op(self.inner(x), self.w)) * n + self.frozen


def right(g, y, x, w):
    return g * w, g * x


def wrong(g, y, x, w):
    return g * w, -g * x


def photograph(module):
    return [
        (p, p._data, p._data.copy(), p.dtype, p.requires_grad, p.grad)
        for _, p in module.named_parameters()
    ]


def assert_same_as(module, before):
    for p, array, values, dtype, requires_grad, grad in before:
        assert p._data is array and np.array_equal(array, values)
        assert (p.dtype, p.requires_grad, p.grad is grad) == (
            dtype,
            requires_grad,
            True,
        )


def test_module_is_checked_and_restored():
    module = Scaled(right)
    module.dropout.training = False
    module.w.grad = np.ones(7, np.float32)
    before = photograph(module)
    result = mg.gradcheck_module(module, X, 3)
    assert result.ok, str(result)
    names = ["inner.weight", "inner.bias", "w", "0"]
    assert sorted(row.input for row in result.rows) == sorted(names)
    assert str(result).startswith("gradcheck of Scaled: ok")
    assert_same_as(module, before)
    assert module.training and module.inner.training and not module.dropout.training


def test_wrong_parameter_is_named():
    result = mg.gradcheck_module(Scaled(wrong), X)
    assert (result.tag, result.worst.input) == ("scale:-1", "w")
    assert result.message.startswith("Scaled, w, entry [")
    verdicts = {row.input: row.verdict for row in result.rows}
    assert verdicts == {
        "w": "wrong",
        "inner.weight": "ok",
        "inner.bias": "ok",
        "0": "ok",
    }


def test_module_is_restored_after_an_error():
    def fails(g, y, x, w):
        raise KeyboardInterrupt

    module = Scaled(fails)
    before = photograph(module)
    with pytest.raises(KeyboardInterrupt):
        mg.gradcheck_module(module, X)
    assert_same_as(module, before)
    with pytest.raises(ValueError):
        mg.gradcheck_module(module, draw(3, 4))
    assert_same_as(module, before)
    assert module.training and module.dropout.training
