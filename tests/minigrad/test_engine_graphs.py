"""Gradients flow through graphs of any depth and shape, each node visited once."""

import gc
import sys
import weakref

import numpy as np
import pytest

from minigrad import lift
from minigrad.graph import backward_pass

from .engine_cases import leaf


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
