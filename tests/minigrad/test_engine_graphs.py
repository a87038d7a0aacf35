"""Gradients flow through graphs of any depth and shape, each node visited once."""

import gc
import sys
import weakref

import numpy as np
import pytest

import minigrad as mg
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


def random_graph(rng, size):
    """[(operation, indices of its inputs)]; the first three are leaves of size one."""
    nodes = []
    for n in range(3, size):
        kind = rng.choice(["add", "mul", "tanh", "mul_const"])
        # recent nodes and old ones: long chains with many joins
        pick = [
            int(i) if rng.random() < 0.5 else int(max(0, n - 1 - rng.integers(4)))
            for i in rng.integers(0, n, 2)
        ]
        nodes.append((str(kind), pick))
    return nodes


def run_forward_mode(nodes, values, seed):
    """Values and derivatives towards leaf ``seed``, carried along, without a graph."""
    v, d = list(values), [float(i == seed) for i in range(3)]
    for kind, (i, j) in nodes:
        if kind == "add":
            v.append(v[i] + v[j])
            d.append(d[i] + d[j])
        elif kind == "mul":
            v.append(v[i] * v[j] * 0.5)
            d.append((d[i] * v[j] + v[i] * d[j]) * 0.5)
        elif kind == "tanh":
            v.append(np.tanh(v[i]))
            d.append((1 - v[-1] ** 2) * d[i])
        else:
            v.append(0.7 * v[i])
            d.append(0.7 * d[i])
    return v[-1] + 0.1 * v[len(v) // 2], d[-1] + 0.1 * d[len(d) // 2]


def run_minigrad(nodes, leaves):
    v = list(leaves)
    for kind, (i, j) in nodes:
        if kind == "add":
            v.append(v[i] + v[j])
        elif kind == "mul":
            v.append(v[i] * v[j] * 0.5)
        elif kind == "tanh":
            v.append(mg.tanh(v[i]))
        else:
            v.append(0.7 * v[i])
    return v[-1] + 0.1 * v[len(v) // 2]


@pytest.mark.parametrize("seed", range(10))
def test_random_graph_equals_forward_mode(seed):
    rng = np.random.default_rng(seed)
    nodes, values = random_graph(rng, int(rng.integers(5, 60))), rng.normal(size=3)
    leaves = [leaf(v) for v in values]
    out = run_minigrad(nodes, leaves)
    out.backward()
    for i, x in enumerate(leaves):
        value, derivative = run_forward_mode(nodes, values, i)
        assert out.item() == pytest.approx(value, rel=1e-12)
        found = 0.0 if x.grad is None else x.grad
        # sums of up to some thousand paths, in another order
        assert found == pytest.approx(derivative, rel=1e-10, abs=1e-12)
