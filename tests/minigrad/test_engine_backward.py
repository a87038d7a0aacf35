"""Backward visits each node once, adds to the leaves alone, and refuses what it cannot use."""

import gc
import itertools
import sys
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, lift, no_grad
from minigrad.graph import backward_pass

from .engine_cases import draw, leaf


def test_leaves_accumulate_over_backwards():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    first = x.grad
    (3 * x).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    assert x.grad is first  # added to in place
    x.zero_grad()
    assert x.grad is None


def test_retain_graph():
    x = leaf([1.0, 2.0])
    y = (x * x + x).sum()
    for n in (1, 2, 3):
        y.backward(retain_graph=True)
        assert x.grad.tolist() == [3.0 * n, 5.0 * n]
    y.backward()
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert str(error.value) == (
        "An earlier backward() has deleted the node of sum. Pass retain_graph=True to "
        "it, or compute the value again."
    )


def test_a_freed_part_of_a_graph_is_named():
    x = leaf([1.0, 2.0])
    shared = mg.exp(x)
    shared.sum().backward()
    with pytest.raises(RuntimeError, match="has deleted the node of exp"):
        (shared * 2).sum().backward()


def test_backward_of_more_than_one_number():
    y = leaf(draw(3, 5)) * 2
    with pytest.raises(RuntimeError, match=r"starts from one number; .*\(3, 5\)"):
        y.backward()
    with pytest.raises(ValueError, match=r"shape \(5,\); expected the shape \(3, 5\)"):
        y.backward(np.ones(5))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_of_any_shape_needs_no_gradient(shape):
    x = leaf(np.full(shape, 3.0))
    (x * x).backward()
    assert x.grad.shape == shape and x.grad.item() == 6.0


def test_backward_with_a_gradient():
    x, g = leaf(draw(3, 5)), draw(3, 5, seed=1)
    for given in (g, Tensor(g), g.tolist(), g.astype(np.float32)):
        x.zero_grad()
        (x * 2).backward(given)
        assert np.array_equal(x.grad, 2 * np.asarray(given if given is not g else g))
    kept = g.copy()
    (x + 0.0).backward(g)
    x.grad[...] = 0  # nobody else's memory
    assert np.array_equal(g, kept)


def test_backward_without_a_graph():
    for y in (Tensor([1.0]) * 2, leaf([1.0]).detach(), no_grad()(mg.exp)(leaf([1.0]))):
        with pytest.raises(RuntimeError, match=r"shape \(1,\) has no graph"):
            y.backward()


def test_backward_of_a_leaf_is_its_gradient():
    x, g = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    x.backward(g)
    x.backward(g)
    assert x.grad.tolist() == [6.0, 8.0] and g.tolist() == [3.0, 4.0]


def test_no_two_gradients_share_memory():
    x, y, z = leaf(draw(3, 5)), leaf(draw(3, 5)), leaf(draw(15))
    out = x + y + z.reshape(3, 5)
    out.backward(np.ones((3, 5)))
    for a, b in itertools.combinations((x, y, z), 2):
        assert not np.may_share_memory(a.grad, b.grad)
    assert all(t.grad.flags.writeable for t in (x, y, z))
    x, y = leaf(draw(3, 5)), leaf(draw(3, 5))
    (x.T + y.T).backward(np.ones((5, 3)))  # two views of one gradient
    assert not np.may_share_memory(x.grad, y.grad)


def test_a_leaf_receives_a_copy_of_a_view():
    arrays = []

    @mg.differentiable
    def double(x):
        def backward(g):
            arrays.append(2 * g.reshape(-1))
            return arrays[0].reshape(g.shape)

        return 2 * x, backward

    x = leaf(draw(3, 5))
    double(x).backward(np.ones((3, 5)))
    assert not np.shares_memory(x.grad, arrays[0])
    assert (x.grad == 2).all()


# -- graphs of any depth and shape -----------------------------------------------------


def test_a_chain_of_30_000_operations():
    x = leaf([1.0, 2.0])
    for delete in ("after backward", "without backward"):
        y = x
        for _ in range(30_000):
            y = y + 1.0
        assert y.tolist() == [30_001.0, 30_002.0]
        if delete == "after backward":
            y.sum().backward()
            assert x.grad.tolist() == [1.0, 1.0]
        kept = weakref.ref(y._data)
        del y
        gc.collect()
        assert kept() is None
    assert sys.getrecursionlimit() <= 3000  # it is not the recursion limit that helped


def test_stacked_diamonds_visit_every_node_once():
    """2^40 paths, 81 nodes."""
    calls = []

    @lift
    def half(x):
        def backward(g):
            calls.append(1)
            return g * 0.5

        return x * 0.5, backward

    x = leaf(3.0)
    y = x
    for _ in range(40):
        y = half(y) + half(y)
    y.backward()
    assert len(calls) == 80
    assert x.grad == pytest.approx(1.0)


def test_visit_sees_each_node_when_its_gradient_is_complete():
    x = leaf([1.0, 2.0])
    y = x * 3.0
    z = (y * y + y).sum()
    seen = []

    def visit(node, g):
        seen.append((node.op, g.copy()))

    backward_pass(z._node, np.ones(()), visit=visit)
    assert [op for op, _ in seen] == ["sum", "add", "mul", "mul"]
    assert seen[-1][1].tolist() == (2 * y.data + 1).tolist()
