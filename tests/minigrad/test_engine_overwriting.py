"""No value that a graph still needs is overwritten unnoticed; other writes are free."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, lift, no_grad
from minigrad.graph import kept_arrays

from .engine_cases import draw, leaf


def overwrite_data(x):
    x.data[0] = 9.0


def overwrite_array(x):
    array = x.numpy()
    array *= 3


def overwrite_view(x):
    x.data.reshape(-1)[:1] = 9.0


def overwrite_detached(x):
    x.detach()[0] = 9.0


def subtract_from_data(x):
    x.data -= 1.0


def write_under_no_grad(x):
    with no_grad():
        x[0] = 9.0


WRITES = [
    overwrite_data,
    overwrite_array,
    overwrite_view,
    overwrite_detached,
    subtract_from_data,
    write_under_no_grad,
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("handed_out_before", [True, False])
def test_overwriting_a_leaf_that_is_needed(write, handed_out_before):
    x = leaf([1.0, 2.0])
    if handed_out_before:
        x.data
    y = (x * x).sum()
    array = x._data
    write(x)
    assert not np.array_equal(array, [1.0, 2.0])
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert str(error.value) == (
        "The backward of mul needs a tensor of shape (2,) that was overwritten in "
        "place after mul used it. Change a copy instead, or call backward() before the "
        "change."
    )
    assert x.grad is None


@pytest.mark.parametrize("write", WRITES)
def test_overwriting_a_constant_that_is_needed(write):
    x, c = leaf([1.0, 2.0]), Tensor([3.0, 4.0])
    y = (x * c).sum()
    write(c)
    with pytest.raises(RuntimeError, match="The backward of mul needs a tensor"):
        y.backward()


def test_overwriting_through_a_recorded_view():
    x = leaf([[1.0, 2.0]])
    flat = x.reshape(2)
    y = (flat * flat).sum()
    x.data[0, 0] = 9.0
    with pytest.raises(RuntimeError, match="The backward of mul needs a tensor"):
        y.backward()


def test_what_has_no_graph_shares_no_memory():
    """Nobody could tell that a write to one is a write to the other."""
    c, x = Tensor([[3.0, 4.0]]), leaf([[1.0, 2.0]])
    with no_grad():
        views = [x.reshape(2), x.T, x[0], mg.reshape(x._data, (2,)), *mg.split(x, 2, 1)]
    for view in [c.reshape(2), c.T, c[0], *views]:
        assert not np.may_share_memory(view._data, c._data)
        assert not np.may_share_memory(view._data, x._data)
    flat = c.reshape(2)
    y = (x[0] * flat).sum()
    c[0, 0] = 9.0
    y.backward()
    assert x.grad.tolist() == [[3.0, 4.0]]


def test_plain_arrays_are_copied():
    x, a = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    y = (x * a).sum()
    a[0] = 9.0
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_data_is_copied_in():
    a = np.array([1.0, 2.0])
    x = Tensor(a, requires_grad=True)
    a[0] = 9.0
    x.data = a
    a[0] = 5.0
    assert x.tolist() == [9.0, 2.0]


def test_replacing_data_is_no_overwriting():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    x.data = np.array([7.0, 7.0])
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("write", WRITES)
def test_harmless_writes_are_allowed(write):
    x = leaf([1.0, 2.0])
    y = (-x + x).sum()  # neither keeps x
    write(x)
    y.backward()
    assert x.grad.tolist() == [0.0, 0.0]

    x.zero_grad()
    write(x)  # before it is used
    value = x._data.copy()
    y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == (2 * value).tolist()

    write(x)  # after the backward
    with pytest.raises(RuntimeError, match="has freed"):
        y.backward()


@pytest.mark.parametrize("write", WRITES)
def test_only_the_uses_before_a_write_are_refused(write):
    x = leaf([1.0, 2.0])
    before = x + 3.0  # keeps nothing of x
    write(x)
    value = x._data.copy()
    y = (before + x * x).sum()
    y.backward()
    assert x.grad.tolist() == (1 + 2 * value).tolist()

    z = mg.exp(x) * 2.0  # keeps its output, not x
    write(x)
    z.sum().backward()


def test_the_training_idiom():
    x = leaf([1.0, 2.0])
    array = x.data
    for _ in range(5):
        loss = (x * x).sum()
        loss.backward()
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
    with pytest.raises(
        RuntimeError, match="the result of mul; only a leaf's data can be"
    ):
        y.data = np.zeros(2)
    with pytest.raises(
        RuntimeError, match="Writing into the result of mul would change"
    ):
        y[0] = 3.0
    with pytest.raises(RuntimeError, match="Writing into a leaf would change a value"):
        x[0] = 3.0
    with pytest.raises(RuntimeError, match="gradients are switched on leaves"):
        y.requires_grad_()
    y += 1  # a new tensor under the same name
    assert y._node.op == "add"


def test_new_data_of_another_shape_or_dtype_drop_the_gradient():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    x.data = np.array([3.0, 4.0])
    assert x.grad.tolist() == [2.0, 4.0]
    x.data = np.array([3.0, 4.0], np.float32)
    assert x.grad is None and x.dtype == np.float32


def test_a_leaf_that_was_looked_at_costs_one_checksum_a_walk():
    """1000 uses of a large parameter: the walk back looks at its memory once."""
    looks = []

    class Watched(Tensor):
        __slots__ = ()

        def last_change(self):
            looks.append(1)
            return super().last_change()

    x = Watched(np.ones(10), requires_grad=True)
    y = x * 0.0
    for _ in range(100):
        y = y + x
    looks.clear()
    y.sum().backward()
    assert len(looks) == 1


def test_kept_arrays_finds_what_a_closure_holds():
    x, y = leaf(draw(3)), leaf(draw(3))
    kept = kept_arrays((x * y)._node)
    assert {id(a) for a in kept} == {id(x._data), id(y._data)}
    out = mg.exp(x)
    assert [a is out._data for a in kept_arrays(out._node)] == [True]

    @lift
    def nested(x):
        held = {"list": [x * 2, (x * 3,)]}

        def inner(g):
            return g * held["list"][0] * held["list"][1][0]

        return x * 1, lambda g: inner(g)

    assert sorted(a.sum() for a in kept_arrays(nested(leaf([1.0]))._node)) == [2.0, 3.0]
