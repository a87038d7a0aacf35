"""A write through a tensor, of a value that a graph still needs, is refused."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn, no_grad, optim

from .engine_cases import leaf


def subtract_from_data(x):
    x.data -= 1.0


def write_under_no_grad(x):
    with no_grad():
        x[0] = 9.0


def initialise(x):
    nn.init.uniform_(x, 5.0, 6.0)


def take_a_step(x):
    gradient, x.grad = x.grad, np.ones(x.shape)
    optim.SGD([x], lr=1.0).step()
    x.grad = gradient


WRITES = [subtract_from_data, write_under_no_grad, initialise, take_a_step]
writes = pytest.mark.parametrize("write", WRITES)


@writes
def test_overwriting_a_leaf_that_is_needed(write):
    x = leaf([1.0, 2.0])
    y = x * x
    write(x)
    loss = y.sum()  # recorded after the write
    with pytest.raises(RuntimeError) as error:
        loss.backward()
    assert str(error.value) == (
        "The backward of mul needs a tensor of shape (2,) that was overwritten in "
        "place after mul used it. Change a copy instead, or call backward() before the "
        "change."
    )
    assert x.grad is None


def test_loading_a_state_overwrites():
    layer = nn.Linear(2, 2)
    y = layer(leaf([[1.0, 2.0]], np.float32)).sum()
    layer.load_state_dict(layer.state_dict())
    with pytest.raises(RuntimeError, match="The backward of linear needs a tensor"):
        y.backward()


def test_overwriting_constants_and_views():
    x, c = leaf([[1.0, 2.0]]), Tensor([3.0, 4.0])
    y = (x * c).sum()
    subtract_from_data(c)
    with pytest.raises(RuntimeError, match="The backward of mul needs a tensor"):
        y.backward()
    flat = x.reshape(2)
    y = (flat * flat).sum()  # the leaf is no input of mul, but its memory is
    subtract_from_data(x)
    with pytest.raises(RuntimeError, match="The backward of mul needs a tensor"):
        y.backward()


@writes
def test_harmless_writes_are_allowed(write):
    x = leaf([1.0, 2.0])
    before = x + 3.0  # keeps nothing of x
    write(x)
    value = x.data.copy()
    y = (before + x * x).sum()  # uses x after the write
    y.backward()
    assert x.grad.tolist() == (1 + 2 * value).tolist()

    z = mg.exp(x) * 2.0  # keeps its output, not x
    write(x)
    z.sum().backward()


def test_data_is_copied_in_and_replacing_it_is_no_write():
    a = np.array([1.0, 2.0])
    x = Tensor(a, requires_grad=True)
    y = (x * x).sum()
    x.data = a
    a[0] = 9.0
    y.backward()
    assert x.tolist() == [1.0, 2.0] and x.grad.tolist() == [2.0, 4.0]
    x.data = np.array([3.0, 4.0], np.float32)  # the gradient no longer fits
    assert x.grad is None and x.dtype == np.float32


def test_the_training_idiom():
    x = leaf([1.0, 2.0])
    array = x.data
    for _ in range(5):
        (x * x).sum().backward()
        x.data -= 0.1 * x.grad
        x.zero_grad()
    assert x.data is array  # in place
    assert x.tolist() == pytest.approx([0.8**5, 2 * 0.8**5])


def test_results_are_read_only():
    x = leaf([1.0, 2.0])
    y = x * 2
    for array in (y.data, y.numpy(), y.detach().data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3.0
    with pytest.raises(RuntimeError, match="result of mul; only a leaf's data can be"):
        y.data = np.zeros(2)
    with pytest.raises(RuntimeError, match="Writing into the result of mul would"):
        y[0] = 3.0
    with pytest.raises(RuntimeError, match="requires_grad can be changed for leaves"):
        y.requires_grad_()
    with pytest.raises(RuntimeError, match="Writing into a leaf would change a value"):
        x[0] = 3.0
    y += 1  # a new tensor under the same name
    assert y._node.op == "add"
