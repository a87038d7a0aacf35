"""Copies and pickles of tensors, modules and optimizers train as the originals do."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn, optim

from .engine_cases import leaf


def pickled(x):
    return pickle.loads(pickle.dumps(x))


deep_copies = pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
RULES = {
    "momentum": lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
    "Adam": lambda params: optim.Adam(params, lr=0.1),
}


def take_steps(model, optimizer, steps=3):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        x = rng.normal(size=(4, 3)).astype(np.float32)
        optimizer.zero_grad()
        (model(x) ** 2).sum().backward()
        optimizer.step()


def values(model):
    return [p.data.copy() for p in model.parameters()]


@deep_copies
@pytest.mark.parametrize("rule", RULES)
def test_a_copied_optimizer_steps_the_copied_parameters(rule, copied):
    model = nn.Linear(3, 2, rng=np.random.default_rng(1))
    optimizer = RULES[rule](model.parameters())
    take_steps(model, optimizer)
    other_model, other = copied((model, optimizer))
    assert all(p is q for p, q in zip(other.params, other_model.parameters()))
    before = values(model)
    take_steps(other_model, other, steps=5)
    for was, now in zip(before, values(model)):
        assert np.array_equal(was, now)
    take_steps(model, optimizer, steps=5)
    for own, others in zip(values(model), values(other_model)):
        assert np.array_equal(own, others)  # the same operations in the same order
    for was, now in zip(before, values(model)):
        assert not np.array_equal(was, now)


@deep_copies
def test_a_copied_schedule_belongs_to_the_copied_optimizer(copied):
    optimizer = optim.SGD([leaf([1.0])], lr=1.0)
    schedule = optim.CosineAnnealingLR(optimizer, 2)
    schedule.step()
    other, other_schedule = copied((optimizer, schedule))
    other_schedule.step()
    assert (optimizer.lr, other.lr) == (0.5, 0.0)


def test_a_shallow_copy_of_an_optimizer_has_its_own_averages():
    x = leaf([1.0])
    optimizer = optim.Adam([x], lr=0.1)
    other = copy.copy(optimizer)
    x.grad = np.ones(1)
    other.step()
    assert other.params[0] is x and (other.t, optimizer.t) == ([1], [0])
    assert optimizer.state_dict()["m"][0].tolist() == [0.0]


@deep_copies
def test_a_copy_of_a_leaf_is_a_new_leaf(copied):
    x = nn.Parameter(np.array([1.0, 2.0]))
    (x * x).sum().backward()
    x.data -= 1.0
    other = copied(x)
    assert type(other) is nn.Parameter and other.requires_grad
    assert other.tolist() == [0.0, 1.0] and other.grad.tolist() == [2.0, 4.0]
    assert other._version == 0  # another process numbers its own writes
    (other * 3).sum().backward()
    assert other.grad.tolist() == [5.0, 7.0] and x.grad.tolist() == [2.0, 4.0]
    other[0:1].sum().backward()
    assert copied(Tensor([1, 2])).tolist() == [1, 2]


@deep_copies
def test_modules_keep_shared_parameters(copied):
    class Tied(nn.Module):
        def __init__(self):
            self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)
            self.two.weight = self.one.weight

        def __reduce__(self):  # pickle does not find a class inside a function
            return _module, (nn.Module, vars(self))

    other = copied(Tied())
    assert other.one.weight is other.two.weight


def _module(kind, attributes):
    module = kind()
    vars(module).update(attributes)
    return module


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_computed_tensor_is_not_copied(copied):
    y = leaf([1.0, 2.0]) * 2
    with pytest.raises(RuntimeError, match="result of mul; .* Copy .detach"):
        copied(y)
    assert not copy.copy(y.detach()).requires_grad
    with mg.no_grad():
        assert copy.copy(leaf([1.0]) * 2).tolist() == [2.0]
